package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
)

type request struct {
	method, path string
	body         []byte
}

// client is one connection, kept alive. It is less than http.Client on purpose:
// it shares the processors with the server, and what it does not do cannot
// disturb.
type client struct {
	conn net.Conn
	addr string
	in   *bufio.Reader
	out  []byte
	rest io.Reader // of a stream
}

func dial(addr string) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, addr: addr, in: bufio.NewReaderSize(conn, 2048)}, nil
}

func (c *client) Close() { _ = c.conn.Close() }

// abort closes without a farewell: thousands of connections that linger would
// use up the ports.
func (c *client) abort() {
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}

// send sends a request and reads the headers of the answer.
func (c *client) send(r request) (*http.Response, error) {
	c.out = append(c.out[:0], r.method...)
	c.out = append(c.out, ' ')
	c.out = append(c.out, r.path...)
	c.out = append(c.out, " HTTP/1.1\r\nHost: "...)
	c.out = append(c.out, c.addr...)
	if r.body != nil {
		c.out = append(c.out, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		c.out = strconv.AppendInt(c.out, int64(len(r.body)), 10)
	}
	c.out = append(c.out, "\r\n\r\n"...)
	c.out = append(c.out, r.body...)
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.in, &http.Request{Method: r.method})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // it is only for the message
		return nil, fmt.Errorf("%s %s: %s: %s", r.method, r.path, resp.Status, text)
	}
	return resp, nil
}

// do sends a request and passes over the answer.
func (c *client) do(r request) error {
	resp, err := c.send(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// fetch sends a request and returns the answer and its content type.
func (c *client) fetch(r request) (body []byte, contentType string, err error) {
	resp, err := c.send(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return body, resp.Header.Get("Content-Type"), err
}

// stream sends a request and returns when the first event has come. The
// connection stays open.
func (c *client) stream(r request) error {
	resp, err := c.send(r) //nolint:bodyclose // to close it would be to wait for its end
	if err != nil {
		return err
	}
	var got []byte
	piece := make([]byte, 1024)
	for !bytes.Contains(got, []byte("\n\n")) {
		n, err := resp.Body.Read(piece)
		got = append(got, piece[:n]...)
		if err != nil {
			return fmt.Errorf("the stream ended before its first event: %w", err)
		}
	}
	c.rest = resp.Body
	return nil
}

// drain reads streams to their ends.
func drain(streams []*client) error {
	for _, c := range streams {
		if _, err := io.Copy(io.Discard, c.rest); err != nil {
			return err
		}
	}
	return nil
}

// pool is a number of connections to one server.
type pool []*client

func newPool(addr string, size int) (pool, error) {
	var p pool
	for range size {
		c, err := dial(addr)
		if err != nil {
			p.Close()
			return nil, err
		}
		p = append(p, c)
	}
	return p, nil
}

func (p pool) Close() {
	for _, c := range p {
		c.Close()
	}
}

// do has every connection send its share of the lists, each list in order: a
// list is a conversation.
func (p pool) do(lists [][]request) error {
	errs := make([]error, len(p))
	var wg sync.WaitGroup
	for i, c := range p {
		wg.Go(func() {
			for j := i; j < len(lists); j += len(p) {
				for _, r := range lists[j] {
					if errs[i] = c.do(r); errs[i] != nil {
						return
					}
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

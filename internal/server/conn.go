package server

import (
	"bytes"
	"net"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/internal/wire"
)

// Listener wraps a listener so that its connections answer with JSON where net/http refuses a request by itself, before
// it calls a handler: a path with an invalid percent-encoding, too many headers, and so on.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		return &conn{TCPConn: tcp}, err
	}
	return c, err
}

// conn has all methods of *net.TCPConn, because net/http checks for some of them.
type conn struct {
	*net.TCPConn

	gathers  bool
	gathered *[]byte // written when it is released; nil for nothing
	failed   error   // of what was gathered, whose writers had been told that it is written
}

var _ sse.Gatherer = (*conn)(nil)

// Gather implements sse.Gatherer.
func (c *conn) Gather() { c.gathers = true }

// Release implements sse.Gatherer.
func (c *conn) Release() error {
	c.gathers = false
	return c.writeGathered()
}

func (c *conn) writeGathered() error {
	if b := c.gathered; b != nil {
		c.gathered = nil
		_, c.failed = c.TCPConn.Write(*b)
		sse.Release(b)
	}
	return c.failed
}

func (c *conn) gather(b []byte) (int, error) {
	if c.gathered == nil {
		c.gathered = sse.Buffer()
	}
	if *c.gathered = append(*c.gathered, b...); len(*c.gathered) < sse.MaxGathered {
		return len(b), nil
	}
	return len(b), c.writeGathered()
}

// refusalHead is what net/http writes between the status and the text of such a refusal. No handler responds with
// exactly these two headers.
const refusalHead = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

func (c *conn) Write(b []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	if c.gathers {
		return c.gather(b)
	}
	// A refusal is a status of 4xx or 5xx. Other responses are not searched (run in package bench).
	if !bytes.HasPrefix(b, []byte("HTTP/1.1 4")) && !bytes.HasPrefix(b, []byte("HTTP/1.1 5")) {
		return c.TCPConn.Write(b)
	}
	status, text, refused := bytes.Cut(b, []byte(refusalHead))
	if !refused {
		return c.TCPConn.Write(b)
	}
	message := string(text)
	if message == "400 Bad Request" {
		message = "Bad Request: the request cannot be read. Its path must be percent-encoded, with two hexadecimal digits after each %."
	}
	answer := append(status, "\r\nContent-Type: application/json\r\nConnection: close\r\n"+requestIDHeader+": "+event.NewID()+"\r\n\r\n"...)
	answer = wire.Quote(append(answer, `{"error":`...), message)
	answer = append(wire.Quote(append(answer, `,"detail":`...), message), '}')
	if _, err := c.TCPConn.Write(answer); err != nil {
		return 0, err
	}
	return len(b), nil
}

package testkit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for something that ought to come at once.
// It is there so that a hanging server fails a test instead of the whole run.
const patience = 5 * time.Minute

// Client sends requests to a server under test. All exchanges are Checked.
type Client struct {
	base string
	http *http.Client
}

// NewClient makes a client that is gone when the test is.
func NewClient(tb testing.TB, base string) *Client {
	tb.Helper()
	c := NewPlainClient(tb, base)
	c.http.Transport = Checked(tb, c.http.Transport)
	return c
}

// NewPlainClient makes a client whose exchanges are not checked against the
// contract, for servers that have one of their own.
func NewPlainClient(tb testing.TB, base string) *Client {
	tb.Helper()
	transport := &http.Transport{ExpectContinueTimeout: patience}
	tb.Cleanup(transport.CloseIdleConnections)
	return &Client{strings.TrimSuffix(base, "/"), &http.Client{Transport: transport, Timeout: patience}}
}

// Response is an answer that has been read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Into decodes the body into the variable that v points to, and returns the
// response.
func (r *Response) Into(tb testing.TB, v any) *Response {
	tb.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		tb.Fatalf("%v in %.2000s", err, r.Body)
	}
	return r
}

// Want fails the test when the status is another, and returns the response.
func (r *Response) Want(tb testing.TB, status int) *Response {
	tb.Helper()
	if r.Status != status {
		tb.Fatalf("status %d, want %d: %.2000s", r.Status, status, r.Body)
	}
	return r
}

// Do sends a request and reads the answer. A body that is a string is sent as
// it is, a reader in chunks, nil not at all, and anything else as JSON. There
// is a content type when there is a body; options may change that and more.
func (c *Client) Do(tb testing.TB, method, path string, body any, options ...func(*http.Request)) *Response {
	tb.Helper()
	resp := c.send(tb, method, path, body, options)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatalf("%s %s: %v", method, path, err)
	}
	return &Response{resp.StatusCode, resp.Header, b}
}

func (c *Client) send(tb testing.TB, method, path string, body any, options []func(*http.Request)) *http.Response {
	tb.Helper()
	var in io.Reader = http.NoBody
	switch body := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(body)
	case io.Reader:
		in = io.NopCloser(body) // of no known length
	default:
		b, err := json.Marshal(body)
		if err != nil {
			tb.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(tb.Context(), method, c.base+path, in)
	if err != nil {
		tb.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, option := range options {
		option(req)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	return resp
}

// Header is an option of Do and Stream that sets a header, or removes it when
// the value is empty.
func Header(name, value string) func(*http.Request) {
	return func(req *http.Request) {
		if value == "" {
			req.Header.Del(name)
		} else {
			req.Header.Set(name, value)
		}
	}
}

// Stream reads Server-Sent Events.
type Stream struct {
	Header http.Header
	body   io.ReadCloser
	lines  *bufio.Reader
}

// Stream sends a request whose answer must be a stream. It is closed with the
// test, if not before.
func (c *Client) Stream(tb testing.TB, path string, body any, options ...func(*http.Request)) *Stream {
	tb.Helper()
	resp := c.send(tb, http.MethodPost, path, body, options)
	tb.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || media(resp.Header) != eventStream {
		b, _ := io.ReadAll(resp.Body)
		tb.Fatalf("%d %s is not a stream: %.2000s", resp.StatusCode, resp.Header.Get("Content-Type"), b)
	}
	return &Stream{resp.Header, resp.Body, bufio.NewReader(resp.Body)}
}

// Next is the JSON of the next frame, nil at the end of the stream.
func (s *Stream) Next(tb testing.TB) []byte {
	tb.Helper()
	for {
		line, err := s.lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			tb.Fatalf("the stream broke: %v", err)
		}
		if frame, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			return bytes.TrimSuffix(frame, []byte("\n"))
		}
	}
}

// Rest is the JSON of all frames up to the end of the stream.
func (s *Stream) Rest(tb testing.TB) [][]byte {
	tb.Helper()
	var frames [][]byte
	for frame := s.Next(tb); frame != nil; frame = s.Next(tb) {
		frames = append(frames, frame)
	}
	return frames
}

// Close hangs up.
func (s *Stream) Close() { _ = s.body.Close() }

// Eventually waits until a condition holds, for what a server does on its own
// time. It fails the test when that takes too long. It looks less often the longer
// it takes, to leave the processor to the server.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	late := time.After(patience)
	for pause := 5 * time.Millisecond; !holds(); pause = min(2*pause, 100*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-late:
			tb.Fatalf("waited in vain for %s", what)
		}
	}
}

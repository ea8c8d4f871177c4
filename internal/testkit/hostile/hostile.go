// Package hostile has servers that misbehave on request, for tests of whatever
// calls other servers: models, login providers, APIs and MCP servers.
//
// How an answer looks is a Speech, what is wrong with it a Misbehaviour; the two
// are independent of each other. To add a misbehaviour, add a value to All.
package hostile

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// Most is how many bytes an endless answer has: one who reads all of it has no
// limit.
const Most = 64 << 20

// Some is how many bytes of such an answer show that it is one.
const Some = 1 << 20

// Speech is how an answer looks in one protocol: Begin, any number of Pieces,
// End.
type Speech struct {
	Type              string // of the content
	Begin, Piece, End string
	// Line is how a line begins that has no end. Lines of streams begin with
	// "data: ".
	Line string
	// Calls is an answer of a model with 10,000 calls, empty for other protocols.
	Calls string
}

// Conn is one answer to a client.
type Conn struct {
	Speech
	http http.ResponseWriter // nil for a process
	req  *http.Request
	out  io.Writer
	gone <-chan struct{} // closed when the client is gone
	at   *Server
}

// Head begins an answer over HTTP. Names and values of headers follow each other.
func (c *Conn) Head(status int, header ...string) {
	if c.http == nil {
		return
	}
	if c.Type != "" {
		c.http.Header().Set("Content-Type", c.Type)
	}
	for i := 0; i < len(header); i += 2 {
		c.http.Header().Set(header[i], header[i+1])
	}
	c.http.WriteHeader(status)
}

// Say sends a text. It is false when the client is gone.
func (c *Conn) Say(text string) bool {
	_, err := io.WriteString(c.out, text)
	if f, ok := c.http.(http.Flusher); ok {
		f.Flush()
	}
	return err == nil
}

// Repeat sends a text until the client is gone, or until Most bytes were sent.
// After the first Some bytes, it is reached.
func (c *Conn) Repeat(text string) {
	for n := 0; n < Most && c.Say(text); n += len(text) {
		if n >= Some {
			c.at.reach()
		}
	}
}

// Hang waits until the client is gone.
func (c *Conn) Hang() {
	c.at.reach()
	<-c.gone
}

// Cut ends the connection in the middle of the answer.
func (c *Conn) Cut() {
	if c.http != nil {
		panic(http.ErrAbortHandler)
	}
}

// Here is the address of the request, which leads to the server again.
func (c *Conn) Here() string { return "http://" + c.req.Host + c.req.URL.RequestURI() }

// Server is one that misbehaves.
type Server struct {
	URL string
	// Private is the URL of a server that must not be called. Called counts the calls.
	Private string
	Called  atomic.Int64

	sent    atomic.Int64
	once    sync.Once
	reached chan struct{}
}

// Sent is how many bytes have left the server.
func (s *Server) Sent() int64 { return s.sent.Load() }

// Reached is closed when a misbehaviour that does not end by itself has gone on
// for long enough.
func (s *Server) Reached() <-chan struct{} { return s.reached }

func (s *Server) reach() { s.once.Do(func() { close(s.reached) }) }

// Start starts a server that ends with the test. speech says how it would
// answer a request, and false for requests that it has answered well by itself.
func Start(t *testing.T, m Misbehaviour, speech func(http.ResponseWriter, *http.Request) (Speech, bool)) *Server {
	t.Helper()
	s := &Server{reached: make(chan struct{})}
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.Called.Add(1)
		_, _ = io.WriteString(w, `{"secret":"of the private network"}`)
	}))
	t.Cleanup(inside.Close)
	s.Private = inside.URL
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, misbehaves := speech(w, r)
		if !misbehaves {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // without that, the end of the client is not noticed
		m.Act(&Conn{Speech: said, http: w, req: r, out: w, gone: r.Context().Done(), at: s})
	}))
	srv.Listener = &counting{srv.Listener, &s.sent}
	srv.Start()
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	s.URL = srv.URL
	return s
}

// Speak misbehaves on a stream that is not HTTP, such as the output of a process.
// gone is closed when the client is.
func Speak(m Misbehaviour, said Speech, out io.Writer, gone <-chan struct{}) {
	m.Act(&Conn{Speech: said, out: out, gone: gone, at: &Server{reached: make(chan struct{})}})
}

// counting is a listener whose connections count what is written to them.
type counting struct {
	net.Listener
	sent *atomic.Int64
}

func (l *counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(64 << 10) // what waits in there is not read by anyone
	}
	return &countingConn{c, l.sent}, err
}

type countingConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c *countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// Package sse writes and reads Server-Sent Events. It writes whole events in single writes,
// comments that keep connections open, and has deadlines for clients that do not read; it
// reads what other servers write, within bounds.
package sse

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"
)

// Stream writes Server-Sent Events. Each event is one flush and, unless it is large, in one write, which may have several
// events: some clients take the result of a single read for whole events.
type Stream struct {
	w      http.ResponseWriter
	link   link
	conn   *http.ResponseController
	opened bool
	first  []byte // sent with the headers
	last   time.Time
}

// MediaType is the media type of streams.
const MediaType = "text/event-stream"

// New returns the stream of a response. Nothing is sent yet.
func New(w http.ResponseWriter, r *http.Request) *Stream {
	l, _ := r.Context().Value(connKey{}).(link)
	return &Stream{w: w, link: l, conn: http.NewResponseController(w), last: time.Now()}
}

// writeTimeout is the time in which a client must receive pieceSize bytes. A client that is slower counts as
// disconnected. There is no limit for an event or a stream as a whole.
const (
	writeTimeout = 30 * time.Second
	pieceSize    = 64 << 10

	// MaxGathered is how much a Gatherer may keep.
	MaxGathered = pieceSize / 2
)

// How long a stream may be silent: before its headers are sent without waiting for an event, and before a comment shows
// proxies that it is alive.
const (
	headersAfter   = 100 * time.Millisecond
	keepAliveAfter = 15 * time.Second
)

type connKey struct{}

// link is what a stream needs of its connection. Its members may be nil.
type link struct {
	narrow   func() // nil once it is done
	gatherer Gatherer
}

// Gatherer is a connection that can gather what is written to it: between Gather and Release, it keeps what it is given,
// up to MaxGathered bytes, and then writes all at once. Events that are there at the same time then take one call of the system,
// which is most of their cost (run_sse_pieces in package bench), and the client gets the same bytes.
type Gatherer interface {
	Gather()
	Release() error
}

// WithConn returns the context of the requests of a connection.
//
// The system reports progress on a full connection only when about a third of its send buffer is free again. The buffer
// may have grown to megabytes, and a slow reader would count as disconnected. So a connection that streams a large
// event gets a small buffer.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	var l link
	if sized, ok := conn.(interface{ SetWriteBuffer(int) error }); ok {
		l.narrow = func() { _ = sized.SetWriteBuffer(pieceSize) } // without it, slow readers may be cut off
	}
	l.gatherer, _ = conn.(Gatherer)
	return context.WithValue(ctx, connKey{}, l)
}

// Begin has the stream begin with frames, if it is opened. They alone do not open it.
func (s *Stream) Begin(frames []byte) { s.first = frames }

// Opened reports whether the headers have been sent.
func (s *Stream) Opened() bool { return s.opened }

// Open sends the headers.
func (s *Stream) Open() {
	if s.opened {
		return
	}
	s.header()
	_ = s.conn.Flush() // the next event reports a client that has disconnected
}

// Header values that all streams share (BenchmarkRunSSE in package bench). They must not be modified.
var (
	streamType = []string{MediaType + "; charset=utf-8"}
	noCache    = []string{"no-cache"}
	unbuffered = []string{"no"}
)

func (s *Stream) header() {
	s.opened = true
	h := s.w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Accel-Buffering"] = streamType, noCache, unbuffered
	s.w.WriteHeader(http.StatusOK)
	if len(s.first) > 0 {
		_, _ = s.w.Write(s.first) // the next event reports a client that has disconnected
	}
}

// Data sends one event. It fails when the client has disconnected.
func (s *Stream) Data(json []byte) error {
	return s.Event("", "", json)
}

// Event sends one event with a name and an id; empty ones are omitted.
func (s *Stream) Event(name, id string, json []byte) error {
	b := Buffer()
	defer Release(b)
	*b = Append(*b, name, id, json)
	return s.Send(*b)
}

// Append appends the frame of one event to dst; an empty name or id is omitted.
func Append(dst []byte, name, id string, json []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	return append(append(append(dst, "data: "...), json...), "\n\n"...)
}

// Identify adds an id to the last of frames that have none.
func Identify(frames []byte, id string) []byte {
	start := 0
	if i := bytes.LastIndex(bytes.TrimSuffix(frames, []byte("\n\n")), []byte("\n\n")); i >= 0 {
		start = i + 2
	}
	return slices.Insert(frames, start, append(append([]byte("id: "), id...), '\n')...)
}

// ErrGone means that the client of the stream has disconnected.
var ErrGone = errors.New("the client disconnected")

// Reader is what a stream follows, such as a *run.Reader.
type Reader[Item any] interface {
	// Take returns the next item, if there is one. It fails with io.EOF at the end.
	Take(ctx context.Context) (item Item, ok bool, err error)
	// Ready receives a value when Take may return something new.
	Ready() <-chan struct{}
	// Begun reports whether items are certain to follow.
	Begun() bool
}

// prompt is a Reader that knows when Take returns without waiting for anything.
type prompt interface{ Prompt() bool }

// Follow passes the items of a reader to send and keeps the stream alive, until the reader fails (io.EOF at its end),
// send fails (ErrGone), or ctx is done.
func Follow[Item any](ctx context.Context, s *Stream, reader Reader[Item], send func(Item) error) error {
	quiet := time.NewTimer(headersAfter)
	defer quiet.Stop()
	defer func() { _ = s.release() }() // what follows reports a client that has disconnected
	source, _ := reader.(prompt)
	for {
		item, ok, err := reader.Take(ctx)
		switch {
		case err != nil:
			return err
		case ok:
			if source != nil && source.Prompt() { // there may be more
				s.gather()
			} else if s.release() != nil {
				return ErrGone
			}
			if send(item) != nil {
				return ErrGone
			}
			continue
		}
		if s.release() != nil {
			return ErrGone
		}
		select {
		case <-reader.Ready():
		case <-quiet.C:
			if reader.Begun() {
				s.Open()
			}
			if s.silent() >= keepAliveAfter && s.comment() != nil {
				return ErrGone
			}
			quiet.Reset(keepAliveAfter - s.silent())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Stream) gather() {
	if s.link.gatherer != nil {
		s.link.gatherer.Gather()
	}
}

func (s *Stream) release() error {
	if s.link.gatherer != nil {
		return s.link.gatherer.Release()
	}
	return nil
}

// comment sends a keep-alive comment.
func (s *Stream) comment() error { return s.Send([]byte(": keep-alive\n\n")) }

// Send sends whole frames.
func (s *Stream) Send(frame []byte) error {
	if !s.opened {
		s.header()
	}
	if len(frame) > pieceSize && s.link.narrow != nil {
		s.link.narrow()
		s.link.narrow = nil
	}
	if len(frame) > MaxGathered { // its pieces have the whole time
		s.extend()
		if err := s.release(); err != nil {
			return err
		}
	}
	for piece := range slices.Chunk(frame, pieceSize) {
		s.extend()
		if _, err := s.w.Write(piece); err != nil {
			return err
		}
	}
	return s.conn.Flush()
}

// extend begins the time of a write.
func (s *Stream) extend() {
	s.last = time.Now()
	_ = s.conn.SetWriteDeadline(s.last.Add(writeTimeout)) // not every writer supports it
}

// silent returns the time since the last write.
func (s *Stream) silent() time.Duration { return time.Since(s.last) }

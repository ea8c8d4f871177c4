package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// stream writes Server-Sent Events. Each event is one flush and, unless it is
// large, one write: there are clients that take what a read gives them for whole
// events.
type stream struct {
	w      http.ResponseWriter
	narrow func() // see WithConn; nil when that is done
	conn   *http.ResponseController
	opened bool
	last   time.Time
}

const eventStreamType = "text/event-stream"

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	narrow, _ := r.Context().Value(connKey{}).(func())
	return &stream{w: w, narrow: narrow, conn: http.NewResponseController(w), last: time.Now()}
}

// writeTimeout is how long a client may take to receive pieceSize bytes before it
// is taken for gone. There is no limit on an event, nor on the stream as a whole.
const (
	writeTimeout = 30 * time.Second
	pieceSize    = 64 << 10
)

type connKey struct{}

// WithConn is the context of the requests of a connection.
//
// The system reports progress of a connection that is full only when about a third
// of its send buffer is free again, which may have grown to megabytes: a slow
// reader would be taken for one that is gone. So the connection of a stream with
// a large event gets a small buffer.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	sized, ok := conn.(interface{ SetWriteBuffer(int) error })
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, connKey{}, func() { _ = sized.SetWriteBuffer(pieceSize) }) // without it, slow readers must be faster
}

// open sends the headers.
func (s *stream) open() {
	if s.opened {
		return
	}
	s.header()
	_ = s.conn.Flush() // a client that is gone shows with the next event
}

// Header values that all streams share; nobody changes them.
var (
	streamType = []string{eventStreamType + "; charset=utf-8"}
	noCache    = []string{"no-cache"}
	unbuffered = []string{"no"}
)

func (s *stream) header() {
	s.opened = true
	h := s.w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Accel-Buffering"] = streamType, noCache, unbuffered
	s.w.WriteHeader(http.StatusOK)
}

// data sends one event. It fails when the client is gone.
func (s *stream) data(json []byte) error {
	return s.event("", "", json)
}

// event sends one event with a name and an id, each left out when empty.
func (s *stream) event(name, id string, json []byte) error {
	b := buffer()
	defer giveBack(b)
	frame := *b
	if name != "" {
		frame = append(append(append(frame, "event: "...), name...), '\n')
	}
	if id != "" {
		frame = append(append(append(frame, "id: "...), id...), '\n')
	}
	frame = append(append(frame, "data: "...), json...)
	*b = append(frame, "\n\n"...)
	return s.send(*b)
}

// errClientGone means that nobody reads the stream any more.
var errClientGone = errors.New("the client is gone")

// follow hands over what a reader reads, and keeps the stream alive, until the
// run ends (io.EOF), or with errClientGone when send fails.
func (s *stream) follow(ctx context.Context, reader *run.Reader, send func(run.Item) error) error {
	quiet := time.NewTimer(headersAfter)
	defer quiet.Stop()
	for {
		item, ok, err := reader.Take(ctx)
		switch {
		case err != nil:
			return err
		case ok:
			if send(item) != nil {
				return errClientGone
			}
			continue
		}
		select {
		case <-reader.Ready():
		case <-quiet.C:
			if reader.Begun() {
				s.open()
			}
			if s.silent() >= keepAliveAfter && s.comment() != nil {
				return errClientGone
			}
			quiet.Reset(keepAliveAfter - s.silent())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// errExpired ends a stream whose caller has to show another token. The run goes
// on.
var errExpired = errors.New("the token of the request has expired")

// untilExpiry is the context of a stream: it ends with errExpired when the
// caller's token does.
func untilExpiry(r *http.Request) (context.Context, context.CancelFunc) {
	if c := callerOf(r); c != nil && !c.Expires.IsZero() {
		return context.WithDeadlineCause(r.Context(), c.Expires, errExpired)
	}
	return r.Context(), func() {}
}

// comment shows that the stream is alive.
func (s *stream) comment() error { return s.send([]byte(": keep-alive\n\n")) }

func (s *stream) send(frame []byte) error {
	if !s.opened {
		s.header()
	}
	if len(frame) > pieceSize && s.narrow != nil {
		s.narrow()
		s.narrow = nil
	}
	for piece := range slices.Chunk(frame, pieceSize) {
		s.last = time.Now()
		_ = s.conn.SetWriteDeadline(s.last.Add(writeTimeout)) // not every writer has one
		if _, err := s.w.Write(piece); err != nil {
			return err
		}
	}
	return s.conn.Flush()
}

// silent is how long nothing has been sent.
func (s *stream) silent() time.Duration { return time.Since(s.last) }

// end closes the stream, after a last frame if the run has failed.
func (s *stream) end(f *session.Failure) {
	if !s.opened {
		s.header()
	}
	if f != nil && !f.Reported {
		_ = s.data(errorFrame(f, "")) // a client that has disconnected does not need it
	}
}

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

// stream writes Server-Sent Events. Each event is one flush and, unless it is large, one write: some clients take the
// result of a single read for whole events.
type stream struct {
	w      http.ResponseWriter
	narrow func() // see WithConn; nil once it is done
	conn   *http.ResponseController
	opened bool
	last   time.Time
}

const eventStreamType = "text/event-stream"

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	narrow, _ := r.Context().Value(connKey{}).(func())
	return &stream{w: w, narrow: narrow, conn: http.NewResponseController(w), last: time.Now()}
}

// writeTimeout is the time in which a client must receive pieceSize bytes. A client that is slower counts as
// disconnected. There is no limit for an event or a stream as a whole.
const (
	writeTimeout = 30 * time.Second
	pieceSize    = 64 << 10
)

type connKey struct{}

// WithConn returns the context of the requests of a connection.
//
// The system reports progress on a full connection only when about a third of its send buffer is free again. The buffer
// may have grown to megabytes, and a slow reader would count as disconnected. So a connection that streams a large
// event gets a small buffer.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	sized, ok := conn.(interface{ SetWriteBuffer(int) error })
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, connKey{}, func() { _ = sized.SetWriteBuffer(pieceSize) }) // without it, slow readers may be cut off
}

// open sends the headers.
func (s *stream) open() {
	if s.opened {
		return
	}
	s.header()
	_ = s.conn.Flush() // the next event reports a client that has disconnected
}

// Header values that all streams share. They must not be modified.
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

// data sends one event. It fails when the client has disconnected.
func (s *stream) data(json []byte) error {
	return s.event("", "", json)
}

// event sends one event with a name and an id; empty ones are omitted.
func (s *stream) event(name, id string, json []byte) error {
	b := buffer()
	defer releaseBuffer(b)
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

// errClientGone means that the client of the stream has disconnected.
var errClientGone = errors.New("the client disconnected")

// follow passes the items of a reader to send and keeps the stream alive, until the run ends (io.EOF) or send fails
// (errClientGone).
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

// errExpired ends a stream whose caller needs a new token. The run continues.
var errExpired = errors.New("the token of the request has expired")

// untilExpiry returns the context of a stream. It ends with errExpired when the caller's token expires.
func untilExpiry(r *http.Request) (context.Context, context.CancelFunc) {
	if c := callerOf(r); c != nil && !c.Expires.IsZero() {
		return context.WithDeadlineCause(r.Context(), c.Expires, errExpired)
	}
	return r.Context(), func() {}
}

// comment sends a keep-alive comment.
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
		_ = s.conn.SetWriteDeadline(s.last.Add(writeTimeout)) // not every writer supports it
		if _, err := s.w.Write(piece); err != nil {
			return err
		}
	}
	return s.conn.Flush()
}

// silent returns the time since the last write.
func (s *stream) silent() time.Duration { return time.Since(s.last) }

// end closes the stream. If the run has failed, it sends an error frame first.
func (s *stream) end(f *session.Failure) {
	if !s.opened {
		s.header()
	}
	if f != nil && !f.Reported {
		_ = s.data(errorFrame(f, "")) // the client may have disconnected
	}
}

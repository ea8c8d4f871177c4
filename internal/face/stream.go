package face

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/session"
)

// ErrExpired ends a stream whose caller needs a new token. The run continues.
var ErrExpired = errors.New("the token of the request has expired; the run continues: follow it with a new token")

// Encoder writes the frames of a protocol. Each method appends to dst.
type Encoder interface {
	// Begin writes what comes before the first step.
	Begin(dst []byte) []byte
	// Step writes a step. position identifies everything up to the item that the
	// step is part of, for Transcript.Resume; it is empty unless the step is the last
	// one of its item.
	Step(dst []byte, s *Step, position string) []byte
	// End writes the end of a run.
	End(dst []byte, row *session.Run) []byte
	// Break writes the end of a stream whose run continues, or cannot be read.
	Break(dst []byte, p Problem) []byte
}

// Stream sends a run to a client until the run ends. The transcript may have been
// resumed. started is the run of a request that started one, for what happens when its
// client disconnects; nil for a client that follows.
func Stream(w http.ResponseWriter, r *http.Request, h Host, reader *run.Reader, t *Transcript, enc Encoder, started *run.Run) error {
	return StreamOn(w, r, h, reader, t, enc, started, nil)
}

// StreamOn is like Stream, but if a run waits, and stay says that the stream stays open,
// it continues with the run that resumes it. The encoder gets the end of each run.
func StreamOn(w http.ResponseWriter, r *http.Request, h Host, reader *run.Reader, t *Transcript, enc Encoder, started *run.Run, stay func(*session.Run) bool) error {
	defer h.Streaming()()
	ctx, cancel := h.UntilExpiry(r)
	defer cancel()
	out := sse.New(w, r)
	var steps []Step
	begun := false
	send := func(write func(dst []byte) []byte) error {
		b := sse.Buffer()
		defer sse.Release(b)
		if !begun {
			begun, *b = true, enc.Begin(*b)
		}
		if *b = write(*b); len(*b) == 0 {
			return nil
		}
		return out.Send(*b)
	}
	if reader.Begun() { // the client need not wait for the first event to learn of it
		_ = send(func(dst []byte) []byte { return dst }) // Follow reports a client that has disconnected
	}
	take := func(item run.Item) error {
		var err error
		if steps, err = t.Item(steps[:0], item); err != nil {
			return err
		}
		return send(func(dst []byte) []byte { return encode(dst, enc, steps, t.Position) })
	}
	key := reader.Key()
	err := sse.Follow(ctx, out, reader, take) //nolint:contextcheck // ctx is that of the request, with a deadline
	for errors.Is(err, io.EOF) && stay != nil && reader.Run().Status == session.Waiting && stay(reader.Run()) {
		waiting := reader.Run()
		if send(func(dst []byte) []byte { return enc.End(encode(dst, enc, t.End(steps[:0]), nil), waiting) }) != nil {
			err = sse.ErrGone
			break
		}
		next, failed := await(ctx, h, out, waiting, t.seq) //nolint:contextcheck // as above
		if failed != nil {
			err = failed
			break
		}
		defer next.Close()
		reader, t = next, &Transcript{}
		err = sse.Follow(ctx, out, reader, take) //nolint:contextcheck // as above
	}
	switch {
	case errors.Is(err, io.EOF):
		row := reader.Run()
		if refusal := run.Refusal(row); refusal != nil {
			if !out.Opened() {
				return refusal
			}
			_ = send(func(dst []byte) []byte { return enc.Break(dst, h.Explain(refusal, key)) })
			return nil
		}
		_ = send(func(dst []byte) []byte { // the client may have disconnected
			return enc.End(encode(dst, enc, t.End(steps[:0]), nil), row)
		})
		return nil
	case r.Context().Err() != nil, errors.Is(err, sse.ErrGone):
		if started != nil {
			h.Disconnected(r, started)
		}
		return nil
	case errors.Is(context.Cause(ctx), ErrExpired): //nolint:contextcheck // as above
		err = ErrExpired // a store may wrap it in its own error
	}
	if !out.Opened() {
		return err
	}
	_ = send(func(dst []byte) []byte {
		return enc.Break(encode(dst, enc, t.interrupt(steps[:0]), nil), h.Explain(err, key))
	})
	return nil
}

// errFound ends a wait.
var errFound = errors.New("found")

// await waits for the run that resumes another one, or for its end without one, and
// keeps the stream alive. seen is the sequence number of the last event that was sent.
func await(ctx context.Context, h Host, out *sse.Stream, waiting *session.Run, seen int64) (*run.Reader, error) {
	resumptions := h.Engine().AwaitResumption(waiting)
	defer resumptions.Close()
	var next *session.Run
	err := sse.Follow(ctx, out, resumptions, func(row *session.Run) error {
		next = row
		return errFound
	})
	if next == nil {
		return nil, err
	}
	after := int64(0)
	if next.ID == waiting.ID {
		after = seen
	}
	return h.Engine().FollowAfter(ctx, next.Key, next.ID, after)
}

// encode writes steps. The last one has the position, if there is one.
func encode(dst []byte, enc Encoder, steps []Step, position func() string) []byte {
	for i := range steps {
		at := ""
		if i == len(steps)-1 && position != nil {
			at = position()
		}
		dst = enc.Step(dst, &steps[i], at)
	}
	return dst
}

// Collect waits for the end of a run, and returns its steps and its row.
func Collect(ctx context.Context, reader *run.Reader) ([]Step, *session.Run, error) {
	t := &Transcript{}
	var steps []Step
	for {
		item, err := reader.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			row := reader.Run()
			return t.End(steps), row, run.Refusal(row)
		case err != nil:
			return nil, nil, err
		case item.Entry == nil:
			continue // the stored event has all of it
		}
		if steps, err = t.Item(steps, item); err != nil {
			return nil, nil, err
		}
	}
}

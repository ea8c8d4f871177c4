package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
)

// bare is the least that a server in Go can do: it reads the request and
// answers bytes that it knows already.
type bare struct {
	contentType string
	frames      [][]byte // one for each write
	holds       bool     // after the first frame
	gate        *gate
}

// newBare is a bare server that answers like Parley does to a workload.
func newBare(ctx context.Context, w workload) (subject, error) {
	answer, err := record(ctx, w)
	if err != nil {
		return subject{}, err
	}
	b := &bare{contentType: answer.Header().Get("Content-Type"), holds: w.name == hold.name, gate: newGate()}
	body := answer.Body.Bytes()
	if strings.HasPrefix(b.contentType, "text/event-stream") {
		for frame := range bytes.SplitAfterSeq(body, []byte("\n\n")) {
			if len(frame) > 0 {
				b.frames = append(b.frames, frame)
			}
		}
	} else {
		b.frames = [][]byte{body}
	}
	serve := func(_ context.Context, l net.Listener) error { return http.Serve(l, b) }
	return subject{serve: serve, gate: b.gate}, nil
}

// record asks Parley, in this process.
func record(ctx context.Context, w workload) (*httptest.ResponseRecorder, error) {
	srv, err := parleyServer(openGate(), w, place{})
	if err != nil {
		return nil, err
	}
	defer srv.Close(ctx)
	const session = "recorded"
	var requests []request
	if !w.creates {
		requests = append(requests, create(w.app, user, session))
	}
	for range w.turns {
		requests = append(requests, runTurn.request(session))
	}
	requests = append(requests, w.request(session))
	return answers(ctx, srv.Handler(), requests...)
}

// answers asks a handler, and returns the last answer.
func answers(ctx context.Context, handler http.Handler, requests ...request) (out *httptest.ResponseRecorder, err error) {
	for _, r := range requests {
		out = httptest.NewRecorder()
		handler.ServeHTTP(out, httptest.NewRequestWithContext(ctx, r.method, r.path, bytes.NewReader(r.body)))
		if out.Code >= 300 {
			return nil, fmt.Errorf("%s %s: %d: %s", r.method, r.path, out.Code, out.Body)
		}
	}
	return out, nil
}

func (b *bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", b.contentType)
	if len(b.frames) == 1 {
		_, _ = w.Write(b.frames[0]) // the client notices
		return
	}
	flusher := w.(http.Flusher) // net/http's always is
	for i, frame := range b.frames {
		if _, err := w.Write(frame); err != nil {
			return
		}
		flusher.Flush()
		if i == 0 && b.holds {
			select {
			case <-b.gate.wait():
			case <-r.Context().Done():
				return
			}
		}
	}
}

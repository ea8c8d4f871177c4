package mcp

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/session"
)

// retryMillis is how long a client waits before it continues a stream.
const retryMillis = "1000"

// resumable has the stream of a call begin with the id that a client of 2025-11-25
// needs to continue it, on any server. Clients of versions before do not expect such an
// event, and 2026-07-28 has tasks for that.
func (e *exchange) resumable(started *run.Run) {
	if e.out == nil || !e.can.resumes {
		return
	}
	id := face.Handle(started.Key().ID, started.ID(), string(e.in.ID))
	if _, ok := face.ParseHandle(id, 3); ok {
		e.out.Begin([]byte("id: " + id + "\nretry: " + retryMillis + "\ndata: \n\n"))
	}
}

// resumeStream continues the stream of a call that was cut. There are no other streams
// to read.
func (h handler) resumeStream(w http.ResponseWriter, r *http.Request) error {
	names, ok := face.ParseHandle(r.Header.Get("Last-Event-ID"), 3)
	e := &exchange{handler: h, w: w, r: r, app: r.PathValue("app"), connection: r.Header.Get(sessionHeader)}
	if ok {
		e.in.ID = json.RawMessage(names[2])
		ok = json.Valid(e.in.ID) && validID(e.in.ID)
	}
	if !ok || !accepts(r, sse.MediaType) || e.negotiate() != nil || e.modern {
		w.Header().Set("Allow", http.MethodPost)
		return &face.Problem{Status: http.StatusMethodNotAllowed, Message: "Method Not Allowed: GET continues the stream of a call, with the Last-Event-ID of one"}
	}
	key, _, err := e.key(names[0])
	if err != nil {
		return err
	}
	found, err := h.Engine().Find(r.Context(), key, names[1])
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrRunNotFound) {
		return &face.Problem{Status: http.StatusNotFound, Message: "Not Found: there is no stream with this Last-Event-ID"}
	}
	if err != nil {
		return err
	}
	e.out = sse.New(w, r)
	e.resumable(found)
	e.out.Open()
	result, err := e.follow(found) //nolint:contextcheck // it has the request
	if err != nil {
		return e.fail(err)
	}
	return e.reply(result)
}

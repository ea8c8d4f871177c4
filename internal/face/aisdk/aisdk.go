// Package aisdk serves the UI message stream, version 1, of the AI SDK: the protocol
// of useChat and DefaultChatTransport.
//
// A chat is a session, and its id is that of the session. Clients send all of their
// messages each time; only what the session does not have is sent to the agent. An
// assistant message is a run together with the runs that its answers have started,
// and has the id of the first one.
package aisdk

import (
	"context"
	"errors"
	"net/http"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// name is the name of the face, also in the ids of its runs.
const name = "aisdk"

// The header and its value that identify the protocol.
const (
	versionHeader = "X-Vercel-Ai-Ui-Message-Stream"
	version       = "v1"
)

type server struct{ face.Host }

// New creates the face.
func New(h face.Host) *face.Face {
	s := &server{h}
	const path = "/apps/{app}/aisdk"
	return &face.Face{
		Name: name, Title: "AI SDK", Path: path, Fail: fail,
		Routes: []face.Route{
			{Method: http.MethodPost, Path: path, Scope: access.Run, Handler: s.send},
			{Method: http.MethodGet, Path: path + "/{chat}", Scope: access.Read, Handler: s.messages},
			{Method: http.MethodGet, Path: path + "/{chat}/stream", Scope: access.Read, Handler: s.resume},
			{Method: http.MethodPost, Path: path + "/{chat}/cancel", Scope: access.Run, Handler: s.cancel},
		},
	}
}

// fail writes an error. Clients show the body as the text of the error.
func fail(w http.ResponseWriter, _ *http.Request, p face.Problem) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write([]byte(p.Message)) // the client may have disconnected
}

// key returns the session of a chat.
func (s *server) key(r *http.Request, chat string) (session.Key, string, error) {
	id, err := s.Identify(r, "")
	if err != nil {
		return session.Key{}, "", err
	}
	if err := session.CheckIdentifier("chat id", chat); err != nil {
		return session.Key{}, "", err
	}
	return session.Key{App: r.PathValue("app"), User: id.User, ID: chat}, id.Caller, nil
}

// send starts a run with what is new in the messages of the client, and streams it.
func (s *server) send(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	in, err := decode(body)
	if err != nil {
		return err
	}
	key, caller, err := s.key(r, in.ID)
	if err != nil {
		return err
	}
	c := &chat{server: s, in: in, key: key, caller: caller}
	started, err := c.start(r.Context())
	if err != nil {
		return err
	}
	enc := newEncoder(started.ID())
	if in.answers() {
		if enc, err = s.encoder(r.Context(), key, started.ID(), in.continued()); err != nil {
			return err
		}
	}
	reader := started.Read()
	defer reader.Close()
	return s.stream(w, r, reader, enc, started)
}

// resume streams the active run of a chat from the beginning of its message.
func (s *server) resume(w http.ResponseWriter, r *http.Request) error {
	key, _, err := s.key(r, r.PathValue("chat"))
	if err != nil {
		return err
	}
	active, err := s.active(r.Context(), key)
	if err != nil {
		return err
	}
	if len(active) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	id := active[len(active)-1].ID // the one that runs; the others are queued
	enc, err := s.encoder(r.Context(), key, id, nil)
	if err != nil {
		return err
	}
	reader, err := s.Engine().Follow(r.Context(), key, id, "")
	if err != nil {
		return err
	}
	defer reader.Close()
	return s.stream(w, r, reader, enc, nil)
}

func (s *server) stream(w http.ResponseWriter, r *http.Request, reader *run.Reader, enc *encoder, started *run.Run) error {
	w.Header().Set(versionHeader, version)
	return face.Stream(w, r, s.Host, reader, &face.Transcript{}, enc, started)
}

// cancel ends all runs of a chat.
func (s *server) cancel(w http.ResponseWriter, r *http.Request) error {
	key, _, err := s.key(r, r.PathValue("chat"))
	if err != nil {
		return err
	}
	active, err := s.active(r.Context(), key)
	if err != nil {
		return err
	}
	for _, one := range active { // queued runs first, so that none of them begins
		if _, err := s.Engine().Cancel(r.Context(), key, one.ID); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// activePage is how many of the newest runs may be active. The queue of a session is
// shorter.
const activePage = 100

// active returns the runs of a chat that have not ended, newest first. A chat that
// does not exist has none.
func (s *server) active(ctx context.Context, key session.Key) ([]*session.Run, error) {
	if _, err := s.Describe(key.App); err != nil {
		return nil, err
	}
	rows, _, err := s.Engine().Runs(ctx, key, session.Page{Size: activePage})
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, err
	}
	var found []*session.Run
	for _, row := range rows {
		if !row.Status.Ended() {
			found = append(found, row)
		}
	}
	return found, nil
}

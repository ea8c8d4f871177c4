package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// startRun starts a run and does not wait for it.
func (s *Server) startRun(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	doc, err := s.body(w, r)
	if err != nil {
		return err
	}
	req := &runRequest{Request: run.Request{Key: key}}
	if err := s.readRun(r, doc, req, false); err != nil {
		return err
	}
	started, err := s.start(w, r, req)
	if err != nil {
		return err
	}
	if req.Stream {
		started.Read().Close() // the pieces are for whoever follows the run
	}
	return s.accepted(w, r, started)
}

// accepted answers with the address of a run that may not be over.
func (s *Server) accepted(w http.ResponseWriter, r *http.Request, started *run.Run) error {
	row, err := s.Engine.Run(r.Context(), started.Key(), started.ID())
	if err != nil {
		return err
	}
	w.Header().Set("Location", runPath(row.Key, row.ID))
	writeJSON(w, http.StatusAccepted, document.Run(nil, row))
	return nil
}

func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	page, err := pageOf(query)
	if err != nil {
		return err
	}
	page.Size = cmp.Or(page.Size, defaultPage)
	rows, next, err := s.Engine.Runs(r.Context(), key, page)
	if err != nil {
		return err
	}
	linkNext(w, r, query, page, next)
	writeJSON(w, http.StatusOK, document.Array(nil, rows, document.Run))
	return nil
}

func (s *Server) getRun(w http.ResponseWriter, r *http.Request) error {
	key, id, err := runKey(r)
	if err != nil {
		return err
	}
	row, err := s.Engine.Run(r.Context(), key, id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, document.Run(nil, row))
	return nil
}

// cancelRun asks for the end of a run. It is the same whether it runs here,
// elsewhere, or not any more.
func (s *Server) cancelRun(w http.ResponseWriter, r *http.Request) error {
	key, id, err := runKey(r)
	if err != nil {
		return err
	}
	row, err := s.Engine.Cancel(r.Context(), key, id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, document.Run(nil, row))
	return nil
}

// runKey is the run that the path names, and its session.
func runKey(r *http.Request) (session.Key, string, error) {
	key, err := pathKey(r)
	id := r.PathValue("run")
	if err == nil {
		err = session.CheckIdentifier("run id", id)
	}
	return key, id, err
}

// runEvents follows a run: as a stream until it ends or, for clients that would
// rather have JSON, as an array of what is there.
func (s *Server) runEvents(w http.ResponseWriter, r *http.Request) error {
	key, id, err := runKey(r)
	if err != nil {
		return err
	}
	w.Header().Add("Vary", "Accept")
	after := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	reader, err := s.Engine.Follow(r.Context(), key, id, after)
	if err != nil {
		return err
	}
	defer reader.Close()
	w.Header().Set(runHeader, id)
	if !wantsStream(r) {
		return s.runSoFar(w, r, key, reader)
	}
	defer s.streaming()()
	out := newStream(w, r)
	out.open()
	if r.Method == http.MethodHead {
		return nil // there is no body to wait for
	}
	last := after
	ctx, cancel := untilExpiry(r)
	defer cancel()
	err = out.follow(ctx, reader, func(item run.Item) error { //nolint:contextcheck // ctx is that of the request, with a deadline
		if item.Entry == nil {
			return out.data(item.JSON)
		}
		last = eventID(item.Entry)
		return out.event("", last, item.JSON)
	})
	switch {
	case errors.Is(err, io.EOF):
		_ = out.event("end", "", document.Run(nil, s.ended(r, reader)))
	case errors.Is(err, run.ErrClosing), r.Context().Err() == nil && errors.Is(context.Cause(ctx), errExpired): //nolint:contextcheck // as above
		// A client that resumes by itself does so at another replica, or learns
		// that it needs another token.
		_ = out.event("resume", "", append(wire.Quote([]byte(`{"url":`), resumePath(key, id, last)), '}'))
	case r.Context().Err() == nil && !errors.Is(err, errClientGone):
		s.Log.ErrorContext(r.Context(), "a stream of a run was cut off", "run_id", id, "err", err)
	}
	return nil
}

// ended is the run of a reader that has come to its end, as it is stored if it
// still is: with its session, it may be gone.
func (s *Server) ended(r *http.Request, reader *run.Reader) *session.Run {
	known := reader.Run()
	if row, err := s.Engine.Run(r.Context(), known.Key, known.ID); err == nil && row.Status.Ended() {
		return row
	}
	return known
}

// wantsStream reports whether the client takes a stream, which it does unless it
// would rather have JSON. Of two that it likes as much, the first counts.
func wantsStream(r *http.Request) bool {
	stream, best := true, 0.0
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || media != eventStreamType && media != "application/json" {
			continue
		}
		weight, err := strconv.ParseFloat(cmp.Or(params["q"], "1"), 64)
		switch {
		case err != nil:
		case weight > best:
			stream, best = media == eventStreamType, weight
		case weight == 0 && best == 0: // anything but this
			stream = media != eventStreamType
		}
	}
	return stream
}

// runSoFar answers with the events that are stored.
func (s *Server) runSoFar(w http.ResponseWriter, r *http.Request, key session.Key, reader *run.Reader) error {
	entries := []*session.Entry{}
	for {
		item, ok, err := reader.Take(r.Context())
		switch {
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, run.ErrClosing):
			return err
		case !ok:
			writeJSON(w, http.StatusOK, document.Entries(nil, entries))
			return nil
		case item.Entry != nil:
			entries = append(entries, item.Entry)
		}
	}
}

func runPath(key session.Key, id string) string {
	return fmt.Sprintf("/apps/%s/users/%s/sessions/%s/runs/%s",
		url.PathEscape(key.App), url.PathEscape(key.User), url.PathEscape(key.ID), url.PathEscape(id))
}

// resumePath is where the events after one can be read.
func resumePath(key session.Key, id, after string) string {
	path := runPath(key, id) + "/events"
	if after != "" {
		path += "?after=" + url.QueryEscape(after)
	}
	return path
}

func eventID(e *session.Entry) string {
	ev, err := e.Decode()
	if err != nil {
		return ""
	}
	return ev.ID
}

// maxWait is longer than anybody waits, and short enough to count with.
const maxWait = 1 << 20

// patience is how many seconds a client wants to wait, as in Prefer: wait=10; -1
// when it does not say. The first of several counts.
func patience(r *http.Request) (int, error) {
	if header(r, preferHeader) == "" {
		return -1, nil
	}
	for pref := range strings.SplitSeq(strings.Join(r.Header.Values(preferHeader), ","), ",") {
		pref, _, _ = strings.Cut(pref, ";")
		name, value, _ := strings.Cut(pref, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, badParameter("header", preferHeader, "wait must be a whole number of seconds")
		}
		return int(min(n, maxWait)), nil
	}
	return -1, nil
}

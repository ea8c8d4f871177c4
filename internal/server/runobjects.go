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
	"github.com/parley-run/parley/internal/sse"
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
		started.Read().Close() // only clients that follow the run need the partial events
	}
	return s.accepted(w, r, started)
}

// accepted answers with the URL of a run that may still be running.
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

// cancelRun requests the end of a run. It makes no difference where it runs, or whether it has ended.
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

// runKey returns the session and the id of the run that the path names.
func runKey(r *http.Request) (session.Key, string, error) {
	key, err := pathKey(r)
	id := r.PathValue("run")
	if err == nil {
		err = session.CheckIdentifier("run id", id)
	}
	return key, id, err
}

// runEvents follows a run: as a stream until it ends or, for clients that prefer JSON, as an array of the stored
// events.
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
		return s.storedEvents(w, r, reader)
	}
	defer s.streaming()()
	out := sse.New(w, r)
	out.Open()
	if r.Method == http.MethodHead {
		return nil // there is no body to wait for
	}
	last := after
	ctx, cancel := untilExpiry(r)
	defer cancel()
	err = sse.Follow(ctx, out, reader, func(item run.Item) error { //nolint:contextcheck // ctx is that of the request, with a deadline
		if item.Entry == nil {
			return out.Data(item.JSON)
		}
		last = eventID(item.Entry)
		return out.Event("", last, item.JSON)
	})
	switch {
	case errors.Is(err, io.EOF):
		_ = out.Event("end", "", document.Run(nil, s.ended(r, reader)))
	case errors.Is(err, run.ErrClosing), r.Context().Err() == nil && errors.Is(context.Cause(ctx), errExpired): //nolint:contextcheck // as above
		// A client that resumes by itself reaches another replica, or learns that it needs a new token.
		_ = out.Event("resume", "", append(wire.Quote([]byte(`{"url":`), resumePath(key, id, last)), '}'))
	case r.Context().Err() == nil && !errors.Is(err, sse.ErrGone):
		s.Log.ErrorContext(r.Context(), "run stream failed", "run_id", id, "err", err)
	}
	return nil
}

// ended returns the run of a reader that has reached its end: as it is stored, unless it was deleted with its session.
func (s *Server) ended(r *http.Request, reader *run.Reader) *session.Run {
	known := reader.Run()
	if row, err := s.Engine.Run(r.Context(), known.Key, known.ID); err == nil && row.Status.Ended() {
		return row
	}
	return known
}

// wantsStream reports whether the client prefers a stream, which is the default. Of two types with equal weight, the
// first wins.
func wantsStream(r *http.Request) bool {
	stream, best := true, 0.0
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || media != sse.MediaType && media != "application/json" {
			continue
		}
		weight, err := strconv.ParseFloat(cmp.Or(params["q"], "1"), 64)
		switch {
		case err != nil:
		case weight > best:
			stream, best = media == sse.MediaType, weight
		case weight == 0 && best == 0: // excludes this type
			stream = media != sse.MediaType
		}
	}
	return stream
}

// storedEvents answers with the events that are stored.
func (s *Server) storedEvents(w http.ResponseWriter, r *http.Request, reader *run.Reader) error {
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

// resumePath returns the URL of the events after one.
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

// maxWait exceeds every practical wait and cannot overflow.
const maxWait = 1 << 20

// preferredWait returns the seconds that a client is willing to wait, as in Prefer: wait=10; -1 if it is not set. The
// first of several values wins.
func preferredWait(r *http.Request) (int, error) {
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

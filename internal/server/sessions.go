package server

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// createSession creates a session. The body may give its id.
func (s *Server) createSession(w http.ResponseWriter, r *http.Request) error {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := key.CheckOwner(); err != nil {
		return err
	}
	doc, err := s.body(w, r)
	if err != nil {
		return err
	}
	var req createRequest
	if doc != nil {
		err := wire.Decode(doc, req.read)
		if err == nil {
			err = noNulls(req.state, "state")
		}
		if err != nil {
			return err
		}
	}
	if key.ID = req.id; key.ID == "" {
		key.ID = ident.Session()
	}
	return s.create(w, r, key, req, false)
}

// createSessionWithID creates the session that the path names. The body is the state, or a wrapper around it.
func (s *Server) createSessionWithID(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	doc, err := s.body(w, r)
	if err != nil {
		return err
	}
	update, err := updates(r.URL.Query())
	if err != nil {
		return err
	}
	req, err := readCreate(doc, update)
	if err != nil {
		return err
	}
	return s.create(w, r, key, req, update)
}

// readCreate decodes a body that is the state, or a wrapper around it. Null is allowed in the state of an update only.
func readCreate(doc []byte, update bool) (req createRequest, err error) {
	if doc == nil {
		return req, nil
	}
	err = wire.Decode(doc, func(in *wire.Reader) error {
		if in.Null() {
			return nil
		}
		return in.RawMap((*map[string]json.RawMessage)(&req.state))
	})
	if err != nil {
		return req, err
	}
	var path []any
	if isWrapper(req.state) {
		req, path = createRequest{}, []any{"state"}
		if err := wire.Decode(doc, req.read); err != nil {
			return req, err
		}
	}
	if !update {
		err = noNulls(req.state, path...)
	}
	return req, err
}

// updates reads ?if_exists=, which says whether creating an existing session updates its state.
func updates(query url.Values) (bool, error) {
	switch cmp.Or(query.Get("ifExists"), query.Get("if_exists")) {
	case "", "fail":
		return false, nil
	case "update":
		return true, nil
	}
	return false, badParameter("query", "if_exists", "must be one of fail, update")
}

// create creates a session. If it exists and update is true, create updates its state.
func (s *Server) create(w http.ResponseWriter, r *http.Request, key session.Key, req createRequest, update bool) error {
	if err := key.Check(); err != nil {
		return err
	}
	ttl, err := ttlOf(r)
	if err != nil {
		return err
	}
	if err := checkSharedState(r, req.state); err != nil {
		return err
	}
	made, err := s.Engine.Create(r.Context(), session.NewSession{Key: key, State: req.state, TTL: ttl}, req.events)
	if update && errors.Is(err, session.ErrExists) {
		made, err = s.update(r, key, req)
	}
	if err != nil {
		return about(key, err)
	}
	writeJSON(w, http.StatusOK, document.Session(nil, made))
	return nil
}

// update changes the state of an existing session as PATCH does.
func (s *Server) update(r *http.Request, key session.Key, req createRequest) (*session.Session, error) {
	switch {
	case len(req.events) > 0:
		return nil, &httpError{status: http.StatusConflict, message: "Session already exists: " + key.ID + ". Its state can be updated, but events can be given to a new session only."}
	case len(req.state) == 0:
		return s.Store.Get(r.Context(), key, session.Read{})
	}
	return s.Engine.Patch(r.Context(), key, req.state)
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	found, err := s.Store.Get(r.Context(), key, session.Read{})
	if errors.Is(err, session.ErrNotFound) && s.evalSession(w, r, key) {
		return nil
	}
	if err != nil {
		return err
	}
	writeSession(w, found)
	return nil
}

// writers pools the writers of long responses (BenchmarkGetSession in package bench).
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// writeSession answers with a session. It streams the stored events, because the log may be long.
func writeSession(w http.ResponseWriter, s *session.Session) {
	entries := s.Seen()
	head, tail := document.SessionHead(nil, s), document.SessionTail(nil, s)
	size := len(head) + len(tail) + max(0, len(entries)-1)
	for _, e := range entries {
		size += len(e.JSON)
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	h.Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(http.StatusOK)
	out, _ := writers.Get().(*bufio.Writer)
	out.Reset(w)
	_, _ = out.Write(head)
	for i, e := range entries {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(e.JSON)
	}
	_, _ = out.Write(tail)
	_ = out.Flush() // the client may have disconnected
	out.Reset(nil)
	writers.Put(out)
}

// patchSession changes the state.
func (s *Server) patchSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	doc, err := s.body(w, r)
	if err != nil {
		return err
	}
	var delta map[string]json.RawMessage
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			if name == "stateDelta" {
				return in.RawMap(&delta)
			}
			return in.Skip()
		})
	})
	if err != nil {
		return err
	}
	if delta == nil {
		return invalid(wire.Missing("stateDelta"))
	}
	if err := checkSharedState(r, delta); err != nil {
		return err
	}
	patched, err := s.Engine.Patch(r.Context(), key, delta)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, document.Session(nil, patched))
	return nil
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	if err := s.reachable(r.Context(), key); err != nil {
		return err
	}
	if err := s.Engine.Delete(r.Context(), key); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}

// maxPage is the largest page size of a list.
const (
	maxPage     = 1000
	defaultPage = 100
)

// listSessions answers with all sessions of a user or, if the query has a paging parameter, with one page and a link to
// the next.
func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := key.CheckOwner(); err != nil {
		return err
	}
	query := r.URL.Query()
	page, err := pageOf(query)
	if err != nil {
		return err
	}
	if page.Filter, err = filterOf(query); err != nil {
		return err
	}
	list, next, err := s.Store.List(r.Context(), key.App, key.User, page)
	if err == nil && len(list) == 0 {
		err = s.reachable(r.Context(), key)
	}
	if err != nil {
		return err
	}
	linkNext(w, r, query, page, next)
	writeJSON(w, http.StatusOK, document.Array(nil, list, document.Session))
	return nil
}

var pageParams = []string{"pageSize", "page_size", "pageToken", "page_token"}

// pageOf reads which page to list. Without a paging parameter it is the zero page.
func pageOf(query url.Values) (session.Page, error) {
	if !slices.ContainsFunc(pageParams, query.Has) {
		return session.Page{}, nil
	}
	return pageOfSize(query, defaultPage)
}

// pageOfSize reads which page to list, which has a number of items unless the query has another one.
func pageOfSize(query url.Values, size int) (session.Page, error) {
	page := session.Page{Size: size, Token: query.Get("pageToken") + query.Get("page_token")}
	if size := query.Get("pageSize") + query.Get("page_size"); size != "" {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 || n > maxPage {
			return page, &httpError{
				status:  http.StatusUnprocessableEntity,
				message: fmt.Sprintf("pageSize must be a whole number from 1 to %d", maxPage),
			}
		}
		page.Size = n
	}
	return page, nil
}

// linkNext sets the link to the next page.
func linkNext(w http.ResponseWriter, r *http.Request, query url.Values, page session.Page, next string) {
	if next == "" {
		return
	}
	for _, name := range pageParams {
		query.Del(name)
	}
	query.Set("pageSize", strconv.Itoa(page.Size))
	query.Set("pageToken", next)
	w.Header().Set("Link", fmt.Sprintf("<%s?%s>; rel=\"next\"", r.URL.EscapedPath(), query.Encode()))
}

// filterOf reads the filters of a list: ?title=, ?branchesOf=, any number of ?label=name:value, and ?updatedSince= and
// ?updatedBefore= in seconds.
func filterOf(query url.Values) (session.Filter, error) {
	f := session.Filter{Title: query.Get("title"), Root: query.Get("branchesOf") + query.Get("branches_of")}
	if !isText(f.Root) {
		return f, badParameter("query", "branchesOf", "must be the id of a session")
	}
	if !isText(f.Title) {
		return f, badParameter("query", "title", "must be text")
	}
	for _, label := range query["label"] {
		name, value, ok := strings.Cut(label, ":")
		if !ok || name == "" || !isText(label) {
			return f, badParameter("query", "label", "must be name:value")
		}
		if other, ok := f.Labels[name]; ok && other != value {
			return f, badParameter("query", "label", "must not ask for two values of one name")
		}
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		f.Labels[name] = value
	}
	var err error
	if f.Since, err = timeOf(query, "updatedSince", "updated_since"); err != nil {
		return f, err
	}
	f.Before, err = timeOf(query, "updatedBefore", "updated_before")
	return f, err
}

// isText refuses text that databases cannot store.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// timeOf reads a time in seconds, in either spelling of its name. It returns the zero time if it is missing.
func timeOf(query url.Values, name, snake string) (time.Time, error) {
	text := cmp.Or(query.Get(name), query.Get(snake))
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0 && seconds < maxSeconds) { // false for NaN
		return time.Time{}, badParameter("query", name, "must be a time in seconds since 1970")
	}
	return time.UnixMicro(int64(math.Round(seconds * 1e6))), nil
}

// maxSeconds tells seconds from milliseconds, as for events.
const maxSeconds = 1e10

// maxTTL is ten years.
const maxTTL = 10 * 365 * 24 * 3600

// ttlOf reads ?ttl=, the seconds that a session is kept after its last change.
func ttlOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("ttl")
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || seconds > maxTTL {
		return 0, badParameter("query", "ttl", fmt.Sprintf("must be a whole number of seconds from 1 to %d", maxTTL))
	}
	return time.Duration(seconds) * time.Second, nil
}

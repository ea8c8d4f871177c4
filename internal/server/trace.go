package server

import (
	"net/http"
	"strconv"
)

// Traces are spans that were kept for developers.
type Traces interface {
	// Session is the list of the spans of a session, in JSON, with or without what
	// was said in them. visible says which applications and users it may be of.
	Session(id string, content bool, visible func(app, user string) bool) []byte
	// Event is the span that led to an event, in JSON; nil for none.
	Event(id string, visible func(app, user string) bool) []byte
}

// visible is whose traces a request may be answered with: of the application that
// its path names, if it does, and of users for whom the caller may act.
func visible(r *http.Request) func(app, user string) bool {
	caller, named := callerOf(r), r.PathValue("app")
	return func(app, user string) bool { return (named == "" || named == app) && caller.Is(user) }
}

// sessionTrace answers with the spans of a session. There may be none: they are
// kept for a while only, and by the process that worked on the run. Every request
// to a model has the whole conversation in it: ?content=false leaves that out.
func (s *Server) sessionTrace(w http.ResponseWriter, r *http.Request) error {
	content := true
	if text := r.URL.Query().Get("content"); text != "" {
		var err error
		if content, err = strconv.ParseBool(text); err != nil {
			return badParameter("query", "content", "must be true or false")
		}
	}
	doc := []byte("[]")
	if s.Traces != nil {
		doc = s.Traces.Session(r.PathValue("session"), content, visible(r))
	}
	writeJSON(w, http.StatusOK, doc)
	return nil
}

// eventTrace answers with the attributes of the span that led to an event.
func (s *Server) eventTrace(w http.ResponseWriter, r *http.Request) error {
	var doc []byte
	if s.Traces != nil {
		doc = s.Traces.Event(r.PathValue("event"), visible(r))
	}
	if doc == nil {
		return &httpError{status: http.StatusNotFound, message: "Trace not found"}
	}
	writeJSON(w, http.StatusOK, doc)
	return nil
}

// metrics answers with what is counted, in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	s.Metrics.ServeHTTP(w, r)
	return nil
}

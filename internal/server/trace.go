package server

import (
	"net/http"
	"strconv"
)

// Traces stores spans for developers.
type Traces interface {
	// Session returns the spans of a session as a JSON list, with or without the content of messages. visible selects
	// applications and users.
	Session(id string, content bool, visible func(app, user string) bool) []byte
	// Event returns the span that led to an event as JSON; nil if there is none.
	Event(id string, visible func(app, user string) bool) []byte
}

// visible returns a function that selects the traces a request may read: those of the application in its path, if any,
// and of users for whom the caller may act.
func visible(r *http.Request) func(app, user string) bool {
	caller, named := callerOf(r), r.PathValue("app")
	return func(app, user string) bool { return (named == "" || named == app) && caller.Is(user) }
}

// sessionTrace answers with the spans of a session. There may be none: only the process that worked on the run keeps
// them, and only for a while. Every model request contains the whole conversation; ?content=false omits it.
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

// metrics answers in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	if s.Metrics == nil {
		return &httpError{status: http.StatusNotFound, message: `There are no metrics: the program has to import _ "github.com/parley-run/parley/telemetry"`}
	}
	s.Metrics.ServeHTTP(w, r)
	return nil
}

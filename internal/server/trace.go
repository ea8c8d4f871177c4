package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
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

// sessionTrace answers with the spans of a session. Only the process that worked on a run keeps them, and only for a while;
// with ?user=, those of other runs are rebuilt from their recordings, if there are any. Every model request contains the
// whole conversation; ?content=false omits it.
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
	if key, ok := s.recordedSession(r, r.PathValue("session")); ok {
		var err error
		if doc, err = s.withRecorded(r, key, content, doc); err != nil {
			return err
		}
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
	if key, ok := s.recordedSession(r, r.URL.Query().Get("session")); ok && doc == nil {
		var err error
		if doc, err = s.recordedEvent(r, key, r.PathValue("event")); err != nil {
			return err
		}
	}
	if doc == nil {
		return &httpError{status: http.StatusNotFound, message: "Trace not found"}
	}
	writeJSON(w, http.StatusOK, doc)
	return nil
}

// recordedSession returns the session whose recordings a request may read: that of ?user=.
func (s *Server) recordedSession(r *http.Request, id string) (session.Key, bool) {
	key := session.Key{App: r.PathValue("app"), User: r.URL.Query().Get("user"), ID: id}
	ok := s.Replays != nil && key.App != "" && key.User != "" && key.ID != "" && key.Check() == nil && callerOf(r).Is(key.User)
	return key, ok
}

// tracedSpan is what merging needs of a span.
type tracedSpan struct {
	TraceID    string                     `json:"trace_id"`
	SpanID     string                     `json:"span_id"`
	Attributes map[string]json.RawMessage `json:"attributes"`
}

// withRecorded adds spans from recordings to those of runs that this process worked on.
func (s *Server) withRecorded(r *http.Request, key session.Key, content bool, doc []byte) ([]byte, error) {
	var live []json.RawMessage
	if err := json.Unmarshal(doc, &live); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, raw := range live {
		var span tracedSpan
		var run string
		if json.Unmarshal(raw, &span) == nil && json.Unmarshal(span.Attributes["gcp.vertex.agent.invocation_id"], &run) == nil {
			known[run] = true
		}
	}
	list, err := s.recordedSpans(r, key, content, known)
	if err != nil || len(list) == 0 {
		return doc, err
	}
	return json.Marshal(append(list, live...))
}

// recordedSpans returns the spans of the recorded runs of a session, which may be that of a case of an evaluation.
func (s *Server) recordedSpans(r *http.Request, key session.Key, content bool, known map[string]bool) ([]json.RawMessage, error) {
	list, err := s.Replays.Spans(r.Context(), key, content, known)
	if err != nil || len(list) > 0 || !callerOf(r).May(access.Dev) {
		return list, err
	}
	return s.Evals.Spans(key, content, known)
}

// recordedEvent returns the attributes of the recorded span that led to an event; nil if there is none.
func (s *Server) recordedEvent(r *http.Request, key session.Key, event string) ([]byte, error) {
	list, err := s.recordedSpans(r, key, true, nil)
	if err != nil {
		return nil, err
	}
	for _, raw := range slices.Backward(list) {
		var span tracedSpan
		var id string
		if json.Unmarshal(raw, &span) != nil || json.Unmarshal(span.Attributes["gcp.vertex.agent.event_id"], &id) != nil || id != event {
			continue
		}
		span.Attributes["trace_id"] = wire.Quote(nil, span.TraceID)
		span.Attributes["span_id"] = wire.Quote(nil, span.SpanID)
		return json.Marshal(span.Attributes)
	}
	return nil, nil
}

// metrics answers in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	if s.Metrics == nil {
		return &httpError{status: http.StatusNotFound, message: `There are no metrics: the program has to import _ "github.com/parley-run/parley/telemetry"`}
	}
	s.Metrics.ServeHTTP(w, r)
	return nil
}

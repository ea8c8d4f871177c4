package conformance

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

// The shapes of the contract, as a client would write them down.
type (
	object = map[string]any

	Session struct {
		ID             string  `json:"id"`
		AppName        string  `json:"appName"`
		UserID         string  `json:"userId"`
		State          object  `json:"state"`
		Events         []Event `json:"events"`
		LastUpdateTime float64 `json:"lastUpdateTime"`
		ForkedFrom     *Origin `json:"forkedFrom"`
	}
	Origin struct {
		SessionID string `json:"sessionId"`
		AtEventID string `json:"atEventId"`
		RootID    string `json:"rootId"`
	}
	Event struct {
		ID                 string   `json:"id"`
		InvocationID       string   `json:"invocationId"`
		Author             string   `json:"author"`
		Timestamp          float64  `json:"timestamp"`
		Content            *Content `json:"content"`
		Actions            Actions  `json:"actions"`
		LongRunningToolIDs []string `json:"longRunningToolIds"`
		Partial            *bool    `json:"partial"`
		TurnComplete       bool     `json:"turnComplete"`
		ErrorCode          string   `json:"errorCode"`
		ErrorMessage       string   `json:"errorMessage"`
		CustomMetadata     object   `json:"customMetadata"`

		Error        string  `json:"error"` // the last frame of a failed run
		ErrorDetails *Detail `json:"error_details"`
	}
	Content struct {
		Role  string `json:"role"`
		Parts []Part `json:"parts"`
	}
	Part struct {
		Text             string            `json:"text,omitempty"`
		FunctionCall     *FunctionCall     `json:"functionCall,omitempty"`
		FunctionResponse *FunctionResponse `json:"functionResponse,omitempty"`
		InlineData       object            `json:"inlineData,omitempty"`
	}
	FunctionCall struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Args object `json:"args"`
	}
	FunctionResponse struct {
		ID           string `json:"id"`
		Name         string `json:"name"`
		Response     any    `json:"response"`
		WillContinue bool   `json:"willContinue,omitempty"`
	}
	Actions struct {
		StateDelta    object `json:"stateDelta"`
		ArtifactDelta object `json:"artifactDelta"`
	}
	Detail struct {
		Type    string `json:"error_type"`
		Message string `json:"error_message"`
	}
	Failure struct {
		Error  string          `json:"error"`
		Detail json.RawMessage `json:"detail"`
		Events []Event         `json:"events"`
	}
)

// text is what an event says.
func (e *Event) text() string {
	if e.Content == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range e.Content.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// call is the first function call of an event.
func (e *Event) call(t *testing.T) *FunctionCall {
	t.Helper()
	if e.Content == nil || len(e.Content.Parts) == 0 || e.Content.Parts[0].FunctionCall == nil {
		t.Fatalf("no function call in %s", brief([]Event{*e}))
	}
	return e.Content.Parts[0].FunctionCall
}

func (e *Event) partial() bool { return e.Partial != nil && *e.Partial }

// brief tells a turn in short: one string for each event.
func brief(events []Event) []string {
	lines := []string{}
	for _, e := range events {
		line := e.Author + ":"
		if e.partial() {
			line += " ~"
		}
		if e.Content != nil {
			for _, p := range e.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					line += " " + p.FunctionCall.Name + "?"
				case p.FunctionResponse != nil:
					line += " " + p.FunctionResponse.Name + "!"
				default:
					line += " " + p.Text
				}
			}
		}
		if e.ErrorCode != "" {
			line += " " + e.ErrorCode
		}
		if e.Error != "" {
			line = "error: " + e.Error
		}
		lines = append(lines, line)
	}
	return lines
}

func wantBrief(t *testing.T, got []Event, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, brief(got)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
}

// talk is a session and the client that speaks in it.
type talk struct {
	*testkit.Client
	App, User, ID string
}

// unique is a name that no other test, and no earlier run of this one, uses.
func unique(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()) }

func client(t *testing.T) *testkit.Client {
	t.Helper()
	if *peer {
		return testkit.NewPlainClient(t, *baseURL)
	}
	return testkit.NewClient(t, *baseURL)
}

// newTalk is a session of a new user that does not exist yet.
func newTalk(t *testing.T) *talk {
	t.Helper()
	return &talk{client(t), "weather", unique("u"), "s1"}
}

// begin makes a session for a new user of an application.
func begin(t *testing.T, app string) *talk {
	t.Helper()
	s := newTalk(t)
	s.App = app
	s.Do(t, http.MethodPost, s.path(), nil).Want(t, http.StatusOK)
	return s
}

// another makes one more session of the same user.
func (s *talk) another(t *testing.T) *talk {
	t.Helper()
	next := *s
	next.ID = unique("s")
	s.Do(t, http.MethodPost, next.path(), nil).Want(t, http.StatusOK)
	return &next
}

// sessions is the path of all sessions of the user, path that of this one.
func (s *talk) sessions() string {
	return "/apps/" + url.PathEscape(s.App) + "/users/" + url.PathEscape(s.User) + "/sessions"
}
func (s *talk) path() string { return s.sessions() + "/" + url.PathEscape(s.ID) }

// request is a run request with these parts; a string is a text.
func (s *talk) request(parts ...any) object {
	for i, p := range parts {
		if text, ok := p.(string); ok {
			parts[i] = object{"text": text}
		}
	}
	return object{
		"appName": s.App, "userId": s.User, "sessionId": s.ID,
		"newMessage": object{"role": "user", "parts": parts},
	}
}

// with is a request with one more member.
func with(req object, name string, value any) object {
	req[name] = value
	return req
}

// say sends parts to /run and returns the turn.
func (s *talk) say(t *testing.T, parts ...any) []Event {
	t.Helper()
	return s.run(t, s.request(parts...))
}

func (s *talk) run(t *testing.T, req any, options ...func(*http.Request)) []Event {
	t.Helper()
	var events []Event
	s.Do(t, http.MethodPost, "/run", req, options...).Want(t, http.StatusOK).Into(t, &events)
	return events
}

// stream sends a request to /run_sse.
func (s *talk) stream(t *testing.T, req any, options ...func(*http.Request)) *testkit.Stream {
	t.Helper()
	return s.Stream(t, "/run_sse", req, options...)
}

// next is the next event of a stream; rest are all up to its end.
func next(t *testing.T, from *testkit.Stream) Event {
	t.Helper()
	var e Event
	if err := json.Unmarshal(from.Next(t), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func rest(t *testing.T, from *testkit.Stream) []Event {
	t.Helper()
	events := []Event{}
	for _, frame := range from.Rest(t) {
		var e Event
		if err := json.Unmarshal(frame, &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// get reads the session.
func (s *talk) get(t *testing.T) Session {
	t.Helper()
	var session Session
	s.Do(t, http.MethodGet, s.path(), nil).Want(t, http.StatusOK).Into(t, &session)
	return session
}

// release opens a gate for which a run of this or another session waits.
func (s *talk) release(t *testing.T, gate string) {
	t.Helper()
	s.another(t).say(t, "release "+gate)
}

// refusal is an answer that must be an error of that status.
func refusal(t *testing.T, r *testkit.Response, status int) Failure {
	t.Helper()
	var f Failure
	r.Want(t, status).Into(t, &f)
	return f
}

// raw is JSON to send as it is.
func raw(doc string) json.RawMessage { return json.RawMessage(doc) }

// volatile are the members of events that differ between two equal turns.
var volatile = cmp.FilterPath(func(p cmp.Path) bool {
	switch p.Last().String() {
	case ".ID", ".InvocationID", ".Timestamp", ".LongRunningToolIDs":
		return true
	}
	return false
}, cmp.Ignore())

// wantAnswered makes sure that every function call of a history has a response
// and at most one final one, which is what models insist on.
func wantAnswered(t *testing.T, history []Event) {
	t.Helper()
	responses := map[string]int{}
	for _, e := range slices.Backward(history) {
		if e.Content == nil {
			continue
		}
		for _, p := range e.Content.Parts {
			if p.FunctionResponse != nil {
				responses[p.FunctionResponse.ID]++
			}
			if p.FunctionCall != nil && responses[p.FunctionCall.ID] != 1 {
				t.Errorf("the call of %s has %d responses", p.FunctionCall.Name, responses[p.FunctionCall.ID])
			}
		}
	}
}

// later does something in the background. If it fails the test, the channel is
// closed without a value.
func later[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() {
		defer close(c)
		c <- f()
	}()
	return c
}

package agentengine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/sessionservice"
	"github.com/parley-run/parley/session"
)

var theKey = session.Key{App: "weather", User: "ann", ID: "s_1"}

func text(id, words string) *session.Entry {
	e, err := session.NewEntry(&event.Event{ID: id, InvocationID: "e-1", Author: "agent", Timestamp: 1700000000.25, Content: event.Text(event.RoleModel, words)})
	if err != nil {
		panic(err)
	}
	return e
}

func create(t *testing.T, s *backend) {
	t.Helper()
	if _, err := s.Create(t.Context(), session.NewSession{Key: theKey}); err != nil {
		t.Fatal(err)
	}
}

// ids are those of the events in a session.
func ids(t *testing.T, s *backend) []string {
	t.Helper()
	got, err := s.Get(t.Context(), theKey, session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range got.Entries {
		ev, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ev.ID)
	}
	return out
}

// times breaks the first n calls that match.
func times(n int, fault sessionservice.Fault, match string) func(*http.Request) *sessionservice.Fault {
	var seen atomic.Int64
	return func(r *http.Request) *sessionservice.Fault {
		if !strings.Contains(r.Method+" "+r.URL.Path, match) || seen.Add(1) > int64(n) {
			return nil
		}
		return &fault
	}
}

// A call that fails temporarily is retried, and a call that succeeded although its
// response was lost does not take effect twice.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault sessionservice.Fault
	}{
		{"too many requests", sessionservice.Fault{Status: 429}},
		{"unavailable", sessionservice.Fault{Status: 503}},
		{"unavailable, but done", sessionservice.Fault{Status: 503, After: true}},
		{"connection broken", sessionservice.Fault{}},
		{"connection broken, but done", sessionservice.Fault{After: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			service := sessionservice.New(t)
			s := open(t, service, 0)
			service.Break(times(2, tt.fault, "POST "))
			create(t, s)
			service.Break(times(2, tt.fault, ":appendEvent"))
			for i := range 3 {
				if err := s.Patch(t.Context(), theKey, text(fmt.Sprint("e", i), "Hello.")); err != nil {
					t.Fatal(err)
				}
			}
			service.Break(times(2, tt.fault, "GET "))
			for _, one := range []*backend{s, open(t, service, 0)} {
				if got, want := ids(t, one), []string{"e0", "e1", "e2"}; !slices.Equal(got, want) {
					t.Errorf("the log has %v, want %v", got, want)
				}
			}
			service.Break(times(2, tt.fault, "DELETE "))
			if err := s.Delete(t.Context(), theKey); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A service that says how long to wait is believed, within reason.
func TestRetryAfter(t *testing.T) {
	service := sessionservice.New(t)
	synctest.Test(t, func(t *testing.T) {
		for asked, want := range map[int]time.Duration{7: 7 * time.Second, 3600: maxWait} {
			s := open(t, service, 0)
			s.client.http.Transport = service
			service.Break(times(1, sessionservice.Fault{Status: 429, RetryAfter: asked}, "GET "))
			before := time.Now()
			if err := s.client.check(t.Context()); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(before); waited != want {
				t.Errorf("asked to wait for %d seconds, the client waits for %v, want %v", asked, waited, want)
			}
		}
	})
}

// What the service refuses for good is not asked for again.
func TestRefusals(t *testing.T) {
	service := sessionservice.New(t)
	s := open(t, service, 0)
	create(t, s)
	before := len(service.Calls())
	service.Break(times(100, sessionservice.Fault{Status: 403}, ":appendEvent"))
	if err := s.Patch(t.Context(), theKey, text("e0", "Hello.")); !is(err, http.StatusForbidden) {
		t.Errorf("error %v, want 403", err)
	}
	if n := strings.Count(strings.Join(service.Calls()[before:], "\n"), ":appendEvent"); n != 1 {
		t.Errorf("the event was sent %d times, want once", n)
	}
	if got := ids(t, s); len(got) != 0 {
		t.Errorf("the log has %v although nothing was stored", got)
	}
}

// An event counts when the service has it. A run whose end the service does not
// take ends all the same, and the next one finds a history that models accept.
func TestServiceGoneInARun(t *testing.T) {
	service := sessionservice.New(t)
	s := open(t, service, 0)
	create(t, s)
	begun, err := s.Begin(t.Context(), session.NewRun{ID: "e-1", Key: theKey, Message: text("question", "Hi.")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), theKey, begun.Run.Epoch, nil, called("call", "c1")); err != nil {
		t.Fatal(err)
	}
	service.Break(times(100, sessionservice.Fault{Status: 503}, "sessions"))
	if err := s.Append(t.Context(), theKey, begun.Run.Epoch, nil, text("lost", "Hello.")); err == nil {
		t.Error("an event counts that the service does not have")
	}
	_, err = s.End(t.Context(), theKey, begun.Run.Epoch, session.End{Status: session.Completed, Entries: []*session.Entry{text("end", "Bye.")}})
	if err == nil {
		t.Error("the end of the run could be stored")
	}
	row, err := s.Run(t.Context(), theKey, "e-1")
	if err != nil || row.Status != session.Failed || row.Failure == nil {
		t.Errorf("the run is %+v (%v), want one that failed", row, err)
	}
	if _, err := s.Begin(t.Context(), session.NewRun{ID: "e-2", Key: theKey, Message: text("again", "Hi?")}); err == nil {
		t.Error("a run begins whose message the service does not have")
	}

	service.Break(nil)
	if begun, err = s.Begin(t.Context(), session.NewRun{ID: "e-3", Key: theKey, Message: text("third", "Hi!")}); err != nil || begun.Session == nil {
		t.Fatalf("the session is not free: %+v, %v", begun, err)
	}
	wantAnswered(t, s, "c1")
}

// called is an event that calls a tool.
func called(id, call string, long ...string) *session.Entry {
	e, err := session.NewEntry(&event.Event{
		ID: id, InvocationID: "e-1", Author: "agent", Timestamp: 1700000000.5, LongRunningToolIDs: long,
		Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{ID: call, Name: "look", Args: []byte(`{"n":12345678901234567890}`)}}}},
	})
	if err != nil {
		panic(err)
	}
	return e
}

// wantAnswered wants the call to have an answer before the last entry of the log.
func wantAnswered(t *testing.T, s *backend, call string) {
	t.Helper()
	got, err := s.Get(t.Context(), theKey, session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	answers := 0
	for _, e := range got.Entries[:len(got.Entries)-1] {
		ev, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range ev.FunctionResponses() {
			if r.ID == call && strings.Contains(string(r.Response), "interrupted") {
				answers++
			}
		}
	}
	if answers != 1 {
		t.Errorf("the call %s has %d answers, want 1", call, answers)
	}
}

// A process that ends in the middle of a run leaves a call without an answer. The
// run is gone; the session is not.
func TestProcessGoneInARun(t *testing.T) {
	service := sessionservice.New(t)
	a, b := open(t, service, 0), open(t, service, 0)
	create(t, a)
	begun, err := a.Begin(t.Context(), session.NewRun{ID: "e-1", Key: theKey, Message: text("question", "Hi.")})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*session.Entry{called("call", "c1"), called("wait", "c2", "c2")} {
		if err := a.Append(t.Context(), theKey, begun.Run.Epoch, nil, e); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := ids(t, b), []string{"question", "call", "wait"}; !slices.Equal(got, want) {
		t.Errorf("reading has changed the log to %v, want %v", got, want)
	}
	if _, err := b.Begin(t.Context(), session.NewRun{ID: "e-2", Key: theKey, Message: text("again", "Hi?")}); err != nil {
		t.Fatal(err)
	}
	wantAnswered(t, b, "c1")
	if got := ids(t, b); len(got) != 5 {
		t.Errorf("the log has %v: a call that is answered from outside was closed as well", got)
	}
}

// Sessions that other programs have made can be read and gone on with.
func TestForeignSessions(t *testing.T) {
	service := sessionservice.New(t)
	s := open(t, service, 0)
	made, err := s.client.create(t.Context(), "theirs", &remote{UserID: "ann", SessionState: session.State{"a": []byte("1"), "b": []byte("2")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []*remoteEvent{
		{Author: "user", InvocationID: "e-9", Timestamp: "2026-01-01T10:00:00Z", Content: []byte(`{"role":"user","parts":[{"text":"Hi."}]}`)},
		{
			Author: "agent", InvocationID: "e-9", Timestamp: "2026-01-01T10:00:01.5Z", ErrorCode: "SAFETY", ErrorMessage: "No.",
			Actions: &remoteActions{StateDelta: session.State{"b": []byte("3")}}, EventMetadata: &remoteMetadata{TurnComplete: true},
		},
	} {
		if err := s.client.append(t.Context(), made.id(), ev); err != nil {
			t.Fatal(err)
		}
	}
	key := session.Key{App: "weather", User: "ann", ID: "theirs"}
	listed, _, err := s.List(t.Context(), "weather", "ann", session.Page{})
	if err != nil || len(listed) != 1 || listed[0].Key != key || string(listed[0].State["b"]) != "3" {
		t.Fatalf("listed are %+v, %v", listed, err)
	}
	if _, err := s.Get(t.Context(), session.Key{App: "weather", User: "bob", ID: "theirs"}, session.Read{}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("another user's session: error %v, want ErrNotFound", err)
	}
	got, err := s.Get(t.Context(), key, session.Read{Initial: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Entries) != 2 || string(got.State["a"]) != "1" || string(got.State["b"]) != "3" || len(got.Initial) != 1 {
		t.Errorf("it has %d events, the state %s, and began with %s", len(got.Entries), got.State, got.Initial)
	}
	ev, err := got.Entries[1].Decode()
	if err != nil || ev.ErrorCode != "SAFETY" || ev.Timestamp != 1767261601.5 || !ev.TurnComplete || ev.Author != "agent" {
		t.Errorf("the second event is %+v, %v", ev, err)
	}
	if err := s.Patch(t.Context(), key, text("ours", "Hello.")); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if dump := service.Dump(); strings.Contains(dump, "theirs") {
		t.Errorf("it is still there: %s", dump)
	}
}

// Other programs see texts, calls and results in the service's own words.
func TestOthersCanRead(t *testing.T) {
	service := sessionservice.New(t)
	s := open(t, service, 0)
	create(t, s)
	for _, e := range []*session.Entry{text("e0", "It is sunny."), called("e1", "c1")} {
		if err := s.Patch(t.Context(), theKey, e); err != nil {
			t.Fatal(err)
		}
	}
	dump := service.Dump()
	for _, want := range []string{
		`"userId":"ann"`, `"displayName":"s_1"`, `"parts":[{"text":"It is sunny."}]`, `"functionCall":{"id":"c1","name":"look","args":{"n":12345678901234567000}}`,
	} {
		if !strings.Contains(dump, want) {
			t.Errorf("%s is not in %s", want, dump)
		}
	}
}

// Logs of sessions that are not in use do not stay in memory, and are read again
// on the next use.
func TestEviction(t *testing.T) {
	service := sessionservice.New(t)
	s := open(t, service, 0)
	s.loaded.Max = 3 * (sessionOverhead + text("e", "Hello.").Size())
	var keys []session.Key
	for i := range 5 {
		key := session.Key{App: "app", User: "ann", ID: fmt.Sprint("s", i)}
		keys = append(keys, key)
		if _, err := s.Create(t.Context(), session.NewSession{Key: key, Log: []*session.Entry{text("e", "Hello.")}}); err != nil {
			t.Fatal(err)
		}
	}
	if there, _ := s.Holds(keys[0]); there {
		t.Error("the session that was used first is still in memory")
	}
	begun, err := s.Begin(t.Context(), session.NewRun{ID: "e-1", Key: keys[0], Message: text("question", "Hi.")})
	if err != nil || begun.Session.Seq != 1 {
		t.Fatalf("%+v, %v", begun, err)
	}
	for _, key := range keys[1:] {
		if got, err := s.Get(t.Context(), key, session.Read{}); err != nil || got.Seq != 1 {
			t.Errorf("%v: %+v, %v", key, got, err)
		}
	}
	if there, busy := s.Holds(keys[0]); !there || !busy {
		t.Error("a session was dropped while it had a running run")
	}
	if len(s.mirrors) > 4 || s.loaded.Len() > 4 {
		t.Errorf("%d sessions are in the books, %d in order", len(s.mirrors), s.loaded.Len())
	}
}

// A run whose session another process deletes has lost it.
func TestDeletedElsewhere(t *testing.T) {
	service := sessionservice.New(t)
	a, b := open(t, service, 0), open(t, service, 0)
	create(t, a)
	begun, err := a.Begin(t.Context(), session.NewRun{ID: "e-1", Key: theKey, Message: text("question", "Hi.")})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), theKey); err != nil {
		t.Fatal(err)
	}
	if err := a.Append(t.Context(), theKey, begun.Run.Epoch, nil, text("answer", "Hello.")); !errors.Is(err, session.ErrFenced) {
		t.Errorf("error %v, want ErrFenced", err)
	}
	if _, err := a.Get(t.Context(), theKey, session.Read{}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	create(t, b)
	if got := ids(t, a); len(got) != 0 {
		t.Errorf("the session that was made again has %v", got)
	}
}

func TestOpen(t *testing.T) {
	service := sessionservice.New(t)
	var log bytes.Buffer
	try := func(url string) error {
		s, err := Open(context.Background(), Options{
			URL: url, Log: slog.New(slog.NewTextHandler(&log, nil)), pace: &hasty,
			Getenv: func(name string) string {
				return map[string]string{"GOOGLE_CLOUD_PROJECT": "test-project", "GOOGLE_CLOUD_LOCATION": "us-central1"}[name]
			},
		})
		if err == nil {
			if s.RunLister != nil || s.Searcher != nil || s.Feedback != nil {
				t.Error("it lists what is in memory as if that was all")
			}
			err = s.Close()
		}
		return err
	}
	endpoint := "?endpoint=" + service.URL
	for _, url := range []string{"agentengine://" + sessionservice.Engine + endpoint, "agentengine://4711" + endpoint, "agentengine:4711" + endpoint} {
		if err := try(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if !strings.Contains(log.String(), "runs in progress, logins, memory and usage end with this process") {
		t.Errorf("the log does not say what is not promised: %s", log.String())
	}
	for url, want := range map[string]string{
		"agentengine://12" + endpoint: "there is no engine projects/test-project/locations/us-central1/reasoningEngines/12",
		"agentengine://" + endpoint:   "must be the number of an engine",
		"agentengine://projects/p/locations/evil.example/x/reasoningEngines/1": "must be the number of an engine",
		"agentengine://projects/p/locations/a.b/reasoningEngines/1":            "must be the number of an engine",
	} {
		if err := try(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", url, err, want)
		}
	}
	service.Break(times(1, sessionservice.Fault{Status: 403}, "GET "))
	if err := try("agentengine://4711" + endpoint); err == nil || !strings.Contains(err.Error(), "roles/aiplatform.user") {
		t.Errorf("error %v, want one that names the role", err)
	}
	if _, _, _, err := target("agentengine://4711", func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "GOOGLE_CLOUD_PROJECT") {
		t.Errorf("error %v, want one that names the variables", err)
	}
	_, base, emulated, err := target("agentengine://projects/p/locations/europe-west4/reasoningEngines/1", func(string) string { return "" })
	if err != nil || emulated || base != "https://europe-west4-aiplatform.googleapis.com" {
		t.Errorf("the service is at %s (%t), %v", base, emulated, err)
	}
}

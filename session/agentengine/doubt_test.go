package agentengine

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/sessionservice"
	"github.com/parley-run/parley/session"
)

// from breaks the calls that match, from the nth on.
func from(n int, fault sessionservice.Fault, match string) func(*http.Request) *sessionservice.Fault {
	var seen atomic.Int64
	return func(r *http.Request) *sessionservice.Fault {
		if !strings.Contains(r.Method+" "+r.URL.Path, match) || seen.Add(1) < int64(n) {
			return nil
		}
		return &fault
	}
}

func begin(t *testing.T, s *backend, message *session.Entry) int64 {
	t.Helper()
	begun, err := s.Begin(t.Context(), session.NewRun{ID: "e-1", Key: theKey, Message: message})
	if err != nil || begun.Session == nil {
		t.Fatalf("%+v, %v", begun, err)
	}
	return begun.Run.Epoch
}

// response is an event that answers a call.
func response(id, call string) *session.Entry {
	e, err := session.NewEntry(&event.Event{
		ID: id, InvocationID: "e-1", Author: "agent", Timestamp: 1700000000.75,
		Content: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: call, Name: "look", Response: []byte(`{}`)}}}},
	})
	if err != nil {
		panic(err)
	}
	return e
}

// Of entries that are sent together, the first ones count although the service
// does not take the others: it has them, and so has the next process.
func TestSomeOfManyAreStored(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		write func(s *backend, epoch int64, entries ...*session.Entry) error
	}{
		{"append", func(s *backend, epoch int64, entries ...*session.Entry) error {
			return s.Append(t.Context(), theKey, epoch, nil, entries...)
		}},
		{"end", func(s *backend, epoch int64, entries ...*session.Entry) error {
			_, err := s.End(t.Context(), theKey, epoch, session.End{Status: session.Completed, Entries: entries})
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			service := sessionservice.New(t)
			s := open(t, service, 0)
			create(t, s)
			epoch := begin(t, s, text("question", "Hi."))
			service.Break(from(2, sessionservice.Fault{Status: 503}, ":appendEvent"))
			if err := tt.write(s, epoch, text("first", "Hello."), text("second", "Bye.")); err == nil {
				t.Fatal("all was stored")
			}
			service.Break(nil)
			for name, one := range map[string]*backend{"the one that wrote": s, "another process": open(t, service, 0)} {
				if got, want := ids(t, one), []string{"question", "first"}; !slices.Equal(got, want) {
					t.Errorf("%s: the log has %v, want %v", name, got, want)
				}
			}
		})
	}
}

// An event whose answer was lost is found while the run is still running, so
// that what it writes then is behind it.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	service := sessionservice.New(t)
	s := open(t, service, 0)
	create(t, s)
	epoch := begin(t, s, nil)
	lose := func(e *session.Entry) {
		t.Helper()
		service.Break(from(1, sessionservice.Fault{After: true}, ":appendEvent"))
		if err := s.Append(t.Context(), theKey, epoch, nil, e); err == nil {
			t.Fatal("the answer was not lost")
		}
		service.Break(nil)
	}
	lose(text("question", "Hi."))
	if row, err := s.Run(t.Context(), theKey, "e-1"); err != nil || row.First != 1 {
		t.Errorf("the run is %+v, %v; want one that begins with its message", row, err)
	}
	lose(called("call", "c1"))
	if got, want := ids(t, s), []string{"question", "call"}; !slices.Equal(got, want) {
		t.Errorf("the log has %v, want %v", got, want)
	}
	lose(response("response", "c1"))
	if err := s.Append(t.Context(), theKey, epoch, nil, text("answer", "Hello.")); err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]*backend{"the one that wrote": s, "another process": open(t, service, 0)} {
		if got, want := ids(t, one), []string{"question", "call", "response", "answer"}; !slices.Equal(got, want) {
			t.Errorf("%s: the log has %v, want %v", name, got, want)
		}
	}
}

// A caller that ends a run without knowing that a call has its answer does not
// answer it again.
func TestEndWithoutHavingSeen(t *testing.T) {
	t.Parallel()
	service := sessionservice.New(t)
	s := open(t, service, 0)
	create(t, s)
	epoch := begin(t, s, text("question", "Hi."))
	if err := s.Append(t.Context(), theKey, epoch, nil, called("call", "c1")); err != nil {
		t.Fatal(err)
	}
	service.Break(from(1, sessionservice.Fault{After: true}, ":appendEvent"))
	if err := s.Append(t.Context(), theKey, epoch, nil, response("response", "c1")); err == nil {
		t.Fatal("the answer was not lost")
	}
	service.Break(nil)
	end := session.End{Status: session.Completed, Entries: []*session.Entry{response("interrupted", "c1")}}
	if _, err := s.End(t.Context(), theKey, epoch, end); err == nil {
		t.Error("End does not fail")
	}
	if row, err := s.Run(t.Context(), theKey, "e-1"); err != nil || row.Status != session.Failed {
		t.Errorf("the run is %+v, %v; want one that failed", row, err)
	}
	if got, want := ids(t, s), []string{"question", "call", "response"}; !slices.Equal(got, want) {
		t.Errorf("the log has %v, want %v", got, want)
	}
	if begun, err := s.Begin(t.Context(), session.NewRun{ID: "e-2", Key: theKey, Message: text("again", "Hi?")}); err != nil || begun.Session == nil {
		t.Errorf("the session is not free: %+v, %v", begun, err)
	}
}

// A run whose session has been made again by another process does not write to
// the new one.
func TestMadeAgainInDoubt(t *testing.T) {
	t.Parallel()
	service := sessionservice.New(t)
	s, other := open(t, service, 0), open(t, service, 0)
	create(t, s)
	epoch := begin(t, s, nil)
	service.Break(from(1, sessionservice.Fault{Status: 503}, ":appendEvent"))
	if err := s.Append(t.Context(), theKey, epoch, nil, text("question", "Hi.")); err == nil {
		t.Fatal("it was stored")
	}
	service.Break(nil)
	if err := other.Delete(t.Context(), theKey); err != nil {
		t.Fatal(err)
	}
	create(t, other)
	if err := s.Append(t.Context(), theKey, epoch, nil, text("answer", "Hello.")); err == nil {
		t.Error("the run continues in a session that is not its own")
	}
	if got := ids(t, other); len(got) != 0 {
		t.Errorf("the new session has %v", got)
	}
}

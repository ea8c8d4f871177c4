package agentengine

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/sessionservice"
	"github.com/parley-run/parley/session"
)

// sets is an event that changes the state.
func sets(id, key, value string) *session.Entry {
	e, err := session.NewEntry(&event.Event{
		ID: id, InvocationID: "e-1", Author: "agent", Timestamp: 1700000000.25,
		Actions: event.Actions{StateDelta: session.State{key: []byte(value)}},
	})
	if err != nil {
		panic(err)
	}
	return e
}

// What others have set for an application arrives although this process writes
// to its sessions all the time, unless that is what it writes.
func TestSharedWhileBusy(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{"own": "1", "user:a": "1", "app:b": ""} {
		t.Run(written, func(t *testing.T) {
			t.Parallel()
			service := sessionservice.New(t)
			s, other := open(t, service, 0), open(t, service, 0)
			create(t, s)
			theirs := session.Key{App: theKey.App, User: "bob", ID: "s"}
			if _, err := other.Create(t.Context(), session.NewSession{Key: theirs, State: session.State{"app:a": []byte("1")}}); err != nil {
				t.Fatal(err)
			}
			keep, err := s.fetchShared(t.Context(), session.Key{App: theKey.App, User: "bob"})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.apply(theKey, []*session.Entry{sets("e", written, "2")}, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			keep()
			if got := s.Shared(theKey.App, theKey.User); string(got["app:a"]) != want {
				t.Errorf("the application has %s, want app:a to be %q", got, want)
			}
		})
	}
}

// A new session has the state that it was given, also the part that it shares,
// while others write.
func TestNewSessionHasSharedState(t *testing.T) {
	t.Parallel()
	service := sessionservice.New(t)
	s := open(t, service, 0)
	create(t, s)
	meanwhile := sets("e", "app:b", "2")
	service.Break(func(r *http.Request) *sessionservice.Fault {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, appName(theKey)) {
			_ = s.apply(theKey, []*session.Entry{meanwhile}, func() error { return s.Backend.Patch(t.Context(), theKey, meanwhile) })
		}
		return nil
	})
	key := session.Key{App: theKey.App, User: theKey.User, ID: "new"}
	made, err := s.Create(t.Context(), session.NewSession{Key: key, State: session.State{"app:a": []byte("1"), "user:a": []byte("1"), "a": []byte("1")}})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]string{"app:a": "1", "user:a": "1", "a": "1", "app:b": "2"} {
		if got := string(made.State[k]); got != want {
			t.Errorf("%s is %q, want %q", k, got, want)
		}
	}
}

// Asking for a user leaves nothing behind.
func TestUnknownUserIsNotRemembered(t *testing.T) {
	t.Parallel()
	service := sessionservice.New(t)
	s := open(t, service, 0)
	create(t, s)
	for i := range 5 {
		user := fmt.Sprint("unknown", i)
		if found, _, err := s.List(t.Context(), theKey.App, user, session.Page{}); err != nil || len(found) != 0 {
			t.Fatalf("%v, %v", found, err)
		}
		if _, err := s.Get(t.Context(), session.Key{App: theKey.App, User: user, ID: "s"}, session.Read{}); err == nil {
			t.Fatal("it is there")
		}
		s.Share(theKey.App, user, nil, session.State{"user:a": []byte("1")})
		if got := s.Shared(theKey.App, user); len(got) != 0 {
			t.Errorf("the memory has %s of a user who has no sessions", got)
		}
	}
	if err := s.Patch(t.Context(), theKey, sets("e", "user:a", "1")); err != nil {
		t.Fatal(err)
	}
	if len(s.sharedStates) != 0 || len(s.mirrors) != 1 {
		t.Errorf("there are %d sharedStates and %d mirrors, want 0 and 1", len(s.sharedStates), len(s.mirrors))
	}
}

// A user is dropped with the last session, unless there is something that only
// this process has. The shared state is there again with the next session.
func TestUserWithoutSessions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		keep func(s *backend) error
		gone bool
	}{
		{"nothing", func(*backend) error { return nil }, true},
		{"a memory", func(s *backend) error {
			return s.Remember(t.Context(), theKey, []*session.Remembered{{Event: "e", Words: []string{"w"}, Content: []byte("{}")}})
		}, false},
		{"a secret", func(s *backend) error {
			_, err := s.PutSecret(t.Context(), &session.Secret{SecretID: session.SecretID{App: theKey.App, User: theKey.User, Name: "n"}})
			return err
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sessionservice.New(t), 0)
			create(t, s)
			if err := s.Patch(t.Context(), theKey, sets("e", "user:a", "1")); err != nil {
				t.Fatal(err)
			}
			if err := tt.keep(s); err != nil {
				t.Fatal(err)
			}
			s.loaded.Max = -1 // so that it is dropped after it is used
			if _, err := s.Get(t.Context(), theKey, session.Read{}); err != nil {
				t.Fatal(err)
			}
			if there, _ := s.Holds(theKey); there {
				t.Fatal("the session is still in memory")
			}
			if got := s.Shared(theKey.App, theKey.User); tt.gone != (len(got) == 0) {
				t.Errorf("the memory has %s of the user", got)
			}
			s.loaded.Max = maxBytes
			if got, err := s.Get(t.Context(), theKey, session.Read{}); err != nil || string(got.State["user:a"]) != "1" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A list takes calls for what has changed, and none for sessions that have not.
func TestListCalls(t *testing.T) {
	t.Parallel()
	service := sessionservice.New(t)
	s, other := open(t, service, 0), open(t, service, 0)
	const count = 5
	keyOf := func(i int) session.Key {
		return session.Key{App: theKey.App, User: theKey.User, ID: fmt.Sprint("s", i)}
	}
	for i := range count {
		if _, err := s.Create(t.Context(), session.NewSession{Key: keyOf(i)}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(want ...int64) int {
		t.Helper()
		before := len(service.Calls())
		found, _, err := s.List(t.Context(), theKey.App, theKey.User, session.Page{})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, one := range found {
			got = append(got, one.Seq)
		}
		if slices.Reverse(got); !slices.Equal(got, want) {
			t.Errorf("the sessions have %v events, want %v", got, want)
		}
		return len(service.Calls()) - before
	}
	const always = 3 // the list, and what is shared
	if n := list(0, 0, 0, 0, 0); n != always {
		t.Errorf("%d calls for sessions that were just made, want %d", n, always)
	}
	for i, one := range []*backend{s, other} {
		if err := one.Patch(t.Context(), keyOf(i), text("e", "Hello.")); err != nil {
			t.Fatal(err)
		}
	}
	if n := list(1, 1, 0, 0, 0); n != always+2 {
		t.Errorf("%d calls when two have changed, want %d", n, always+2)
	}
	if n := list(1, 1, 0, 0, 0); n != always {
		t.Errorf("%d calls when nothing has changed, want %d", n, always)
	}
	if err := other.Delete(t.Context(), keyOf(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Create(t.Context(), session.NewSession{Key: keyOf(1), Log: []*session.Entry{text("a", "Hi."), text("b", "Hi?")}}); err != nil {
		t.Fatal(err)
	}
	list(1, 0, 0, 0, 2) // one was made again, and is the latest now
}

package postgres_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
)

// private starts a server that one test has for itself.
func private(t *testing.T, o pgtest.Options) *pgtest.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a Postgres server")
	}
	s, err := pgtest.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// standby starts a server that follows another one, which confirms only what both
// have stored.
func standby(t *testing.T, primary *pgtest.Server) *pgtest.Server {
	t.Helper()
	s, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := primary.Synchronize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// A standby is promoted while servers work, twice, and each time the old primary
// comes back as a standby. No call fails, and nothing that was confirmed is lost.
func TestPromotion(t *testing.T) {
	t.Parallel()
	one := private(t, pgtest.Options{NoSync: true})
	database, err := one.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two := standby(t, one)
	s := open(t, pgtest.Hosts(database, one.Addr(), two.Addr()), session.Options{Lease: time.Minute})
	s.SetPatience(5 * time.Minute) // the machine may be busy
	underway(t, s, func() {
		for primary, standby := one, two; ; primary, standby = standby, primary {
			time.Sleep(300 * time.Millisecond)
			primary.Kill()
			eventually(t, func() error {
				if s.Ready(t.Context()) == nil {
					return errors.New("it is ready without a primary")
				}
				return nil
			})
			if err := standby.Promote(t.Context()); err != nil {
				t.Error(err)
				return
			}
			eventually(t, func() error { return s.Ready(t.Context()) })
			if standby == one {
				return
			}
			if err := primary.Follow(t.Context(), standby); err != nil {
				t.Error(err)
				return
			}
			if err := standby.Synchronize(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
	})
}

// While the standby is unavailable, the primary commits what it does not confirm. It becomes
// visible when the caller gives up waiting, and is lost if the standby is promoted: no
// attempt may take it for confirmed.
func TestUnconfirmedCommits(t *testing.T) {
	t.Parallel()
	one := private(t, pgtest.Options{NoSync: true})
	s := open(t, one.URL(), session.Options{Lease: time.Minute})
	var epochs []int64
	for _, id := range []string{"append", "end", "patch", "begin"} {
		if _, err := s.Create(t.Context(), session.NewSession{Key: key(id)}); err != nil {
			t.Fatal(err)
		}
		if id == "append" || id == "end" {
			begun, err := s.Begin(t.Context(), session.NewRun{ID: "r", Key: key(id), Request: request})
			if err != nil {
				t.Fatal(err)
			}
			epochs = append(epochs, begun.Run.Epoch)
		}
	}
	two := standby(t, one)
	two.Stop(pgtest.Fast)
	s.SetPatience(time.Second)
	calls := map[string]func() error{
		"Append": func() error { return s.Append(t.Context(), key("append"), epochs[0], nil, say("lost")) },
		"End": func() error {
			_, err := s.End(t.Context(), key("end"), epochs[1], session.End{Status: session.Completed, Entries: []*session.Entry{say("lost")}})
			return err
		},
		"Patch": func() error { return s.Patch(t.Context(), key("patch"), say("lost")) },
		"Begin": func() error {
			_, err := s.Begin(t.Context(), session.NewRun{ID: "r", Key: key("begin"), Request: request, Message: say("lost")})
			return err
		},
		"Create": func() error {
			_, err := s.Create(t.Context(), session.NewSession{Key: key("create")})
			return err
		},
		"PutSecret": func() error {
			_, err := s.PutSecret(t.Context(), &session.Secret{SecretID: session.SecretID{App: "app", User: "user", Name: "lost"}, Sealed: []byte("x")})
			return err
		},
		"PutSchedule": func() error {
			return s.PutSchedule(t.Context(), &session.Schedule{App: "app", User: "user", ID: "lost", JSON: []byte("{}")})
		},
		"PutAPIKey": func() error {
			return s.PutAPIKey(t.Context(), &session.APIKey{ID: "lost", Hash: []byte("x"), Created: time.Now()})
		},
	}
	var wg sync.WaitGroup
	for name, call := range calls {
		wg.Go(func() {
			// The first attempt is given up, and the second one finds what it did.
			err := call()
			if e, ok := errors.AsType[*session.UnavailableError](err); !ok || !e.Doubt {
				t.Errorf("%s: error %v, want an *UnavailableError with a doubt", name, err)
			}
		})
	}
	wg.Wait()
	one.Kill()
	if err := two.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := two.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	promoted := open(t, two.URL(), session.Options{})
	for _, id := range []string{"append", "end", "patch", "begin"} {
		if got, err := promoted.Get(t.Context(), key(id), session.Read{}); err != nil || got.Seq != 0 {
			t.Errorf("the standby has %+v, error %v; the test is for what it does not have", got, err)
		}
	}
}

// A standby is promoted that lacks changes that were confirmed. What a server has in
// memory of them must not be shown, nor be continued.
func TestLostChanges(t *testing.T) {
	t.Parallel()
	one := private(t, pgtest.Options{NoSync: true})
	database, err := one.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two, err := one.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := two.Close(); err != nil {
			t.Error(err)
		}
	})
	backend := open(t, pgtest.Hosts(database, one.Addr(), two.Addr()), session.Options{Lease: time.Minute})
	backend.SetPatience(5 * time.Minute) // the machine may be busy
	s := session.Cached(session.NewStore(backend), 1<<20)
	patch := func(store session.Store, id, text string) {
		t.Helper()
		if err := store.Patch(t.Context(), key(id), say(text)); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(store session.Store, id string) (all []string) {
		t.Helper()
		got, err := store.Get(t.Context(), key(id), session.Read{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Entries {
			ev, err := e.Decode()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, ev.ID)
		}
		return all
	}
	epochs := map[string]int64{}
	begin := func(id, run string) (*session.Begun, error) {
		return s.Begin(t.Context(), session.NewRun{ID: run, Key: key(id), Request: request, Message: say("begin " + run)})
	}
	for _, id := range []string{"log", "kept", "lost", "ended", "begun", "again"} {
		if _, err := s.Create(t.Context(), session.NewSession{Key: key(id)}); err != nil {
			t.Fatal(err)
		}
		patch(s, id, "first")
		if id != "log" && id != "begun" && id != "again" {
			begun, err := begin(id, "r")
			if err != nil {
				t.Fatal(err)
			}
			epochs[id] = begun.Run.Epoch
			if err := s.Append(t.Context(), key(id), epochs[id], nil, say("answer")); err != nil {
				t.Fatal(err)
			}
		}
		ids(s, id) // for the cache
	}
	if err := one.Replicate(t.Context()); err != nil {
		t.Fatal(err)
	}
	two.Stop(pgtest.Fast)
	for _, id := range []string{"log", "again"} {
		patch(s, id, "lost 1")
		patch(s, id, "lost 2")
	}
	for _, id := range []string{"lost", "ended"} {
		if err := s.Append(t.Context(), key(id), epochs[id], nil, say("lost")); err != nil {
			t.Fatal(err)
		}
	}
	begun, err := begin("begun", "lost")
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(s, "log"); len(got) != 3 {
		t.Fatalf("the log is %q", got)
	}
	one.Kill()
	if err := two.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := two.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := session.NewStore(open(t, pgtest.Hosts(database, two.Addr()), session.Options{Lease: time.Minute}))
	patch(other, "log", "other 1") // until its end has the number that the lost one had
	patch(other, "log", "other 2")

	want := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	want("a log", ids(s, "log"), []string{"first", "other 1", "other 2"})
	again, err := begin("again", "r")
	if err != nil || len(again.Session.Entries) != 1 || again.Session.Seq != 1 {
		t.Errorf("a run began after %+v, error %v", again, err)
	}
	want("its log", ids(s, "again"), []string{"first", "begin r"})
	if err := s.Append(t.Context(), key("kept"), epochs["kept"], nil, say("more")); err != nil {
		t.Errorf("a run that lost nothing: %v", err)
	}
	if _, err := s.End(t.Context(), key("kept"), epochs["kept"], session.End{Status: session.Completed}); err != nil {
		t.Errorf("a run that lost nothing: %v", err)
	}
	want("the log of a run that lost nothing", ids(s, "kept"), []string{"first", "begin r", "answer", "more"})
	lost := map[string]error{"begun": s.Append(t.Context(), key("begun"), begun.Run.Epoch, nil, say("more"))}
	lost["lost"] = s.Append(t.Context(), key("lost"), epochs["lost"], nil, say("more"))
	_, lost["ended"] = s.End(t.Context(), key("ended"), epochs["ended"], session.End{Status: session.Completed, Entries: []*session.Entry{say("more")}})
	for id, err := range lost {
		if !errors.Is(err, session.ErrFenced) {
			t.Errorf("%s: a run whose events were lost went on: %v", id, err)
		}
	}
	for _, id := range []string{"lost", "ended"} {
		claimed, err := other.Claim(t.Context(), key(id), session.Read{})
		if err != nil || claimed.Run.ID != "r" {
			t.Errorf("%s: claimed %+v, error %v", id, claimed, err)
		}
		want("the log of a run that lost its end", ids(s, id), []string{"first", "begin r", "answer"})
	}
	want("the log of a run that was lost", ids(s, "begun"), []string{"first"})
}

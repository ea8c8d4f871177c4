package postgres_test

import (
	"errors"
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

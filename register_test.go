package parley_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// ownStore is a store that an author brings along.
type ownStore struct {
	session.Backend
	closed bool
}

func (s *ownStore) Close() error {
	s.closed = true
	return s.Backend.Close()
}

// ownOpened are the stores that the driver below has opened, for the test that
// gave their URLs.
var ownOpened sync.Map // of *ownStore by URL

func init() {
	session.Register("own", session.Driver{
		Open: func(_ context.Context, url string, o session.Options) (session.Store, error) {
			if o.Owner == "" || o.Log == nil {
				return session.Store{}, fmt.Errorf("opened %s with %+v", url, o)
			}
			own := &ownStore{Backend: memstore.NewBackend(0)}
			ownOpened.Store(url, own)
			return session.NewStore(own), nil
		},
	})
	model.Register(model.Provider{
		Prefixes: []string{"own"}, Names: "own/…",
		New: func(name string, o model.Options) (model.Model, error) {
			return scripted.Func(scripted.Say("I am " + o.Prefix + "'s " + name + ".")), nil
		},
	})
}

func TestOwnStoreAndModel(t *testing.T) {
	root, err := agent.NewLLM(agent.LLMConfig{Name: "helper", Model: model.Named("own/parrot")})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}, Sessions: parley.SessionConfig{URL: "own://here"}})
	if err != nil {
		t.Fatal(err)
	}
	opened, _ := ownOpened.LoadAndDelete("own://here")
	own, ok := opened.(*ownStore)
	if !ok {
		t.Fatal("the store was not opened")
	}
	if text, err := srv.Ask(t.Context(), "app", "u", "s", "Who are you?"); err != nil || text != "I am own's parrot." {
		t.Errorf("answer %q, %v", text, err)
	}
	if _, err := own.Get(t.Context(), session.Key{App: "app", User: "u", ID: "s"}, session.Read{}); err != nil {
		t.Errorf("the session is not in the store: %v", err)
	}
	srv.Close(t.Context())
	if !own.closed {
		t.Error("the store was not closed")
	}
	for name, again := range map[string]func(){
		"store":    func() { session.Register("own", session.Driver{}) },
		"provider": func() { model.Register(model.Provider{Prefixes: []string{"own"}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a second %s of this name was registered", name)
				}
			}()
			again()
		}()
	}
}

package broker_test

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
)

// replicas are two servers with one database.
func replicas(t *testing.T, p provider.Options) (*world, []*broker.Broker) {
	t.Helper()
	database := pgtest.Quick(t).Database(t)
	var stores []session.Store
	for range 2 {
		store, err := postgres.Open(t.Context(), database, session.Options{Owner: t.Name(), Lease: time.Minute, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		stores = append(stores, store)
	}
	w := newWorld(t, p, nil)
	var brokers []*broker.Broker
	for _, store := range stores {
		w.store, w.options.Secrets = store, store
		brokers = append(brokers, broker.New(w.options))
	}
	w.key = w.session("s1")
	return w, brokers
}

// Ten calls on two servers meet a token that has expired, and that can be
// refreshed once. The provider sees one refresh, and all calls have the new token.
func TestReplicasRefreshOnce(t *testing.T) {
	w, brokers := replicas(t, provider.Options{})
	w.login(brokers[0], w.key, "call-1", w.config())
	before := w.response(brokers[1], w.key, w.config())
	w.advance(2 * time.Hour)
	var calls sync.WaitGroup
	tokens := make([]string, 10)
	for i := range tokens {
		calls.Go(func() {
			if cred := w.response(brokers[i%2], w.key, w.config()); cred != nil {
				tokens[i] = cred.OAuth2.AccessToken
			}
		})
	}
	calls.Wait()
	for i, token := range tokens {
		if token == "" || token == before.OAuth2.AccessToken || token != tokens[0] {
			t.Errorf("call %d has another token", i)
		}
	}
	if n, asked := w.provider.Counts().Refreshes, len(w.provider.Requests(provider.TokenPath)); n != 1 || asked != 2 {
		t.Errorf("%d refreshes, and the provider was asked %d times", n, asked)
	}
	// The refresh token that came with it is good for the next time.
	w.advance(2 * time.Hour)
	if w.response(brokers[1], w.key, w.config()) == nil || w.provider.Counts().Refreshes != 2 {
		t.Error("the rotated refresh token was lost")
	}
}

// Ten completions of one answer, as after a takeover, exchange the code once.
func TestReplicasExchangeOnce(t *testing.T) {
	w, brokers := replicas(t, provider.Options{})
	asked := w.ask(brokers[0], w.key, "call-1", w.config(), credential.Camel)
	if err := w.receive(brokers[1], w.key, "call-1", asked, w.reply(asked, w.visit(asked, true), credential.Camel)); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for i := range 10 {
		calls.Go(func() {
			if err := brokers[i%2].Complete(t.Context(), w.key, "call-1", asked); w.hear(err) != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := len(w.provider.Requests(provider.TokenPath)); n != 1 {
		t.Errorf("%d exchanges", n)
	}
}

package sharelink

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// meeting delays the first reads of the key until there are as many as it expects.
type meeting struct {
	session.Secrets
	arrived chan struct{}
	begin   chan struct{}
}

func (m *meeting) Secret(ctx context.Context, id session.SecretID) (*session.Secret, error) {
	found, err := m.Secrets.Secret(ctx, id)
	if id.Name == keyName && errors.Is(err, session.ErrNoSecret) {
		m.arrived <- struct{}{}
		<-m.begin
	}
	return found, err
}

// The calls that find no key at the same time agree on one, and do not wait for each other.
func TestFirstLinksShareAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4
		store, key := memstore.NewBackend(0), session.Key{App: "a", User: "u", ID: "s"}
		if _, err := store.Create(t.Context(), session.NewSession{Key: key}); err != nil {
			t.Fatal(err)
		}
		m := &meeting{Secrets: store, arrived: make(chan struct{}, n), begin: make(chan struct{})}
		links, tokens := New(m), make(chan string, n)
		for range n {
			go func() {
				token, _, err := links.Create(t.Context(), Link{Key: key}, time.Hour)
				if err != nil {
					t.Error(err)
				}
				tokens <- token
			}()
		}
		for range n {
			<-m.arrived
		}
		close(m.begin)
		other := New(m.Secrets) // of another server
		for range n {
			token := <-tokens
			for _, l := range []*Links{links, other} {
				if _, err := l.Open(t.Context(), token); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

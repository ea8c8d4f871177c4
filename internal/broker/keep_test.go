package broker_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/broker/vault/keyring"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// A value that is kept with the logins is not readable in the store, is not listed with
// them, and survives a change of the key.
func TestKeep(t *testing.T) {
	t.Parallel()
	file := keyring.File{Path: filepath.Join(t.TempDir(), "keys.json")}
	keys, err := file.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := memstore.New(0)
	b := broker.New(broker.Options{Secrets: store, Vault: keys})
	key := session.Key{App: "app", User: "user", ID: "s"}
	id := session.SecretID{App: key.App, User: key.User, Session: key.ID, Name: "outbox/x"}
	if err := b.Keep(t.Context(), id, []byte(`"one"`)); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("in a session that does not exist: %v", err)
	}
	if _, err := store.Create(t.Context(), session.NewSession{Key: key}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Kept(t.Context(), id); !errors.Is(err, session.ErrNoSecret) {
		t.Errorf("before it is kept: %v", err)
	}
	for _, value := range []string{`"one"`, `{"secret":"two"}`} {
		if err := b.Keep(t.Context(), id, []byte(value)); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Kept(t.Context(), id); err != nil || string(got) != value {
			t.Errorf("kept is %s, %v", got, err)
		}
	}
	if stored, err := store.Secret(t.Context(), id); err != nil || bytes.Contains(stored.Sealed, []byte("two")) || bytes.Contains(stored.About, []byte("two")) {
		t.Errorf("stored is %+v, %v", stored, err)
	}
	if list, err := b.List(t.Context(), "app", "user"); err != nil || len(list) > 0 {
		t.Errorf("the logins are %v, %v", list, err)
	}
	if err := file.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := broker.Reseal(t.Context(), store, keys); err != nil || done != (broker.Resealed{Sealed: 1}) {
		t.Errorf("after the rotation: %+v, %v", done, err)
	}
	if err := file.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Kept(t.Context(), id); err != nil || string(got) != `{"secret":"two"}` {
		t.Errorf("with the new key alone: %s, %v", got, err)
	}
	other, err := vault.New(vault.Generate())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broker.New(broker.Options{Secrets: store, Vault: other}).Kept(t.Context(), id); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("with another key: %v", err)
	}
	if err := b.Drop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Kept(t.Context(), id); !errors.Is(err, session.ErrNoSecret) {
		t.Errorf("after Drop: %v", err)
	}
}

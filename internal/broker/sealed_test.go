package broker

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/session"
)

// What is sealed for one owner opens for no other.
func TestSealedState(t *testing.T) {
	ring, err := vault.Generate()
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.New(ring)
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Vault: v})
	home := session.Key{App: "app", User: "ann", ID: "s"}
	others := map[string]session.Key{
		"another session":     {App: "app", User: "ann", ID: "fork"},
		"another user":        {App: "app", User: "bob", ID: "s"},
		"another application": {App: "ppa", User: "ann", ID: "s"},
	}
	for key, allowed := range map[string]string{"token": "", "user:token": "another session", "app:token": "another session, another user"} {
		stored, err := b.For(home).Seal(key, json.RawMessage(`"hunter2"`))
		if err != nil || strings.Contains(string(stored), "hunter2") || !json.Valid(stored) {
			t.Fatalf("sealed: %s, %v", stored, err)
		}
		if got, sealed := b.For(home).Open(key, stored); !sealed || string(got) != `"hunter2"` {
			t.Errorf("%s opens as %s", key, got)
		}
		if got, sealed := b.For(home).Open(key+"2", stored); !sealed || got != nil {
			t.Errorf("%s opens under another key: %s", key, got)
		}
		for who, other := range others {
			got, sealed := b.For(other).Open(key, stored)
			if opens := strings.Contains(allowed, who); !sealed || opens != (got != nil) {
				t.Errorf("%s in %s: %s, %v", key, who, got, sealed)
			}
		}
		if got, sealed := New(Options{}).For(home).Open(key, stored); !sealed || got != nil {
			t.Errorf("without a key: %s, %v", got, sealed)
		}
	}
	for _, plain := range []string{`"sealed:v2:x"`, `"Oslo"`, `{"a":1}`, `null`} {
		if got, sealed := b.For(home).Open("k", json.RawMessage(plain)); sealed || string(got) != plain {
			t.Errorf("%s is taken for sealed: %s", plain, got)
		}
	}
	if _, err := New(Options{}).For(home).Seal("k", json.RawMessage(`1`)); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
}

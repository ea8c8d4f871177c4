package keyring_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-run/parley/internal/broker/vault/keyring"
)

// A vault that is in use reads changes of its file immediately.
func TestRotateWhileInUse(t *testing.T) {
	file := keyring.File{Path: filepath.Join(t.TempDir(), "keys.json")}
	old, err := file.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := seal(t, old, "first")
	if err := file.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied, err := file.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if sealed := seal(t, copied, "x"); old.Stale(sealed) || old.Stale(first) {
		t.Error("a prepared key is used")
	}
	if err := file.Prepare(t.Context()); err != nil { // to do it again does nothing
		t.Fatal(err)
	}
	if err := file.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := old.String(); got != "vault(2 keys)" {
		t.Errorf("after the rotation: %s", got)
	}
	second := seal(t, old, "second")
	if !old.Stale(first) || old.Stale(second) {
		t.Error("the new key is not used")
	}
	wantOpen(t, old, first, "first")
	wantOpen(t, copied, second, "second")
	if err := file.Rotate(t.Context()); err != nil || old.String() != "vault(3 keys)" {
		t.Errorf("rotated again: %s, %v", old, err)
	}
	third := seal(t, old, "third")
	if err := file.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantOpen(t, old, third, "third")
	wantSealed(t, old, second, owner)
	// A file that is damaged or gone does not end a vault that is in use.
	if err := os.WriteFile(file.Path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantOpen(t, old, third, "third")
	if err := os.Remove(file.Path); err != nil {
		t.Fatal(err)
	}
	wantOpen(t, old, third, "third")
}

package tool

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/parley-run/parley/internal/wire"
)

// SecretPrefix begins the keys of the state that are for tools alone.
const SecretPrefix = "secret:"

// IsSecret reports whether a key of the state is for tools alone.
func IsSecret(key string) bool { return strings.HasPrefix(key, SecretPrefix) }

// Sealed is what everybody but tools sees of a value of the state that is kept
// sealed, as JSON.
const Sealed = `"(sealed)"`

// Secrets keeps what nobody may see out of the state, and out of what is said.
// It belongs to one run.
type Secrets interface {
	// Seal puts away what is secret in a delta of the state, and returns what
	// may be stored of it: values that hold a credential, or something secret
	// that the run was given, become Sealed; "secret:" keys are left out. It is
	// delta itself when nothing in it is secret. What was sealed before and is
	// not any more is forgotten; before is nil when that is for later.
	Seal(ctx context.Context, delta map[string]json.RawMessage, before Lookup) (map[string]json.RawMessage, error)
	// Open finds what was put away for a key.
	Open(ctx context.Context, key string) (value json.RawMessage, ok bool, err error)
	// Scrub returns a JSON document without the secrets that the run was given.
	// It is doc itself when there are none in it.
	Scrub(doc []byte) []byte
}

// ScrubText is Scrub for a text that is not JSON. secrets may be nil.
func ScrubText(secrets Secrets, text string) string {
	if secrets == nil {
		return text
	}
	clean := secrets.Scrub(wire.Quote(nil, text)) // secrets are known as they are spelled in JSON
	if err := json.Unmarshal(clean, &text); err != nil {
		return "(redacted)" // nobody can know what is in it
	}
	return text
}

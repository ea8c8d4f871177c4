// Package ident creates identifiers.
package ident

import (
	cryptorand "crypto/rand"
	"math/rand/v2"
	"strings"
)

// Invocation returns a new identifier for a run.
func Invocation() string { return New("e-", 24) }

// Patch returns a new invocation id for a change outside of any run.
func Patch() string { return New("p-", 24) }

// Call returns a new identifier for a function call, which begins with prefix.
func Call(prefix string) string { return New(prefix, 24) }

// Session returns a new identifier for a session, which cannot be guessed.
func Session() string { return strings.ToLower(cryptorand.Text()) }

// New returns prefix and n random characters of five bits each. The result is unique
// if n is large enough, but not secret.
func New(prefix string, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567" // 32, so that five bits choose one
	id := make([]byte, 0, 48)
	id = append(id, prefix...)
	for n > 0 {
		bits := rand.Uint64() //nolint:gosec // runtime-seeded ChaCha8; identifiers are not secret
		for range min(n, 12) {
			id = append(id, letters[bits&31])
			bits >>= 5
		}
		n -= 12
	}
	return string(id)
}

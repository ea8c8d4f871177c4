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

// EventSize is the length of the identifier of an event.
const EventSize = 16

// Events returns the identifiers of n events, one behind the other.
func Events(n int) string { return New("", n*EventSize) }

// Session returns a new identifier for a session, which cannot be guessed.
func Session() string { return strings.ToLower(cryptorand.Text()) }

// New returns prefix and n random characters of five bits each. The result is unique
// if n is large enough, but not secret.
func New(prefix string, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567" // 32, so that five bits choose one
	var short [64]byte                                 // saves an allocation for most (BenchmarkNew, BenchmarkRun in package bench)
	id := append(short[:0], prefix...)
	for n > 0 {
		bits := rand.Uint64() //nolint:gosec // runtime-seeded ChaCha8; identifiers are not secret
		var some [12]byte
		for i := range some {
			some[i] = letters[bits&31]
			bits >>= 5
		}
		id = append(id, some[:min(n, len(some))]...)
		n -= len(some)
	}
	return string(id)
}

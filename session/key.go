package session

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Key identifies a session.
type Key struct{ App, User, ID string }

// Digest identifies the key in few bytes, because long keys are expensive in
// databases.
func (k Key) Digest() [sha256.Size]byte { return digest(k.App, k.User, k.ID) }

// OwnerDigest is like Digest for the user of the application.
func (k Key) OwnerDigest() [sha256.Size]byte { return digest(k.App, k.User) }

// AppDigest is like Digest for the application.
func (k Key) AppDigest() [sha256.Size]byte { return digest(k.App) }

// Hint returns a short hash of the key for notifications, never 0. Other keys may
// have the same hint; see Leases.Watch.
func (k Key) Hint() uint64 {
	// Every run needs it, so it is cheaper than a part of Digest (BenchmarkRun).
	h := fnv.New64a()
	for _, part := range []string{k.App, k.User, k.ID} {
		_, _ = h.Write([]byte(part)) // a hash does not fail
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64() | 1
}

// digest includes the length of each part, so that ("a", "bc") and ("ab", "c")
// differ.
func digest(parts ...string) [sha256.Size]byte {
	b := make([]byte, 0, 192) // on the stack, for identifiers of usual length
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return sha256.Sum256(b)
}

// Hidden reports whether the session was created by an evaluation, or for the call of
// a single tool. Such sessions can be read but are not listed.
func (k Key) Hidden() bool {
	return strings.HasPrefix(k.ID, "___tool___session___") || strings.HasPrefix(k.ID, "___eval___session___") || strings.HasPrefix(k.ID, "adk-eval-session-")
}

// Check rejects a key with an invalid identifier.
func (k Key) Check() error {
	if err := k.CheckOwner(); err != nil {
		return err
	}
	return CheckIdentifier("session id", k.ID)
}

// CheckOwner is like Check for a key that does not name a session yet.
func (k Key) CheckOwner() error {
	if err := CheckIdentifier("application name", k.App); err != nil {
		return err
	}
	return CheckIdentifier("user id", k.User)
}

// IdentifierError describes an invalid identifier.
type IdentifierError struct{ What, Why string }

func (e *IdentifierError) Error() string { return "The " + e.What + " " + e.Why }

const maxIdentifier = 256

// CheckIdentifier rejects names that are empty, too long or not valid UTF-8, or
// that have control characters. It also rejects . and .., which clients and proxies
// remove from paths. The error is an *IdentifierError.
func CheckIdentifier(what, id string) error {
	switch {
	case id == "":
		return &IdentifierError{what, "must not be empty"}
	case id == "." || id == "..":
		return &IdentifierError{what, "must not be . or .."}
	case !utf8.ValidString(id):
		return &IdentifierError{what, "must be UTF-8"}
	case len(id) > maxIdentifier && utf8.RuneCountInString(id) > maxIdentifier:
		return &IdentifierError{what, fmt.Sprintf("must have at most %d characters", maxIdentifier)}
	case strings.ContainsFunc(id, unicode.IsControl):
		return &IdentifierError{what, "must not have control characters"}
	}
	return nil
}

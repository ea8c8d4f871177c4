package session

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Key identifies a session.
type Key struct{ App, User, ID string }

// Hidden reports whether the session was made by an evaluation. Such sessions
// can be read but are not listed.
func (k Key) Hidden() bool {
	return strings.HasPrefix(k.ID, "___eval___session___") || strings.HasPrefix(k.ID, "adk-eval-session-")
}

// Check refuses a key with an identifier that cannot be.
func (k Key) Check() error {
	if err := k.CheckOwner(); err != nil {
		return err
	}
	return CheckIdentifier("session id", k.ID)
}

// CheckOwner is Check for a key that names no session yet.
func (k Key) CheckOwner() error {
	if err := CheckIdentifier("application name", k.App); err != nil {
		return err
	}
	return CheckIdentifier("user id", k.User)
}

// IdentifierError says what is wrong with an identifier.
type IdentifierError struct{ What, Why string }

func (e *IdentifierError) Error() string { return "The " + e.What + " " + e.Why }

const maxIdentifier = 256

// CheckIdentifier refuses names that nobody means: empty, overlong, with
// control characters, or not even text. The error is an *IdentifierError.
func CheckIdentifier(what, id string) error {
	switch {
	case id == "":
		return &IdentifierError{what, "must not be empty"}
	case !utf8.ValidString(id):
		return &IdentifierError{what, "must be UTF-8"}
	case utf8.RuneCountInString(id) > maxIdentifier:
		return &IdentifierError{what, fmt.Sprintf("must have at most %d characters", maxIdentifier)}
	case strings.ContainsFunc(id, unicode.IsControl):
		return &IdentifierError{what, "must not have control characters"}
	}
	return nil
}

package session

import (
	"context"
	"fmt"
	"strings"
)

// UnavailableError means that a store cannot be used now. The caller may try again
// later.
type UnavailableError struct {
	Cause error
	// Doubt means that the request may have taken effect.
	Doubt bool
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the session store cannot be used: %v", e.Cause)
}
func (e *UnavailableError) Unwrap() error { return e.Cause }

// PartialError means that a store is in several databases, and that some of them
// cannot be used now. What is in the others can be used.
type PartialError struct {
	Names []string // of the databases
}

func (e *PartialError) Error() string {
	return "some of the session databases cannot be used: " + strings.Join(e.Names, ", ")
}

// insisting is the context key of Insist.
type insisting struct{}

// Insist marks the calls of an active run. The server calls it; the author of a
// store needs it for tests of Insists only.
func Insist(ctx context.Context) context.Context {
	return context.WithValue(ctx, insisting{}, true)
}

// Insists reports whether a call belongs to an active run. While a store is
// unavailable, such calls should wait until ctx is done, so that the run survives.
// All others should fail immediately with an *UnavailableError.
func Insists(ctx context.Context) bool { return ctx.Value(insisting{}) != nil }

package session_test

import (
	"errors"
	"testing"

	"github.com/parley-run/parley/session"
)

// FuzzUsageToken makes sure that a token of a page is what it was made of, or is
// refused.
func FuzzUsageToken(f *testing.F) {
	f.Add("", "2026-01-02", "app", "user")
	f.Add("WyJhIl0", "", "", "é\x00")
	f.Fuzz(func(t *testing.T, token, day, app, user string) {
		if _, err := session.UsageAfter(token); err != nil && !errors.Is(err, session.ErrBadToken) {
			t.Errorf("%q: %v", token, err)
		}
		k := session.UsageKey{Day: day, App: app, User: user}
		if session.CheckIdentifier("app", app) != nil || session.CheckIdentifier("user", user) != nil || session.CheckIdentifier("day", day) != nil {
			return
		}
		if got, err := session.UsageAfter(k.Token()); err != nil || got != k {
			t.Errorf("%+v came back as %+v, %v", k, got, err)
		}
	})
}

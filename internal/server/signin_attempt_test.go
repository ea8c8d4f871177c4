package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker/vault"
)

// A sign-in that was begun too long ago, or for another callback, is not
// completed: a cookie that was stolen is of no use later.
func TestAttemptExpires(t *testing.T) {
	t.Parallel()
	attempts, err := vault.New(vault.Generate())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Developers: Developers{SignIn: SignIn{Attempts: attempts}}})
		const callback = "https://parley.test" + callbackPath
		text, err := json.Marshal(sealedAttempt{access.Attempt{Return: "/dev-ui/"}, time.Now().Add(attemptLife).Unix()})
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := attempts.Seal(text, vault.Bind(attemptCookie, callback))
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, callback, nil)
		r.AddCookie(&http.Cookie{Name: s.cookieName(r, attemptCookie), Value: string(sealed)})
		for _, tt := range []struct {
			later    time.Duration
			callback string
			known    bool
		}{
			{0, callback, true},
			{0, "https://other.test" + callbackPath, false},
			{attemptLife - time.Second, callback, true},
			{time.Second, callback, false},
		} {
			time.Sleep(tt.later)
			if got := s.attempt(r, tt.callback); (got.Return != "") != tt.known {
				t.Errorf("%v later, at %s: %+v", tt.later, tt.callback, got)
			}
		}
	})
}

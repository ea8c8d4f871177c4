package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/session"
)

func request(t *testing.T, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestCaller(t *testing.T) {
	t.Parallel()
	scoped := func(user string, scopes ...Scope) *Caller { return &Caller{User: user, scopes: scopes} }
	for i, tt := range []struct {
		caller *Caller
		scope  Scope
		want   bool
	}{
		{nil, Admin, true},
		{scoped("u"), Read, false},
		{scoped("u", Read), Read, true},
		{scoped("u", Read), Run, false},
		{scoped("u", Run), Read, true},
		{scoped("u", Run), Review, true},
		{scoped("u", Read), Review, false},
		{scoped("u", Review), Read, true},
		{scoped("u", Review), Run, false},
		{scoped("u", Review, Users), Dev, false},
		{scoped("u", Run), Users, false},
		{scoped("u", Run, Users), Dev, false},
		{scoped("u", Users), Run, false},
		{scoped("u", Run), Schedules, true},
		{scoped("u", Run), Triggers, true},
		{scoped("u", Run), Inbox, true},
		{scoped("u", Read, Users), Schedules, false},
		{scoped("u", Schedules), Schedules, true},
		{scoped("u", Schedules), Read, false},
		{scoped("u", Schedules), Triggers, false},
		{scoped("u", Schedules, Triggers, Inbox), Run, false},
		{scoped("u", Admin), Inbox, true},
		{scoped("u", Admin), Dev, true},
		{scoped("", Admin), Users, true},
	} {
		if got := tt.caller.May(tt.scope); got != tt.want {
			t.Errorf("%d: %+v may %s: %v", i, tt.caller, tt.scope, got)
		}
	}
	for i, tt := range []struct {
		caller *Caller
		user   string
		want   bool
	}{
		{nil, "u", true},
		{scoped("u", Run), "u", true},
		{scoped("u", Run), "U", false},
		{scoped("u", Run), "", false},
		{scoped("", Run), "", false},
		{scoped("", Run, Users), "u", true},
		{scoped("v", Admin), "u", true},
	} {
		if got := tt.caller.Is(tt.user); got != tt.want {
			t.Errorf("%d: %+v is %q: %v", i, tt.caller, tt.user, got)
		}
	}
}

func TestBearer(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Bearer abc": "abc", "bearer  abc ": "abc", "": "none", "Bearer": "none", "Bearer ": "none", "Basic abc": "none", "abc": "none",
		"Bearer " + strings.Repeat("a", maxToken+1): "refused",
	} {
		token, err := bearer(request(t, "Authorization", header))
		if _, refused := errors.AsType[*RefusedError](err); refused {
			token = "refused"
		} else if errors.Is(err, ErrNoToken) {
			token = "none"
		}
		if token != want {
			t.Errorf("%.20q is %q, want %q", header, token, want)
		}
	}
	if _, err := bearer(request(t, "Authorization", "Bearer a", "Authorization", "Bearer b")); err == nil || errors.Is(err, ErrNoToken) {
		t.Errorf("two tokens: %v", err)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for of, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "192.0.2.1": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::/64", "2001:db8::ffff:1": "2001:db8::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "[::ffff:192.0.2.1]:80": "192.0.2.1", "": "unknown", "@": "unknown",
	} {
		if got := address(of); got != want {
			t.Errorf("%s is %s, want %s", of, got, want)
		}
	}
	r := request(t, "X-Forwarded-For", "10.0.0.1, 198.51.100.7", "X-Forwarded-For", "10.0.0.2, 203.0.113.9")
	for want, gates := range map[string][]Gate{"address:203.0.113.9": {Platform(""), Public(true)}, "address:192.0.2.1": {Public(false), Local}} {
		for i, gate := range gates {
			if c, err := gate(r); err != nil || c.ID != want {
				t.Errorf("%s, %d: %+v, %v", want, i, c, err)
			}
		}
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	said := map[string]any{
		"role": "admin", "roles": []any{"a", "admin", 7.0}, "scope": "x admin y", "words": "x admin y", "n": 7.0,
		"email": "a@example.com", "email_verified": true,
	}
	for text, want := range map[string]bool{
		"role=admin": true, "role=adm": false, "roles=admin": true, "roles=b": false, "scope=admin": true, "scope=x admin y": false,
		"words=admin": false, "words=x admin y": true, "n=7": false, "missing=": false, "email=a@example.com": true,
	} {
		list, err := claims([]string{text}, map[string]bool{"": true})
		if text == "missing=" {
			if err == nil {
				t.Error("a claim without a value")
			}
			continue
		}
		if err != nil || list[0].in(said) != want {
			t.Errorf("%s: %v, %v", text, list, err)
		}
	}
	for text, want := range map[string]bool{"x\tadmin": false, "x\u00a0admin": false, "x\nadmin": false, "x,admin": false, "  admin  ": true} {
		if got := (claim{name: "scope", value: "admin"}).in(map[string]any{"scope": text}); got != want {
			t.Errorf("the scope %q has admin: %t", text, got)
		}
	}
}

// An email address that the issuer has not verified never counts.
func TestClaimOfAnUnverifiedEmail(t *testing.T) {
	t.Parallel()
	const address = "root@example.com"
	is := claim{name: "email", value: address}
	shapes := map[string]any{
		"text": address, "list": []any{address}, "second of a list": []any{"a@example.com", address}, "nested list": []any{[]any{address}},
		"object": map[string]any{"value": address}, "objects": []any{map[string]any{"value": address}},
	}
	for shape, email := range shapes {
		for _, verified := range []any{nil, false, "false", "", "True", "yes", 1.0, 0.0, []any{true}, []any{"true"}, map[string]any{"value": true}} {
			said := map[string]any{"email": email, "email_verified": verified}
			if verified == nil {
				delete(said, "email_verified")
			}
			if is.in(said) {
				t.Errorf("%s, email_verified %v: it counts", shape, verified)
			}
			if user, err := (&issuer{}).user(said, "email"); err == nil {
				t.Errorf("%s, email_verified %v: the user is %s", shape, verified, user)
			}
		}
		for _, verified := range []any{true, "true"} {
			want := shape == "text" || shape == "list" || shape == "second of a list"
			if got := is.in(map[string]any{"email": email, "email_verified": verified}); got != want {
				t.Errorf("%s, email_verified %v: it counts: %t", shape, verified, got)
			}
		}
	}
}

// Claims are qualified by the names of issuers.
func TestClaimsOfIssuers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]claim{
		"groups=a": {"", "groups", "a"}, "partner:groups=a": {"partner", "groups", "a"}, "cognito:groups=a": {"", "cognito:groups", "a"},
		"https://example.com/roles=a": {"", "https://example.com/roles", "a"}, "partner:cognito:groups=a=b": {"partner", "cognito:groups", "a=b"},
	} {
		list, err := claims([]string{text}, map[string]bool{"": true, "partner": true})
		if err != nil || list[0] != want {
			t.Errorf("%s: %+v, %v", text, list, err)
		}
	}
	if _, err := claims([]string{"groups=a"}, map[string]bool{"home": true, "partner": true}); err == nil || !strings.Contains(err.Error(), "name:groups=a") {
		t.Errorf("a claim without an issuer: %v", err)
	}
}

func TestIssuerUser(t *testing.T) {
	t.Parallel()
	home := &issuer{foreign: map[string]bool{"partner": true}}
	partner := &issuer{name: "partner"}
	for i, tt := range []struct {
		from        *issuer
		said        map[string]any
		claim, want string
	}{
		{home, map[string]any{"sub": "bob"}, "sub", "bob"},
		{partner, map[string]any{"sub": "bob"}, "sub", "partner:bob"},
		{home, map[string]any{"sub": "partner:bob"}, "sub", ""},
		{home, map[string]any{"sub": "other:bob"}, "sub", "other:bob"},
		{home, map[string]any{"sub": ""}, "sub", ""},
		{home, map[string]any{"sub": 7}, "sub", ""},
		{home, map[string]any{}, "sub", ""},
		{home, map[string]any{"sub": "a\x00b"}, "sub", ""},
		{home, map[string]any{"sub": strings.Repeat("a", 300)}, "sub", ""},
		{home, map[string]any{"email": "b@example.com"}, "email", ""},
		{home, map[string]any{"email": "b@example.com", "email_verified": "false"}, "email", ""},
		{home, map[string]any{"email": "b@example.com", "email_verified": true}, "email", "b@example.com"},
	} {
		if got, err := tt.from.user(tt.said, tt.claim); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%d: %q, %v", i, got, err)
		}
	}
}

// keyStore stores keys and counts calls.
type keyStore struct {
	session.APIKeys
	mu          sync.Mutex
	keys        map[string]*session.APIKey
	reads, uses int
	slow        time.Duration // the duration of a read
	broken      error
}

func (s *keyStore) PutAPIKey(_ context.Context, key *session.APIKey) error {
	s.keys[key.ID] = key
	return nil
}

func (s *keyStore) APIKey(_ context.Context, id string) (*session.APIKey, error) {
	defer time.Sleep(s.slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.broken != nil {
		return nil, s.broken
	}
	key := s.keys[id]
	if key == nil {
		return nil, session.ErrNoAPIKey
	}
	c := *key
	return &c, nil
}

func (s *keyStore) UseAPIKey(_ context.Context, id string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	s.keys[id].Used = at
	return nil
}

// A busy key causes a read every few seconds and a write per minute. It becomes invalid soon after it was revoked.
func TestKeysAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Slow enough that all concurrent requests read before one of them writes.
		store := &keyStore{keys: map[string]*session.APIKey{}, slow: time.Millisecond}
		text, key, err := CreateKey(t.Context(), store, NewKey{User: "bob"})
		if err != nil {
			t.Fatal(err)
		}
		gate := Keys(store, slog.New(slog.DiscardHandler))
		bob := request(t, "Authorization", "Bearer "+text)
		for range 600 { // five minutes
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if c, err := gate(bob); err != nil || c.User != "bob" || c.ID != "key:"+key.ID || !c.May(Run) || c.May(Users) {
						t.Errorf("%+v, %v", c, err)
					}
				})
			}
			wg.Wait()
			time.Sleep(500 * time.Millisecond)
		}
		if store.reads > 100 || store.uses < 4 || store.uses > 6 {
			t.Errorf("%d reads and %d writes", store.reads, store.uses)
		}
		delete(store.keys, key.ID)
		time.Sleep(keyFresh)
		if _, err := gate(bob); err == nil {
			t.Error("a key that was revoked is let in")
		}
		store.broken = errors.New("the database is unavailable")
		time.Sleep(keyFresh)
		if _, err := gate(bob); !errors.Is(err, store.broken) {
			t.Errorf("without the database: %v", err)
		}
	})
}

// Many callers with one request each do not evict those that exceeded their rate.
func TestRateOfMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(3)
		for range 3 {
			r.Wait("hurried", "app")
		}
		for i := range 2 * maxBuckets {
			r.Wait(fmt.Sprint("caller ", i), "app")
		}
		if r.Wait("hurried", "app") == 0 {
			t.Error("a caller that exceeded its rate was evicted")
		}
		if len(r.buckets) > maxBuckets {
			t.Errorf("%d are counted", len(r.buckets))
		}
		for i := range 2 * maxBuckets { // even if all of them exceed it
			for range 4 {
				r.Wait(fmt.Sprint("pest ", i), "app")
			}
		}
		if len(r.buckets) > maxBuckets {
			t.Errorf("%d are counted", len(r.buckets))
		}
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(60)
		for i := range 60 {
			if wait := r.Wait("a", "app"); wait != 0 {
				t.Fatalf("the request %d has to wait %v", i, wait)
			}
		}
		for range 3 { // a refused request does not count
			if wait := r.Wait("a", "app"); wait <= 0 || wait > time.Second {
				t.Errorf("one too many has to wait %v", wait)
			}
		}
		if r.Wait("b", "app") != 0 || r.Wait("a", "other") != 0 {
			t.Error("others have to wait")
		}
		time.Sleep(time.Second)
		if r.Wait("a", "app") != 0 || r.Wait("a", "app") == 0 {
			t.Error("after a second, one request is allowed")
		}
		for i := range 3 * maxBuckets {
			r.Wait(fmt.Sprint(i), "app")
		}
		if len(r.buckets) > maxBuckets {
			t.Errorf("%d callers are counted", len(r.buckets))
		}
	})
}

// FuzzToken checks that the gates handle every token and accept none.
func FuzzToken(f *testing.F) {
	for _, token := range []string{"", "a.b.c", "e30.e30.", "parley_a_b", "parley__", "..", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjEifQ."} {
		f.Add(token)
	}
	log := slog.New(slog.DiscardHandler)
	oidc, err := OIDC(f.Context(), OIDCConfig{Issuers: []string{"http://127.0.0.1:1"}, Audiences: []string{"a"}, Log: log})
	if err != nil {
		f.Fatal(err)
	}
	gates := []Gate{oidc.Identify, Keys(&keyStore{keys: map[string]*session.APIKey{}}, log)}
	f.Fuzz(func(t *testing.T, token string) {
		for _, gate := range gates {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Header["Authorization"] = []string{"Bearer " + token}
			if c, err := gate(r); err == nil || c != nil {
				t.Errorf("%q is %+v", token, c)
			}
		}
	})
}

package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// keyPrefix begins every API key, so that people and secret scanners recognize it.
const keyPrefix = "parley_"

// NewKey describes a key to be created.
type NewKey struct {
	Name string // a description of its purpose
	User string // the user it acts as
	// Scopes are its permissions; none means Run.
	Scopes []Scope
	// Life is the time until it expires; 0 means until it is revoked.
	Life time.Duration
}

// GrantableScopes are the scopes that a key may have.
var GrantableScopes = []Scope{Read, Review, Run, Schedules, Triggers, Inbox, Users, Admin}

// CreateKey creates a key. text is what a caller presents; it is not stored.
func CreateKey(ctx context.Context, store session.APIKeys, n NewKey) (text string, key *session.APIKey, err error) {
	if len(n.Scopes) == 0 {
		n.Scopes = []Scope{Run}
	}
	key = &session.APIKey{Name: n.Name, User: n.User, Created: time.Now().Round(0).Truncate(time.Microsecond)}
	everyone := false
	for _, s := range n.Scopes {
		if !slices.Contains(GrantableScopes, s) {
			return "", nil, fmt.Errorf("unknown scope %q: must be read, review, run, schedules, triggers, inbox, users or admin", s)
		}
		everyone = everyone || s == Users || s == Admin
		key.Scopes = append(key.Scopes, string(s))
	}
	switch {
	case n.Life < 0:
		return "", nil, errors.New("the lifetime of a key must be positive")
	case n.User == "" && !everyone:
		return "", nil, errors.New("a key is for one user, unless it has the scope users or admin")
	case n.User != "":
		if err := session.CheckIdentifier("user id", n.User); err != nil {
			return "", nil, err
		}
	}
	if n.Life > 0 {
		key.Expires = key.Created.Add(n.Life)
	}
	key.ID = strings.ToLower(rand.Text()[:10])
	text = keyPrefix + key.ID + "_" + rand.Text()
	key.Hash = hash(text)
	if err := store.PutAPIKey(ctx, key); err != nil {
		return "", nil, err
	}
	return text, key, nil
}

// hash returns the stored hash of a key. The key is long and random, so a fast hash is sufficient.
func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

const (
	// keyFresh is how long a key may still be accepted after another process revoked it.
	keyFresh = 10 * time.Second
	// useFresh is the interval at which the use of a key is recorded.
	useFresh = time.Minute
	// maxKeys bounds the cache of keys, including unknown ones.
	maxKeys = 10_000
)

// keyGate caches keys for a short time.
type keyGate struct {
	store session.APIKeys
	log   *slog.Logger

	mu    sync.Mutex
	known map[string]knownKey
}

type knownKey struct {
	key   *session.APIKey // nil for an unknown key
	read  time.Time
	noted time.Time // when its use was recorded here, which key may not show yet
}

// Keys returns a Gate that accepts the keys of a store.
func Keys(store session.APIKeys, log *slog.Logger) Gate {
	g := &keyGate{store: store, log: log, known: map[string]knownKey{}}
	return g.identify
}

func (g *keyGate) identify(r *http.Request) (*Caller, error) {
	text, err := bearer(r)
	if err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(text, keyPrefix)
	id, _, whole := strings.Cut(rest, "_")
	if !ok || !whole || session.CheckIdentifier("key id", id) != nil {
		return nil, &RefusedError{"the token is not an API key"}
	}
	key, err := g.find(r.Context(), id)
	if err != nil {
		return nil, &UnavailableError{err}
	}
	now := time.Now()
	switch {
	case key == nil:
		return nil, &RefusedError{"there is no API key " + id}
	case subtle.ConstantTimeCompare(hash(text), key.Hash) != 1:
		return nil, &RefusedError{"the secret of the API key " + id + " is wrong"}
	case !key.Expires.IsZero() && !now.Before(key.Expires):
		return nil, &RefusedError{"the API key " + id + " has expired"}
	}
	g.use(r.Context(), key, now)
	return callerOf(key), nil
}

// callerOf returns the caller who has a key.
func callerOf(key *session.APIKey) *Caller {
	c := &Caller{ID: keyCaller + key.ID, User: key.User, Expires: key.Expires}
	for _, s := range key.Scopes {
		c.scopes = append(c.scopes, Scope(s))
	}
	return c
}

// find returns a key, at most keyFresh old; nil if there is none.
func (g *keyGate) find(ctx context.Context, id string) (*session.APIKey, error) {
	g.mu.Lock()
	k, ok := g.known[id]
	g.mu.Unlock()
	if ok && time.Since(k.read) < keyFresh {
		return k.key, nil
	}
	key, err := g.store.APIKey(ctx, id)
	if err != nil && !errors.Is(err, session.ErrNoAPIKey) {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= maxKeys {
		clear(g.known)
	}
	g.known[id] = knownKey{key: key, read: time.Now(), noted: g.known[id].noted}
	return key, nil
}

// use records that a key is in use, unless it was recorded lately, so that only the first request of a minute writes.
func (g *keyGate) use(ctx context.Context, key *session.APIKey, now time.Time) {
	g.mu.Lock()
	k := g.known[key.ID]
	due := now.Sub(key.Used) > useFresh && now.Sub(k.noted) > useFresh
	if due {
		k.noted = now
		g.known[key.ID] = k
	}
	g.mu.Unlock()
	if !due {
		return
	}
	if err := g.store.UseAPIKey(context.WithoutCancel(ctx), key.ID, now); err != nil {
		g.log.Warn("failed to record the use of an API key", "key_id", key.ID, "err", err)
	}
}

package parley

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/session"
)

// bounds are the limits of what models and tools send.
func (l *Limits) bounds() bounded.Limits {
	return bounded.Limits{ModelResponse: l.ModelResponseBytes, ToolResult: l.ToolResultBytes, ToolCalls: l.ToolCalls}
}

// nanos returns billionths. A limit stays one, however small it is.
func nanos(usd float64) int64 {
	n := int64(math.Round(usd * 1e9))
	if usd > 0 {
		n = max(n, 1)
	}
	return n
}

func (l *Limits) engine() run.Limits {
	return run.Limits{
		Runs: l.ConcurrentRuns, Queue: l.QueueDepth, Duration: l.RunDuration, Tokens: l.RunTokens, DayTokens: l.DayTokens,
		Cost: nanos(l.RunCost), DayCost: nanos(l.DayCost), WarnDayCost: nanos(l.WarnDayCost),
	}
}

// openGate makes what tells callers apart.
func (s *Server) openGate(ctx context.Context) (err error) {
	switch s.cfg.Access.Mode {
	case AccessOIDC:
		o := s.cfg.Access.OIDC
		if o.ClientSecretFile != "" {
			text, err := os.ReadFile(o.ClientSecretFile)
			if err != nil {
				return inField("Access.OIDC.ClientSecretFile", err)
			}
			o.ClientSecret = strings.TrimSpace(string(text))
		}
		issuers, err := access.OIDC(ctx, access.OIDCConfig{
			Issuers: o.Issuers, Audiences: o.Audiences, UserClaim: o.UserClaim, Admins: o.Admins, Delegates: o.Delegates,
			Readers: o.Readers, Reviewers: o.Reviewers, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Log: s.cfg.Log,
		})
		if err != nil {
			return inField("Access.OIDC", err)
		}
		s.issuers = issuers.URLs()
		s.gate, s.signIn = issuers.Identify, server.SignIn{Takes: server.TakesToken, At: issuers.Client()}
		if s.signIn.At != nil {
			if s.signIn.Attempts, err = s.attemptVault(o.ClientSecret); err != nil {
				return inField("Access.OIDC", err)
			}
		}
	case AccessKeys:
		store := s.store
		if url := s.cfg.Access.KeysURL; url != "" && url != s.cfg.Sessions.URL {
			if s.keys, _, err = openStore(ctx, &Config{Sessions: SessionConfig{URL: url}, Log: s.cfg.Log}, ""); err != nil {
				return inField("Access.KeysURL", err)
			}
			store = s.keys
		}
		keys, err := apiKeysIn(store)
		if err != nil {
			return err
		}
		s.gate, s.signIn = access.Keys(keys, s.cfg.Log), server.SignIn{Takes: server.TakesKey}
	default: // see gateFor
	}
	return nil
}

// attemptVault seals the sign-ins that are in progress, which browsers keep. A
// browser may come back to another server than the one that it was at, so the
// keys are those that servers of one database share or, where they share none,
// come from the secret of the client, which is the same for all.
func (s *Server) attemptVault(clientSecret string) (*vault.Vault, error) {
	given := s.cfg.Logins.Key != "" || s.cfg.Logins.KeyFile != ""
	if v := s.logins.Vault(); v != nil && (given || inMemory(s.cfg.Sessions.URL) || !volatile(s.cfg.Sessions.URL)) {
		return v, nil
	}
	if clientSecret == "" {
		s.cfg.Log.Warn("users can sign in only when their browser comes back to the server at which they began; if there are several servers, " +
			"give all the same Logins.Key or Logins.KeyFile")
		return vault.New(vault.Generate())
	}
	key, err := hkdf.Key(sha256.New, []byte(clientSecret), nil, "parley sign-in attempts", 32)
	if err != nil {
		return nil, err
	}
	return vault.New([]byte(base64.StdEncoding.EncodeToString(key)))
}

// gateFor is the gate for a listener at an address, which may be nil.
func (s *Server) gateFor(listening *net.TCPAddr) access.Gate {
	unlimited := s.cfg.Limits.RequestsPerMinute == 0 && s.cfg.Limits.ConcurrentRuns == 0 // callers need not be distinguished
	switch {
	case s.gate != nil:
		return s.gate
	case s.cfg.Access.Mode == AccessPublic && s.cfg.UI.Enabled: // which is there for everyone to look into agents
		return access.Public(s.cfg.Access.Proxied, access.Dev)
	case s.cfg.Access.Mode == AccessPublic:
		return access.Public(s.cfg.Access.Proxied)
	case s.cfg.Access.UserHeader == "" && unlimited:
		return nil
	case s.cfg.Access.Mode == AccessPlatform, s.cfg.Access.Mode == "" && listening != nil && !listening.IP.IsLoopback():
		return access.Platform(s.cfg.Access.UserHeader)
	}
	return access.Local
}

// apiKeysIn are the API keys of a store.
func apiKeysIn(store session.Store) (session.APIKeys, error) {
	if store.Keys == nil {
		return nil, wrong("Access.KeysURL", "the database of the sessions keeps no API keys: give another one")
	}
	return store.Keys, nil
}

// Scope is what an API key permits. It is another name of string, so that a list of strings
// is a list of scopes.
type Scope = string

// Scopes of API keys. The last one permits everything.
const (
	ScopeRead      Scope = "read"      // to read the sessions of the user of the key
	ScopeReview    Scope = "review"    // to give feedback to them as well
	ScopeRun       Scope = "run"       // everything that the user may do
	ScopeSchedules Scope = "schedules" // the schedules of the user only
	ScopeTriggers  Scope = "triggers"  // triggers only
	ScopeInbox     Scope = "inbox"     // the inbox of the user only
	ScopeUsers     Scope = "users"     // to act for any user
	ScopeAdmin     Scope = "admin"
)

// NewAPIKey describes an API key to create.
type NewAPIKey struct {
	// Name describes its purpose.
	Name string
	// User is the user that it acts as. It may be empty if a scope is ScopeUsers or
	// ScopeAdmin.
	User string
	// Scopes are what it may do. None means ScopeRun.
	Scopes []Scope
	// Life is how long it may be used; 0 means until it is revoked.
	Life time.Duration
}

// APIKey describes a stored API key. It does not contain the key itself.
type APIKey struct {
	ID     string // a part of the key that is not secret
	Name   string
	User   string
	Scopes []Scope
	// Created, Expires and Used are times. A zero Expires means never, a zero Used not
	// yet. Used is updated once a minute.
	Created, Expires, Used time.Time
}

// APIKeys are the API keys in a database.
type APIKeys struct {
	store session.Store
	keys  session.APIKeys
}

// OpenAPIKeys opens the API keys in the database at url, as in SessionConfig.URL.
// They have to be closed.
func OpenAPIKeys(ctx context.Context, url string) (*APIKeys, error) {
	return openKeys(ctx, url, func(ctx context.Context, url string) (session.Store, error) {
		store, _, err := openStore(ctx, &Config{Sessions: SessionConfig{URL: url}, Log: slog.New(slog.DiscardHandler)}, "")
		return store, err
	})
}

// OpenExistingAPIKeys is like OpenAPIKeys, but fails if the database does not exist.
func OpenExistingAPIKeys(ctx context.Context, url string) (*APIKeys, error) {
	return openKeys(ctx, url, openExisting)
}

func openKeys(ctx context.Context, url string, open func(context.Context, string) (session.Store, error)) (*APIKeys, error) {
	if url == "" {
		return nil, errors.New("parley: API keys need a database")
	}
	store, err := open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("parley: %w", err)
	}
	keys, err := apiKeysIn(store)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("parley: %w", err), store.Close())
	}
	return &APIKeys{store, keys}, nil
}

// Create creates a key. text is the key itself, which is not stored.
func (k *APIKeys) Create(ctx context.Context, key NewAPIKey) (text string, made APIKey, err error) {
	n := access.NewKey{Name: key.Name, User: key.User, Life: key.Life}
	for _, s := range key.Scopes {
		n.Scopes = append(n.Scopes, access.Scope(s))
	}
	text, kept, err := access.CreateKey(ctx, k.keys, n)
	if err != nil {
		return "", APIKey{}, fmt.Errorf("parley: %w", err)
	}
	return text, keyOf(kept), nil
}

// List returns all keys, the oldest first.
func (k *APIKeys) List(ctx context.Context) ([]APIKey, error) {
	list, err := k.keys.ListAPIKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("parley: %w", err)
	}
	out := make([]APIKey, len(list))
	for i, one := range list {
		out[i] = keyOf(one)
	}
	return out, nil
}

// Revoke deletes the key with that id. Servers that have seen it recently accept it
// for some seconds more.
func (k *APIKeys) Revoke(ctx context.Context, id string) error {
	if err := k.keys.DeleteAPIKey(ctx, id); err != nil {
		if errors.Is(err, session.ErrNoAPIKey) {
			return fmt.Errorf("parley: there is no API key %s", id)
		}
		return fmt.Errorf("parley: %w", err)
	}
	return nil
}

// Close closes the database.
func (k *APIKeys) Close() error { return k.store.Close() }

func keyOf(k *session.APIKey) APIKey {
	return APIKey{ID: k.ID, Name: k.Name, User: k.User, Scopes: k.Scopes, Created: k.Created, Expires: k.Expires, Used: k.Used}
}

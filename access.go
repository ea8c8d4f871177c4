package parley

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
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

// OIDC says which identity tokens count, and what they mean.
type OIDC struct {
	// Issuers are the addresses of those whose tokens count, such as
	// "https://accounts.google.com". When there are several, all but one have a
	// name, as in "partner=https://login.example.com", which their users have
	// before their id, as in "partner:1234".
	Issuers []string
	// Audiences are what a token may be for. There must be one.
	Audiences []string
	// UserClaim is the claim that is the id of the user; empty means "sub". An
	// "email" counts if the issuer has verified it.
	UserClaim string
	// Admins are claims, such as "groups=operators", of callers who may do
	// everything; Delegates of those who may act for any user. They count in tokens
	// of the issuer without a name; those of another one have its name before
	// them, as in "partner:groups=operators".
	Admins, Delegates []string
	// ClientID is what the first of the Issuers knows this server by. With it,
	// users of the developer UI sign in there and come back to
	// /dev-ui/signin/callback, below PublicURL. A token for it counts without an
	// entry in Audiences. ClientSecret, or what is in ClientSecretFile, is the
	// secret of the client, if it has one.
	ClientID, ClientSecret, ClientSecretFile string
}

// Limits keep one caller, or one run, from taking what others need. Zero means
// no limit. See also Config.MaxModelCalls and Config.MaxBodyBytes.
type Limits struct {
	// RequestsPerMinute is how often a caller may come, for each application.
	RequestsPerMinute int
	// ConcurrentRuns is how many runs of one caller and application this server
	// works on at once.
	ConcurrentRuns int
	// QueueDepth is how many messages may wait for a session.
	QueueDepth int
	// RunDuration ends a run that takes longer.
	RunDuration time.Duration
	// RunTokens ends a run that has used so many before it calls a model again.
	RunTokens int64
	// DayTokens is how many a user of an application may use in a day, in UTC, on
	// all servers that share the database.
	DayTokens int64
}

// bounds are the limits of what models and tools send.
func (c *Config) bounds() bounded.Limits {
	return bounded.Limits{ModelResponse: c.MaxModelResponseBytes, ToolResult: c.MaxToolResultBytes, ToolCalls: c.MaxToolCalls}
}

func (l *Limits) engine() run.Limits {
	return run.Limits{Runs: l.ConcurrentRuns, Queue: l.QueueDepth, Duration: l.RunDuration, Tokens: l.RunTokens, DayTokens: l.DayTokens}
}

// checkAccess refuses settings that cannot be meant.
func (c *Config) checkAccess() error {
	l := &c.Limits
	switch {
	case l.RequestsPerMinute < 0 || l.ConcurrentRuns < 0 || l.QueueDepth < 0 || l.RunDuration < 0 || l.RunTokens < 0 || l.DayTokens < 0:
		return errors.New("Limits must not be negative")
	case c.badOrigin() != "":
		return fmt.Errorf("AllowOrigins (--allow_origins): %q is no origin as browsers send it, such as https://app.example.com, or https://*.example.com with one *; the usual ports, 443 and 80, are left out", c.badOrigin())
	case c.badHost() != "":
		return fmt.Errorf("AllowHosts (--allow_hosts): %q is no host name, such as api.example.com or *.example.com; ports are left out", c.badHost())
	case c.Proxied && c.Access != AccessPublic:
		return errors.New("--proxied (Proxied) is for Access public: others tell callers apart by who they are, or know that there is a platform")
	case c.UserHeader != "" && c.Access != AccessPlatform:
		return errors.New("UserHeader (--user_header) is for Access platform: others could set it themselves")
	case c.Access != AccessOIDC && (c.OIDC.ClientID != "" || len(c.OIDC.Issuers) > 0 || len(c.OIDC.Audiences) > 0 || len(c.OIDC.Admins) > 0 || len(c.OIDC.Delegates) > 0):
		return errors.New("identity tokens are checked with Access oidc (--access oidc) only")
	case c.OIDC.ClientID == "" && (c.OIDC.ClientSecret != "" || c.OIDC.ClientSecretFile != ""):
		return errors.New("OIDC.ClientSecret is that of a client: give OIDC.ClientID (--oidc_client_id)")
	case c.OIDC.ClientID != "" && !c.WebUI:
		return errors.New("OIDC.ClientID (--oidc_client_id) is for users of the developer UI: it needs WebUI (--with_ui)")
	case c.OIDC.ClientID != "" && c.PublicURL == "" && !c.isLoopback():
		return errors.New("OIDC.ClientID (--oidc_client_id): users come back from the issuer, so the server has to know " +
			"where they reach it: give PublicURL (--public_url)")
	case c.Access != AccessKeys && c.KeysDBURL != "":
		return errors.New("API keys are checked with Access keys (--access keys) only")
	case c.Access == AccessKeys && c.KeysDBURL == "" && (inMemory(c.SessionDBURL) || inEngine(c.SessionDBURL)):
		return errors.New("API keys need a database: give SessionDBURL (--session_db_url) or, to keep sessions elsewhere, " +
			"KeysDBURL (--keys_db_url), such as sqlite:///path/to/keys.db")
	}
	return nil
}

// badOrigin is an origin that no browser would ever send, or a pattern with more
// than the one * that counts.
func (c *Config) badOrigin() string {
	for _, origin := range c.AllowOrigins {
		if !server.ValidOrigin(origin) {
			return origin
		}
	}
	return ""
}

// badHost is a name that no request is sent to.
func (c *Config) badHost() string {
	for _, host := range c.AllowHosts {
		name := strings.TrimPrefix(host, "*.")
		if name == "" || strings.ContainsAny(name, "*/ ") || strings.Contains(name, ":") && net.ParseIP(name) == nil {
			return host
		}
	}
	return ""
}

// openGate makes what tells callers apart.
func (s *Server) openGate(ctx context.Context) (err error) {
	switch s.cfg.Access {
	case AccessOIDC:
		o := s.cfg.OIDC
		if o.ClientSecretFile != "" {
			text, err := os.ReadFile(o.ClientSecretFile)
			if err != nil {
				return fmt.Errorf("OIDC.ClientSecretFile: %w", err)
			}
			o.ClientSecret = strings.TrimSpace(string(text))
		}
		issuers, err := access.OIDC(ctx, access.OIDCConfig{
			Issuers: o.Issuers, Audiences: o.Audiences, UserClaim: o.UserClaim, Admins: o.Admins, Delegates: o.Delegates,
			ClientID: o.ClientID, ClientSecret: o.ClientSecret, Log: s.cfg.Log,
		})
		if err != nil {
			return fmt.Errorf("OIDC: %w", err)
		}
		s.gate, s.signIn = issuers.Identify, server.SignIn{Takes: server.TakesToken, At: issuers.Client()}
		if s.signIn.At != nil {
			if s.signIn.Attempts, err = s.attemptVault(o.ClientSecret); err != nil {
				return fmt.Errorf("OIDC: %w", err)
			}
		}
	case AccessKeys:
		store := s.store
		if url := s.cfg.KeysDBURL; url != "" && url != s.cfg.SessionDBURL {
			if s.keys, _, err = openStore(ctx, &Config{SessionDBURL: url, Log: s.cfg.Log}); err != nil {
				return fmt.Errorf("KeysDBURL: %w", err)
			}
			store = s.keys
		}
		keys, err := keysIn(store)
		if err != nil {
			return err
		}
		s.gate, s.signIn = access.Keys(keys, s.cfg.Log), server.SignIn{Takes: server.TakesKey}
	}
	return nil
}

// attemptVault seals the sign-ins that are under way, which browsers keep. A
// browser may come back to another server than the one that it was at, so the
// keys are those that servers of one database share or, where they share none,
// come from the secret of the client, which is the same for all.
func (s *Server) attemptVault(clientSecret string) (*vault.Vault, error) {
	given := s.cfg.CredentialKey != "" || s.cfg.CredentialKeyFile != ""
	if v := s.logins.Vault(); v != nil && (given || !inEngine(s.cfg.SessionDBURL)) {
		return v, nil
	}
	if clientSecret == "" {
		s.cfg.Log.Warn("users can sign in only when their browser comes back to the server at which they began; if there are several servers, " +
			"give all the same key (--credential_key_file)")
		key, err := vault.Generate()
		if err != nil {
			return nil, err
		}
		return vault.New(key)
	}
	key, err := hkdf.Key(sha256.New, []byte(clientSecret), nil, "parley sign-in attempts", 32)
	if err != nil {
		return nil, err
	}
	return vault.New([]byte(base64.StdEncoding.EncodeToString(key)))
}

// gateFor is the gate for a listener at an address, which may be nil.
func (s *Server) gateFor(listening *net.TCPAddr) access.Gate {
	nobody := s.cfg.Limits.RequestsPerMinute == 0 && s.cfg.Limits.ConcurrentRuns == 0 // whom it would matter to tell apart
	switch {
	case s.gate != nil:
		return s.gate
	case s.cfg.Access == AccessPublic && s.cfg.WebUI: // which is there for everybody to look into agents
		return access.Public(s.cfg.Proxied, access.Dev)
	case s.cfg.Access == AccessPublic:
		return access.Public(s.cfg.Proxied)
	case s.cfg.UserHeader == "" && nobody:
		return nil
	case s.cfg.Access == AccessPlatform, s.cfg.Access == "" && listening != nil && !listening.IP.IsLoopback():
		return access.Platform(s.cfg.UserHeader)
	}
	return access.Local
}

// keysIn are the API keys of a store.
func keysIn(store session.Store) (session.APIKeys, error) {
	if c, ok := store.(interface{ Unwrap() session.Store }); ok {
		store = c.Unwrap()
	}
	keys, ok := store.(session.APIKeys)
	if !ok {
		return nil, errors.New("the database of the sessions keeps no API keys: give another one with KeysDBURL (--keys_db_url)")
	}
	return keys, nil
}

// NewKey is an API key to be made.
type NewKey struct {
	// Name says what it is for.
	Name string
	// User is whom it speaks for. It may be empty if a scope is "users" or
	// "admin".
	User string
	// Scopes are what it may do: "read" to look at sessions of the user, "run" to
	// do everything with them that users do, "users" to act for any user, "admin"
	// for everything. None means "run".
	Scopes []string
	// Life is how long it may be used; 0 means until it is revoked.
	Life time.Duration
}

// Key is an API key as it is kept, which is not enough to use it.
type Key struct {
	ID     string // a part of the key that is no secret
	Name   string
	User   string
	Scopes []string
	// Created, Expires and Used are moments; a zero Expires is never, a zero Used
	// is not yet. That a key is used is noted once in a minute.
	Created, Expires, Used time.Time
}

// Keys are the API keys in a database.
type Keys struct {
	store session.Store
	keys  session.APIKeys
}

// OpenKeys opens the API keys in the database at url, as in Config.SessionDBURL.
// They have to be closed.
func OpenKeys(ctx context.Context, url string) (*Keys, error) {
	return openKeys(ctx, url, func(ctx context.Context, url string) (session.Store, error) {
		store, _, err := openStore(ctx, &Config{SessionDBURL: url, Log: slog.New(slog.DiscardHandler)})
		return store, err
	})
}

// OpenExistingKeys is OpenKeys for a database that must be there: no file is made.
func OpenExistingKeys(ctx context.Context, url string) (*Keys, error) {
	return openKeys(ctx, url, openExisting)
}

func openKeys(ctx context.Context, url string, open func(context.Context, string) (session.Store, error)) (*Keys, error) {
	if url == "" {
		return nil, errors.New("parley: API keys need a database")
	}
	store, err := open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("parley: %w", err)
	}
	keys, err := keysIn(store)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("parley: %w", err), store.Close())
	}
	return &Keys{store, keys}, nil
}

// Create makes a key. text is the key itself, which is kept nowhere.
func (k *Keys) Create(ctx context.Context, key NewKey) (text string, made Key, err error) {
	n := access.NewKey{Name: key.Name, User: key.User, Life: key.Life}
	for _, s := range key.Scopes {
		n.Scopes = append(n.Scopes, access.Scope(s))
	}
	text, kept, err := access.CreateKey(ctx, k.keys, n)
	if err != nil {
		return "", Key{}, fmt.Errorf("parley: %w", err)
	}
	return text, keyOf(kept), nil
}

// List lists all keys, the oldest first.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	list, err := k.keys.ListAPIKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("parley: %w", err)
	}
	out := make([]Key, len(list))
	for i, one := range list {
		out[i] = keyOf(one)
	}
	return out, nil
}

// Revoke removes the key with that id. Servers that have seen it lately let it
// in for some seconds more.
func (k *Keys) Revoke(ctx context.Context, id string) error {
	if err := k.keys.DeleteAPIKey(ctx, id); err != nil {
		if errors.Is(err, session.ErrNoAPIKey) {
			return fmt.Errorf("parley: there is no API key %s", id)
		}
		return fmt.Errorf("parley: %w", err)
	}
	return nil
}

// Close closes the database.
func (k *Keys) Close() error { return k.store.Close() }

func keyOf(k *session.APIKey) Key {
	return Key{ID: k.ID, Name: k.Name, User: k.User, Scopes: k.Scopes, Created: k.Created, Expires: k.Expires, Used: k.Used}
}

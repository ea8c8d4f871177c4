package broker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/broker/vault/keyring"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/session"
)

func TestRefreshOnce(t *testing.T) {
	for name, perUser := range map[string]bool{"session": false, "user": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, provider.Options{}, func(o *broker.Options) { o.PerUser = perUser })
			brokers := []*broker.Broker{w.broker, broker.New(w.options)}
			config := w.openID()
			w.login(w.broker, w.key, "call-1", config)
			before := w.response(w.broker, w.key, config).OAuth2.AccessToken
			for round := 1; round <= 3; round++ {
				w.advance(2 * time.Hour)
				var calls sync.WaitGroup
				tokens := make([]string, 10)
				for i := range tokens {
					calls.Go(func() {
						if cred := w.response(brokers[i%2], w.key, config); cred != nil {
							tokens[i] = cred.OAuth2.AccessToken
						}
					})
				}
				calls.Wait()
				for _, token := range tokens {
					if token != tokens[0] || token == "" || token == before {
						t.Fatalf("round %d: the calls have different tokens, or old ones", round)
					}
				}
				if n := len(w.provider.Requests(provider.TokenPath)) - 1; n != round || w.provider.Counts().Refreshes != round {
					t.Fatalf("round %d: %d refreshes were asked for, and %d granted", round, n, w.provider.Counts().Refreshes)
				}
				before = tokens[0]
			}
			if status := w.callAPI(config, w.response(w.broker, w.key, config)); status != 200 {
				t.Errorf("the API answers %d", status)
			}
		})
	}
}

func TestRefreshBeforeTheEnd(t *testing.T) {
	w := newWorld(t, provider.Options{KeepRefreshTokens: true}, nil)
	w.login(w.broker, w.key, "call-1", w.config())
	w.advance(time.Hour - 2*time.Minute)
	w.response(w.broker, w.key, w.config())
	if n := w.provider.Counts().Refreshes; n != 0 {
		t.Errorf("%d refreshes two minutes before the end", n)
	}
	w.advance(90 * time.Second)
	// The token is good for a bit longer, whatever the provider says.
	broken := w.provider.Break(provider.TokenPath, provider.Fault{Status: 503, Body: "{}"})
	if w.response(w.broker, w.key, w.config()) == nil {
		t.Error("a token that is good is not used")
	}
	broken.Repair()
	for range 2 {
		w.response(w.broker, w.key, w.config())
	}
	if n := w.provider.Counts().Refreshes; n != 1 {
		t.Errorf("%d refreshes before the end", n)
	}
}

func TestRefreshFails(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	w.login(w.broker, w.key, "call-1", w.config())
	w.advance(2 * time.Hour)
	broken := w.provider.Break(provider.TokenPath, provider.Fault{Status: 503, Body: "{}"})
	_, err := w.broker.For(w.key).Response(t.Context(), w.config())
	wantFailed(t, w.hear(err), "", "status 503")
	broken.Repair()
	if w.response(w.broker, w.key, w.config()) == nil {
		t.Error("the credential was lost over a provider that was down")
	}
	w.advance(2 * time.Hour)
	w.provider.RevokeAll()
	if got := w.response(w.broker, w.key, w.config()); got != nil {
		t.Errorf("after the provider has taken it back, there is %v", got)
	}
	if names := w.names(); len(names) > 0 {
		t.Errorf("what is kept is %v", names)
	}
}

func TestNoRefreshToken(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	config := w.config(provider.ScopeRead) // without offline_access
	w.login(w.broker, w.key, "call-1", config)
	w.advance(time.Hour - 30*time.Second)
	if w.response(w.broker, w.key, config) == nil {
		t.Error("the token is not used to its end")
	}
	w.advance(time.Minute)
	if got := w.response(w.broker, w.key, config); got != nil {
		t.Errorf("after its end, there is %v", got)
	}
}

// A run that is cancelled while a token is refreshed must not lose the new one.
func TestRefreshOutlivesItsCaller(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	w.login(w.broker, w.key, "call-1", w.config())
	w.advance(2 * time.Hour)
	broken := w.provider.Break(provider.TokenPath, provider.Fault{Hang: true, Times: 1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := w.broker.For(w.key).Response(ctx, w.config())
		w.hear(err)
	}()
	<-broken.Reached()
	cancel()
	broken.Repair()
	<-done
	if w.response(w.broker, w.key, w.config()) == nil || w.provider.Counts().Refreshes != 1 {
		t.Errorf("after the call was cancelled: %+v", w.provider.Counts())
	}
}

// What was taken away while it was refreshed stays away, the new token too.
func TestRevokedDuringRefresh(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	config := w.openID()
	w.login(w.broker, w.key, "call-1", config)
	w.advance(2 * time.Hour)
	broken := w.provider.Break(provider.TokenPath, provider.Fault{Hang: true, Times: 1})
	done := make(chan *credential.Credential)
	go func() { done <- w.response(w.broker, w.key, config) }()
	<-broken.Reached()
	if err := w.broker.For(w.key).Drop(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	broken.Repair()
	if got := <-done; got != nil {
		t.Errorf("there is %v", got)
	}
	if counts := w.provider.Counts(); counts.Refreshes != 1 || counts.Revocations != 1 {
		t.Errorf("the provider has granted %+v", counts)
	}
	if names := w.names(); len(names) > 0 {
		t.Errorf("what is kept is %v", names)
	}
}

// flaky is a store that does not store credentials, or deletes nothing, for some
// time.
type flaky struct {
	session.Secrets
	fails, keeps atomic.Int32
}

func (f *flaky) DeleteSecret(ctx context.Context, id session.SecretID) error {
	if f.keeps.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return f.Secrets.DeleteSecret(ctx, id)
}

func (f *flaky) PutSecret(ctx context.Context, s *session.Secret) (int64, error) {
	if strings.HasPrefix(s.Name, "credential/") && f.fails.Add(-1) >= 0 {
		return 0, errors.New("the disk is full")
	}
	return f.Secrets.PutSecret(ctx, s)
}

func TestTokenIsStoredBeforeItIsUsed(t *testing.T) {
	store := &flaky{}
	w := newWorld(t, provider.Options{}, func(o *broker.Options) {
		store.Secrets = o.Secrets
		o.Secrets = store
	})
	w.login(w.broker, w.key, "call-1", w.config())
	w.advance(2 * time.Hour)
	store.fails.Store(2)
	if w.response(w.broker, w.key, w.config()) == nil {
		t.Error("a store that recovers loses a token")
	}
	w.advance(2 * time.Hour)
	store.fails.Store(1000)
	if got, err := w.broker.For(w.key).Response(t.Context(), w.config()); w.hear(err) == nil {
		t.Errorf("a token that was not stored is used: %v", got)
	}
}

// A process that dies between its last two steps leaves a login that is complete
// and pending.
func TestCompleteIsTakenUpAgain(t *testing.T) {
	store := &flaky{}
	w := newWorld(t, provider.Options{}, func(o *broker.Options) {
		store.Secrets = o.Secrets
		o.Secrets = store
	})
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	if err := w.receive(w.broker, w.key, "call-1", asked, w.reply(asked, w.visit(asked, true), credential.Camel)); err != nil {
		t.Fatal(err)
	}
	store.keeps.Store(1)
	if err := w.broker.Complete(t.Context(), w.key, "call-1", asked); w.hear(err) == nil {
		t.Fatal("it has not failed")
	}
	if err := broker.New(w.options).Complete(t.Context(), w.key, "call-1", asked); w.hear(err) != nil {
		t.Fatal(err)
	}
	if n := len(w.provider.Requests(provider.TokenPath)); n != 1 || len(w.names()) != 1 {
		t.Errorf("%d exchanges; what is kept is %v", n, w.names())
	}
}

func TestCompleteOnce(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	brokers := []*broker.Broker{w.broker, broker.New(w.options)}
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	if err := w.receive(w.broker, w.key, "call-1", asked, w.reply(asked, w.visit(asked, true), credential.Camel)); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for i := range 10 {
		calls.Go(func() {
			if err := brokers[i%2].Complete(t.Context(), w.key, "call-1", asked); w.hear(err) != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := len(w.provider.Requests(provider.TokenPath)); n != 1 {
		t.Errorf("%d exchanges", n)
	}
}

// What is sealed with an old key is sealed with the new one when it is used.
func TestRotatedKey(t *testing.T) {
	file := keyring.File{Path: filepath.Join(t.TempDir(), "keys.json")}
	open := func() *vault.Vault { // as it is now, and stays
		text, err := os.ReadFile(file.Path)
		if err != nil {
			t.Fatal(err)
		}
		v, err := keyring.New(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if err := file.New(t.Context()); err != nil {
		t.Fatal(err)
	}
	old := open()
	if err := file.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, provider.Options{}, func(o *broker.Options) { o.Vault = old })
	typed := &credential.Config{Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"}}
	asked := w.ask(w.broker, w.key, "call-0", typed, credential.Camel)
	if err := w.receive(w.broker, w.key, "call-0", asked, []byte(`"sk-typed-in"`)); err != nil {
		t.Fatal(err)
	}
	if err := w.broker.Complete(t.Context(), w.key, "call-0", asked); err != nil {
		t.Fatal(err)
	}
	w.login(w.broker, w.key, "call-1", w.config())
	w.options.Vault = open()
	b := broker.New(w.options)
	w.advance(2 * time.Hour)
	if w.response(b, w.key, typed) == nil || w.response(b, w.key, w.config()) == nil {
		t.Fatal("they do not open")
	}
	all, err := w.store.ListSecrets(t.Context(), "app", "user")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if strings.HasPrefix(s.Name, "credential/") && w.options.Vault.Stale(s.Sealed) {
			t.Errorf("%s is sealed with the old key", s.Name)
		}
	}
}

func TestDrop(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	w.login(w.broker, w.key, "call-1", w.config())
	for range 2 {
		if err := w.broker.For(w.key).Drop(t.Context(), w.config()); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.response(w.broker, w.key, w.config()); got != nil {
		t.Errorf("there is %v", got)
	}
}

// Who was refused with an old token does not take the new one from others.
func TestDropRefused(t *testing.T) {
	program := func(w *world) *credential.Config {
		config := w.config(provider.ScopeRead)
		flows := config.Scheme.Flows
		flows.ClientCredentials, flows.AuthorizationCode = flows.AuthorizationCode, nil
		flows.ClientCredentials.AuthorizationURL = ""
		return config
	}
	for name, configure := range map[string]func(*world) *credential.Config{
		"user": func(w *world) *credential.Config { return w.config() }, "program": program,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, provider.Options{}, nil)
			config := configure(w)
			if !config.ForProgram() {
				w.login(w.broker, w.key, "call-1", config)
			}
			drop := func(refused *credential.Credential) {
				t.Helper()
				with := config.Clone()
				with.Exchanged = refused.Clone()
				if err := w.broker.For(w.key).Drop(t.Context(), with); w.hear(err) != nil {
					t.Fatal(err)
				}
			}
			first := w.response(w.broker, w.key, config)
			w.advance(2 * time.Hour)
			second := w.response(w.broker, w.key, config)
			if second == nil || second.OAuth2.AccessToken == first.OAuth2.AccessToken {
				t.Fatal("the token was not renewed")
			}
			drop(first)
			if got := w.response(w.broker, w.key, config); got == nil || got.OAuth2.AccessToken != second.OAuth2.AccessToken {
				t.Error("the new token went with the old one")
			}
			w.advance(time.Minute) // it is the token that counts, not how long it is good for
			drop(second)
			if got := w.response(w.broker, w.key, config); got != nil && got.OAuth2.AccessToken == second.OAuth2.AccessToken {
				t.Error("the refused token is still there")
			}
			drop(second) // and again, when there is none
		})
	}
}

func TestListAndRevoke(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	config := w.openID()
	config.CredentialKey = "calendar"
	w.login(w.broker, w.key, "call-1", config)
	w.ask(w.broker, w.key, "call-2", w.config(), credential.Camel) // pending ones are not listed
	entries, err := w.broker.List(t.Context(), "app", "user")
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	e := entries[0]
	if e.Session != "s1" || e.Key != "calendar" || e.Type != credential.TypeOAuth2 || "http://"+e.Provider != w.provider.Issuer() ||
		len(e.Scopes) != 3 || e.Age < 0 || e.GrantedAt.IsZero() || e.ExpiresAt.Sub(e.GrantedAt).Round(time.Minute) != time.Hour {
		t.Errorf("%+v", e)
	}
	token := w.response(w.broker, w.key, config)
	if err := w.broker.Revoke(t.Context(), "app", "other", e.Session, e.Name); !errors.Is(err, session.ErrNoSecret) {
		t.Errorf("another user's: %v", err)
	}
	if err := w.broker.Revoke(t.Context(), "app", "user", e.Session, e.Name); w.hear(err) != nil {
		t.Fatal(err)
	}
	if got := w.response(w.broker, w.key, config); got != nil {
		t.Errorf("there is %v", got)
	}
	if status := w.callAPI(config, token); status != 401 || w.provider.Counts().Revocations != 1 {
		t.Errorf("the API answers %d; %+v", status, w.provider.Counts())
	}
	if err := w.broker.Revoke(t.Context(), "app", "user", e.Session, e.Name); !errors.Is(err, session.ErrNoSecret) {
		t.Errorf("twice: %v", err)
	}
	// A provider that does not listen does not keep us from forgetting.
	w.login(w.broker, w.key, "call-3", config)
	w.provider.Break(provider.RevokePath, provider.Fault{Status: 500, Body: "{}"})
	if err := w.broker.Revoke(t.Context(), "app", "user", e.Session, e.Name); w.hear(err) != nil || w.response(w.broker, w.key, config) != nil {
		t.Errorf("with a provider that does not answer: %v", err)
	}
}

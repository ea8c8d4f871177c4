package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/broker/vault/keyring"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/session"
)

func rawState(pairs ...string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return out
}

// lookup is a state.
type lookup map[string]json.RawMessage

func (l lookup) Get(key string) (json.RawMessage, bool) { v, ok := l[key]; return v, ok }
func (l lookup) All() map[string]json.RawMessage        { return l }

func TestSealState(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	w.login(w.broker, w.key, "call-1", w.config())
	run := w.broker.For(w.key)
	plain := rawState("a", "1", "b", `{"token":"tool argument"}`, "gone", "null")
	if got, err := run.Seal(t.Context(), plain, nil); err != nil || len(got) != 3 {
		t.Errorf("what is not secret becomes %v, %v", got, err)
	}
	cred, err := run.Response(t.Context(), w.config())
	if err != nil {
		t.Fatal(err)
	}
	token := cred.OAuth2.AccessToken
	whole, err := cred.AppendJSON(nil, credential.Snake)
	if err != nil {
		t.Fatal(err)
	}
	w.secret(token)
	delta := rawState("a", "1", "token", `"`+token+`"`, "nested", `{"x":["Bearer `+token+`"]}`, "whole", string(whole),
		"user:t", `"`+token+`"`, "secret:any", `{"pin":1234}`, "temp:t", `"`+token+`"`)
	sealed, err := run.Seal(t.Context(), delta, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range delta {
		switch got, there := sealed[key]; {
		case key == "a" && string(got) != "1", key == "secret:any" && there, key != "a" && key != "secret:any" && string(got) != redact.Sealed:
			t.Errorf("%s is stored as %s", key, got)
		}
		// Another run, of another server, opens it.
		next := broker.New(w.options).For(w.key)
		if got, ok, err := next.Open(t.Context(), key); key != "a" && (err != nil || !ok || string(got) != string(value)) {
			t.Errorf("%s opens as %s, %v, %v", key, got, ok, err)
		}
		if key != "a" && key != "secret:any" && strings.Contains(string(next.Scrub([]byte(`{"say":"`+token+`"}`))), token) {
			t.Errorf("the value of %s is not scrubbed after it was opened", key)
		}
	}
	// What a tool brings along to ask with is secret, too.
	if got := run.Scrub([]byte(`"` + w.config().Raw.OAuth2.ClientSecret + `"`)); string(got) != `"[redacted]"` {
		t.Errorf("the client's secret becomes %s", got)
	}
	// Other sessions have their own, but for what is the user's.
	other := w.broker.For(w.session("s2"))
	for _, key := range []string{"token", "secret:any", "user:t"} {
		if _, ok, err := other.Open(t.Context(), key); err != nil || ok != (key == "user:t") {
			t.Errorf("in another session, %s is there: %v, %v", key, ok, err)
		}
	}
	// What is not sealed any more is forgotten.
	before := lookup(sealed)
	if _, err := run.Seal(t.Context(), rawState("token", "null", "whole", `"x"`, "secret:any", "null"), before); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"token", "whole", "secret:any"} {
		if _, ok, err := run.Open(t.Context(), key); ok || err != nil {
			t.Errorf("%s is still there, %v", key, err)
		}
	}
	_, err = run.Seal(t.Context(), rawState("app:t", `"`+token+`"`), nil)
	wantRefused(t, errors.Unwrap(w.hear(err)), broker.Incomplete)
}

func TestScrub(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	run := w.broker.For(w.key)
	const key, number = `k&y "quoted" <1>`, "12345678901"
	for _, secret := range []string{key, number, "with/slash", "short"} {
		_, err := run.Response(t.Context(), &credential.Config{
			Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"},
			Raw:    &credential.Credential{Type: credential.TypeAPIKey, APIKey: secret},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	escaped, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"a":` + string(escaped) + `}`:                                  `{"a":"[redacted]"}`,
		`{"a":"k&y \"quoted\" <1>!"}`:                                    `{"a":"[redacted]!"}`,
		`{"a":"?key=k%26y+%22quoted%22+%3C1%3E"}`:                        `{"a":"?key=[redacted]"}`,
		`{"n":` + number + `,"m":9` + number + `9,"s":"` + number + `"}`: `{"n":1,"m":919,"s":"1"}`,
		`{"a":"short"}`:                `{"a":"short"}`,
		`["with/slash","with\/slash"]`: `["[redacted]","[redacted]"]`,
	} {
		got := run.Scrub([]byte(in))
		if string(got) != want || !json.Valid(got) {
			t.Errorf("%s becomes %s", in, got)
		}
	}
}

// What could become a secret is not decided yet; a secret is shown as a whole or
// not at all.
func TestDecided(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	run := w.broker.For(w.key)
	if run.Knows() || run.Decided("anything") != len("anything") {
		t.Error("there is something to look for, before there is a secret")
	}
	for _, secret := range []string{"abcdefgh", "ghijklmnop", "abcdefghxyz", "with space/and", "ababababab"} {
		_, err := run.Response(t.Context(), &credential.Config{
			Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"},
			Raw:    &credential.Credential{Type: credential.TypeAPIKey, APIKey: secret},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !run.Knows() {
		t.Error("nothing is known")
	}
	for text, want := range map[string]string{
		"":                     "",
		"nothing":              "nothin", // two secrets begin with g
		"it is abc":            "it is ",
		"it is abc.":           "it is abc.",
		"it is abcdefgh":       "it is ", // it may be the longer one, or overlap with the next
		"it is abcdefghxy":     "it is ",
		"it is abcdefghxyz":    "it is abcdefghxyz",
		"it is abcdefghxyza":   "it is abcdefghxyz",
		"it is abcdefghijk":    "it is ",
		"with+spac":            "",
		"with%20space%2":       "",
		"with%20space/":        "with%20space/",
		"abababababababababab": "ababababab",
	} {
		if got := text[:run.Decided(text)]; got != want {
			t.Errorf("of %q, %q is decided, want %q", text, got, want)
		}
	}
}

// Values of the state are sealed again with the rest when keys are rotated, also
// those of users without a session.
func TestReseal(t *testing.T) {
	file := keyring.File{Path: filepath.Join(t.TempDir(), "keys.json")}
	keys, err := file.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, provider.Options{}, func(o *broker.Options) { o.PerUser, o.Vault = true, keys })
	w.login(w.broker, w.key, "call-1", w.config())
	if _, err := w.broker.For(w.key).Seal(t.Context(), rawState("user:k", `{"authType":"apiKey","apiKey":"typed-in-key"}`), nil); err != nil {
		t.Fatal(err)
	}
	lost := session.SecretID{App: "app", User: "user", Name: "credential/lost"}
	if _, err := w.store.PutSecret(t.Context(), &session.Secret{SecretID: lost, Sealed: []byte("sealed:v1:AAAA"), About: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Delete(t.Context(), w.key); err != nil {
		t.Fatal(err)
	}
	if done, err := broker.Reseal(t.Context(), w.store, keys); err != nil || done != (broker.Resealed{Lost: 1}) {
		t.Errorf("before the rotation: %+v, %v", done, err)
	}
	if err := file.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := broker.Reseal(t.Context(), w.store, keys); err != nil || done != (broker.Resealed{Sealed: 2, Lost: 1}) {
		t.Errorf("after the rotation: %+v, %v", done, err)
	}
	if err := file.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.response(w.broker, w.session("s3"), w.config()) == nil {
		t.Error("the login does not open with the new key alone")
	}
	if _, ok, err := w.broker.For(w.key).Open(t.Context(), "user:k"); err != nil || !ok {
		t.Errorf("the value does not open with the new key alone: %v", err)
	}
}

// busy changes a secret whenever it is read.
type busy struct {
	session.Store
	times int
}

func (b *busy) WalkSecrets(ctx context.Context, after int64, limit int) ([]*session.Secret, error) {
	page, err := b.Store.WalkSecrets(ctx, after, limit)
	for _, s := range page {
		if b.times++; b.times > 3 {
			break
		}
		if _, err := b.PutSecret(ctx, s); err != nil {
			return nil, err
		}
	}
	return page, err
}

// Servers that are running while keys are rotated lose nothing.
func TestResealWhileInUse(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	w.login(w.broker, w.key, "call-1", w.config())
	strange, err := vault.New(vault.Generate())
	if err != nil {
		t.Fatal(err)
	}
	if done, err := broker.Reseal(t.Context(), w.store, strange); err != nil || done != (broker.Resealed{Lost: 1}) {
		t.Errorf("with other keys: %+v, %v", done, err)
	}
	file := keyring.File{Path: filepath.Join(t.TempDir(), "keys.json")}
	keys, err := file.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.options.Vault = keys
	b := broker.New(w.options)
	w.login(b, w.session("s2"), "call-2", w.config())
	if err := file.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	meddled := &busy{Store: w.store}
	if done, err := broker.Reseal(t.Context(), meddled, keys); err != nil || done != (broker.Resealed{Sealed: 1, Lost: 1}) {
		t.Errorf("%+v, %v", done, err)
	}
	if meddled.times <= 3 {
		t.Errorf("there was no second round")
	}
}

package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
)

// fakeCredentials hands out tokens, after a while.
type fakeCredentials struct {
	tool.Credentials
	takes time.Duration
	did   []string
}

func (d *fakeCredentials) Response(ctx context.Context, cfg *credential.Config) (*credential.Credential, error) {
	select {
	case <-time.After(d.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.did = append(d.did, "response")
	if cfg.CredentialKey == "none" {
		return nil, nil
	}
	return &credential.Credential{Type: credential.TypeHTTP, HTTP: &credential.HTTP{Token: fmt.Sprint("token-", len(d.did))}}, nil
}

func (d *fakeCredentials) Drop(context.Context, *credential.Config) error {
	d.did = append(d.did, "drop")
	return nil
}

func (d *fakeCredentials) Request(context.Context, *credential.Config) (*credential.Config, error) {
	d.did = append(d.did, "request")
	return &credential.Config{}, nil
}

const login = `{"authScheme":{"type":"http","scheme":"bearer"},"credentialKey":"some"}`

// desked is the scope of a call that gets credentials from a desk.
func desked(ctx context.Context, d *fakeCredentials, h *recentLogins) (*scope, *logins) {
	actions := &event.Actions{}
	tc := &tool.Context{Context: ctx, FunctionCallID: "c", Credentials: d, State: tool.NewState(nil, actions), Actions: actions}
	l := &logins{tc: tc, recent: h, fn: 7}
	return &scope{logins: l, tool: tc}, l
}

// The engine does not wait for long, and not at all for what a function has
// asked for before.
func TestLoginsKeepTheEngineFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, h := &fakeCredentials{takes: time.Minute}, &recentLogins{}
		sc, l := desked(t.Context(), d, h)
		l.prepare()
		begun := time.Now()
		if got, err := findCredential(sc, json.RawMessage(login)); !errors.Is(err, errSlow) {
			t.Errorf("got %s, %v", got, err)
		}
		if waited := time.Since(begun); waited != lookupTimeout {
			t.Errorf("the engine waited for %v", waited)
		}
		if err := l.finish(); err != nil || len(d.did) != 1 {
			t.Errorf("the look-up was not brought to its end: %v, %v", d.did, err)
		}

		sc, l = desked(t.Context(), d, h)
		l.prepare()
		begun = time.Now()
		for range 2 {
			got, err := findCredential(sc, json.RawMessage(login))
			if err != nil || !strings.Contains(fmt.Sprintf("%s", got), "token-2") {
				t.Errorf("got %s, %v", got, err)
			}
		}
		if time.Since(begun) != 0 || len(d.did) != 2 {
			t.Errorf("the engine waited for %v, and asked %v", time.Since(begun), d.did)
		}
		if err := l.finish(); err != nil {
			t.Error(err)
		}
	})
}

func TestLoginsDrop(t *testing.T) {
	d := &fakeCredentials{}
	sc, l := desked(t.Context(), d, &recentLogins{})
	text := json.RawMessage(login)
	type function = func(any, json.RawMessage) (any, error)
	for _, step := range []function{findCredential, dropCredential, findCredential, findCredential, dropCredential} {
		if _, err := step(sc, text); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := findCredential(sc, json.RawMessage(strings.Replace(login, "some", "none", 1))); err != nil || got.(json.RawMessage) != nil {
		t.Errorf("what there is not: %s, %v", got, err)
	}
	if _, err := dropCredential(sc, text); err != nil {
		t.Fatal(err)
	}
	if err := l.finish(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(d.did, " "); got != "response drop response drop response drop" {
		t.Errorf("the order was %s", got)
	}
	for name, step := range map[string]function{"credential": findCredential, "drop": dropCredential} {
		if _, err := step(sc, text); !errors.Is(err, engine.ErrCallOver) {
			t.Errorf("%s after the call: %v", name, err)
		}
		if _, err := step(nil, text); !errors.Is(err, engine.ErrCallOver) {
			t.Errorf("%s without a call: %v", name, err)
		}
	}
	if _, err := findCredential(&scope{}, text); !errors.Is(err, errNoLogins) {
		t.Errorf("in a scope without logins: %v", err)
	}
	sc, _ = desked(t.Context(), d, &recentLogins{})
	if _, err := findCredential(sc, json.RawMessage(`[]`)); err == nil || !strings.HasPrefix(err.Error(), "authConfig: ") {
		t.Errorf("of a value that is not a login: %v", err)
	}
}

// What a function asks for goes through the broker, and nothing of it is taken
// into the event as the function wrote it.
func TestApplyAsks(t *testing.T) {
	d := &fakeCredentials{}
	_, l := desked(t.Context(), d, &recentLogins{})
	secret := json.RawMessage(`{"authScheme":{"type":"http","scheme":"bearer"},"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientSecret":"hunter2-hunter2"}}}`)
	if err := apply(l.tc, &event.Actions{RequestedAuthConfigs: map[string]json.RawMessage{"another": secret}}); err == nil || len(d.did) != 0 {
		t.Errorf("for another call: %v, %v", d.did, err)
	}
	if err := apply(l.tc, &event.Actions{RequestedAuthConfigs: map[string]json.RawMessage{"c": secret}, TransferToAgent: "b"}); err != nil || len(d.did) != 1 {
		t.Errorf("for its own call: %v, %v", d.did, err)
	}
	if asked := l.tc.Actions.RequestedAuthConfigs; len(asked) != 1 || strings.Contains(string(asked["c"]), "hunter2") || l.tc.Actions.TransferToAgent != "b" {
		t.Errorf("the actions are %v", l.tc.Actions)
	}
}

func TestRecentLoginsAreFew(t *testing.T) {
	h := &recentLogins{}
	for i := range 10 {
		h.add(1, fmt.Sprint(i))
		h.add(1, fmt.Sprint(i))
	}
	if got := strings.Join(h.of(1), " "); got != "6 7 8 9" || h.of(2) != nil {
		t.Errorf("the recent logins are %s", got)
	}
}

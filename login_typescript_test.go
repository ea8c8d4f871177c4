package parley_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// calendarAPI is the calendar, and records the tokens that it receives.
type calendarAPI struct {
	*httptest.Server
	mu     sync.Mutex
	tokens []string
}

func newCalendarAPI(t *testing.T, p *provider.Provider) *calendarAPI {
	t.Helper()
	to, err := url.Parse(p.Issuer())
	if err != nil {
		t.Fatal(err)
	}
	a := &calendarAPI{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.tokens = append(a.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		a.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// lister is a model that lists the events as often as the user says, all at
// once, and is satisfied with what comes.
func lister() model.Model {
	return scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if len(scripted.LastResponses(req)) > 0 {
			return scripted.Say("That is all.")(ctx, req)
		}
		var calls []*event.FunctionCall
		for range len(scripted.LastUserText(req)) {
			calls = append(calls, &event.FunctionCall{Name: "list_events"})
		}
		return scripted.Calls(calls...)(ctx, req)
	})
}

var callbackCode = regexp.MustCompile(`[?&]code=([^&\\"]+)`)

// TestTypeScriptLogin goes through logins with tools in TypeScript: written by
// the rules of the specification, and made of documents, in both packages.
func TestTypeScriptLogin(t *testing.T) {
	for _, app := range []string{"custom", "custom_classic", "authenticated", "documented", "documented_classic"} {
		for _, store := range []string{"memory", "sqlite", "postgres"} {
			t.Run(app+"/"+store, func(t *testing.T) { loginInTypeScript(t, "quickjs", app, store) })
		}
		t.Run(app+"/node", func(t *testing.T) {
			nodejs.Node(t)
			loginInTypeScript(t, "node", app, "sqlite")
		})
	}
}

func loginInTypeScript(t *testing.T, engine, app, store string) {
	t.Helper()
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}, RequirePKCE: true})
	api := newCalendarAPI(t, p)
	id, secret := p.Client()
	for name, value := range map[string]string{
		"AUTH_URL": p.AuthURL(), "TOKEN_URL": p.TokenURL(), "ISSUER": p.Issuer() + provider.DiscoveryPath,
		"CLIENT_ID": id, "CLIENT_SECRET": secret, "HOST": api.URL, "API": api.URL + provider.APIPath,
	} {
		t.Setenv("CALENDAR_"+name, value)
	}
	var logged bytes.Buffer
	cfg := parley.Config{
		Scripts: parley.ScriptConfig{Dir: filepath.Join("testdata", "login", app), AppName: "calendar", Engine: parley.Engine(engine)}, Models: map[string]model.Model{"scripted": lister()},
		Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
		Log:    slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	dir := t.TempDir()
	keepIn(t, store, dir, &cfg)
	start := func() (*parley.Server, *visitor) {
		srv, err := parley.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return srv, &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	}
	srv, v := start()
	defer func() { srv.Close(t.Context()) }()
	if rec := v.do("POST", "/apps/calendar/users/u/sessions/s", ""); rec.Code != http.StatusOK {
		t.Fatalf("create: %d %s %s", rec.Code, rec.Body, &logged)
	}

	// Two calls share one credential: it is asked for once, and both wait.
	events := v.run(`{"text":"12"}`)
	if len(events) != 3 || len(events[2].Actions.RequestedAuthConfigs) != 2 || !strings.Contains(string(events[2].FunctionResponses()[0].Response), `"pending":true`) {
		t.Fatalf("asked: %s\n%s", v.seen, &logged)
	}
	all := ""
	if store != "memory" { // another process takes the answer
		srv.Close(t.Context())
		all = v.seen.String()
		srv, v = start()
	}
	first := v.login(p, events)
	events = v.run(first)
	if len(events) != 2 || len(events[0].FunctionResponses()) != 2 || events[1].Content.Text() != "That is all." || p.Counts().Exchanges != 1 {
		t.Fatalf("after the login: %s\n%s", v.seen, &logged)
	}
	for _, r := range events[0].FunctionResponses() {
		if !strings.Contains(string(r.Response), `"events":[]`) {
			t.Errorf("the calendar said %s", r.Response)
		}
	}
	// The login is remembered, until the calendar will have no more of it.
	if events = v.run(`{"text":"1"}`); len(events) != 3 || len(events[1].Actions.RequestedAuthConfigs) != 0 || p.Counts().Exchanges != 1 {
		t.Errorf("a login was asked for again: %s", v.seen)
	}
	p.Break(provider.APIPath, provider.Fault{Status: http.StatusUnauthorized, Body: `{"code":401,"message":"the token has been revoked"}`, Times: 1})
	events = v.run(`{"text":"1"}`)
	if len(events) != 3 || len(events[2].Actions.RequestedAuthConfigs) != 1 {
		t.Fatalf("after a refusal: %s\n%s", v.seen, &logged)
	}
	second := v.login(p, events)
	if events = v.run(second); len(events) != 2 || !strings.Contains(string(events[0].FunctionResponses()[0].Response), `"events":[]`) || p.Counts().Exchanges != 2 {
		t.Fatalf("after the second login: %s\n%s", v.seen, &logged)
	}
	v.do("GET", "/apps/calendar/users/u/sessions/s", "")
	v.do("GET", "/apps/calendar/users/u/sessions/s/export", "")
	v.do("GET", "/apps/calendar/users/u/credentials", "")
	v.do("GET", "/apps/calendar/app-info", "")

	// Nothing secret has left, and nothing is kept in clear.
	all += v.seen.String() + logged.String() + kept(t, dir)
	words := map[string]bool{secret: true}
	for _, part := range []string{first, second} {
		words[callbackCode.FindStringSubmatch(part)[1]] = true
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	for _, token := range api.tokens {
		words[token] = true
	}
	if len(words) != 5 { // a secret, two codes, two tokens
		t.Errorf("the words to look for are %v", words)
	}
	for word := range words {
		if word == "" || strings.Contains(all, word) {
			t.Errorf("%q is to be found", word)
		}
	}
}

// kept is all that a database has written.
func kept(t *testing.T, dir string) (all string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "parley.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, ".key") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(content)
	}
	return all
}

// TestTypeScriptStateOfAFork makes sure that a secret in the state stays where
// it is: another session has to log in itself.
func TestTypeScriptStateOfAFork(t *testing.T) {
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
	id, secret := p.Client()
	for name, value := range map[string]string{
		"AUTH_URL": p.AuthURL(), "TOKEN_URL": p.TokenURL(), "CLIENT_ID": id, "CLIENT_SECRET": secret, "API": p.API(),
	} {
		t.Setenv("CALENDAR_"+name, value)
	}
	srv, err := parley.Open(t.Context(), parley.Config{
		Scripts: parley.ScriptConfig{Dir: filepath.Join("testdata", "login", "custom"), AppName: "calendar"}, Models: map[string]model.Model{"scripted": lister()},
		Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	v.do("POST", "/apps/calendar/users/u/sessions/s", "")
	v.run(v.login(p, v.run(`{"text":"1"}`)))
	var session struct {
		State map[string]json.RawMessage
	}
	if err := json.Unmarshal(v.do("GET", "/apps/calendar/users/u/sessions/s", "").Body.Bytes(), &session); err != nil || string(session.State["calendar_token"]) != redact.Sealed {
		t.Fatalf("the state is %s, %v", session.State, err)
	}
	// What a client copies elsewhere is of no use there.
	state, err := json.Marshal(map[string]any{"state": session.State})
	if err != nil {
		t.Fatal(err)
	}
	v.do("POST", "/apps/calendar/users/u/sessions/s2", string(state))
	rec := v.do("POST", "/run", `{"appName":"calendar","userId":"u","sessionId":"s2","newMessage":{"parts":[{"text":"1"}]}}`)
	if !strings.Contains(rec.Body.String(), "svc_request_credential") {
		t.Errorf("another session is not asked to log in: %s", rec.Body)
	}
}

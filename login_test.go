package parley_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/calendar"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

// documented is the same with a tool that is made of a document.
func documented(t *testing.T, p *provider.Provider) *agent.Agent {
	t.Helper()
	id, secret := p.Client()
	server, path, _ := strings.Cut(strings.TrimPrefix(p.API(), "http://"), "/")
	tools, err := openapi.New(t.Context(), openapi.Config{
		Spec: fmt.Appendf(nil, `{"openapi":"3.0.3","info":{"title":"Calendar","version":"1"},"servers":[{"url":"http://%s"}],
			"paths":{"/%s":{"get":{"operationId":"listEvents","responses":{"200":{"description":"The events."}}}}}}`, server, path),
		Scheme: &credential.Scheme{
			Type: credential.TypeOpenIDConnect, OpenIDConnectURL: p.Issuer() + provider.DiscoveryPath,
			OpenID: credential.OpenID{Scopes: []string{"openid", "offline_access", provider.ScopeRead}},
		},
		Credential: &credential.Credential{Type: credential.TypeOpenIDConnect, OAuth2: &credential.OAuth2{ClientID: id, ClientSecret: secret}},
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := agent.NewLLM(agent.LLMConfig{Name: "calendar", Tools: tools.All(), Model: scripted.New(scripted.Call("list_events", nil), scripted.Say("That is all."))})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestDocumentedToolLogin(t *testing.T) {
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
	srv, err := parley.Open(t.Context(), parley.Config{
		Agents: map[string]*agent.Agent{"calendar": documented(t, p)}, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	v.do("POST", "/apps/calendar/users/u/sessions/s", "")
	events := v.run(v.login(p, v.run(`{"text":"What is on?"}`)))
	if len(events) != 2 || strings.Contains(string(events[0].FunctionResponses()[0].Response), "error") || events[1].Content.Text() != "That is all." {
		t.Errorf("after the login: %s", v.seen)
	}
}

// A provider on the server's own machine is called by a server that is for
// programs there; another one says so before a user logs in.
func TestLoginProviderOnLoopback(t *testing.T) {
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
	for access, open := range map[parley.AccessMode]bool{parley.AccessLocal: true, parley.AccessPlatform: false, "": false} {
		srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"calendar": documented(t, p)}, Access: parley.AccessConfig{Mode: access}})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close(t.Context())
		v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
		v.do("POST", "/apps/calendar/users/u/sessions/s", "")
		events := v.run(`{"text":"What is on?"}`)
		asked := strings.Contains(v.seen.String(), "svc_request_credential")
		if asked != open || open == strings.Contains(v.seen.String(), "--allow_private_logins") {
			t.Errorf("access %q: %s", access, v.seen)
		}
		if open {
			if events = v.run(v.login(p, events)); events[len(events)-1].Content.Text() != "That is all." {
				t.Errorf("after the login: %s", v.seen)
			}
		}
	}
}

// The name of the call that asks for a login is the request's choice, the
// application's or the server's, and stays as it was stored. Answers are taken
// under both names, and stored under that of the call.
func TestCredentialCall(t *testing.T) {
	const svc, adk = "svc_request_credential", "adk_request_credential"
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
	for name, tt := range map[string]struct{ flag, app, header, want string }{
		"none":           {want: svc},
		"flag":           {flag: adk, want: adk},
		"app":            {app: adk, want: adk},
		"app and flag":   {flag: adk, app: svc, want: svc},
		"header":         {header: adk, want: adk},
		"header and all": {flag: adk, app: adk, header: svc, want: svc},
	} {
		for _, answered := range []string{svc, adk} {
			root := documented(t, p)
			if tt.app != "" {
				root = agent.Must(agent.WithCredentialCall(root, tt.app))
			}
			srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"calendar": root}, Access: parley.AccessConfig{Mode: parley.AccessLocal}, Logins: parley.LoginConfig{Call: parley.LoginCall(tt.flag)}})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close(t.Context())
			v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}, header: tt.header}
			v.do("POST", "/apps/calendar/users/u/sessions/s", "")
			part := v.login(p, v.run(`{"text":"What is on?"}`))
			v.header = map[string]string{svc: adk, adk: svc}[tt.want] // which changes nothing that is stored
			events := v.run(strings.Replace(part, `"name":"`+tt.want, `"name":"`+answered, 1))
			if events[len(events)-1].Content.Text() != "That is all." {
				t.Errorf("%s, answered as %s: %s", name, answered, v.seen)
			}
			stored := v.do("GET", "/apps/calendar/users/u/sessions/s", "").Body.String()
			if n := strings.Count(stored, `"name":"`+tt.want+`"`); n != 2 || strings.Contains(stored, `"name":"`+v.header+`"`) {
				t.Errorf("%s, answered as %s: stored is %s", name, answered, stored)
			}
		}
	}
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"calendar": documented(t, p)}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}, header: "login"}
	if rec := v.do("POST", "/run", `{"appName":"calendar","userId":"u","sessionId":"s","newMessage":{"parts":[{"text":"x"}]}}`); rec.Code != 422 || !strings.Contains(rec.Body.String(), "X-Parley-Credential-Call") {
		t.Errorf("another name: %d %s", rec.Code, rec.Body)
	}
}

// The name that a request has chosen is also that of the server that takes the run
// over.
func TestCredentialCallAfterTakeover(t *testing.T) {
	const adk = "adk_request_credential"
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
	path := "sqlite://" + filepath.Join(t.TempDir(), "parley.db")
	open := func(root *agent.Agent) *visitor {
		srv, err := parley.Open(t.Context(), parley.Config{
			Agents: map[string]*agent.Agent{"calendar": root}, Access: parley.AccessConfig{Mode: parley.AccessLocal},
			Sessions: parley.SessionConfig{URL: path},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { srv.Close(context.Background()) })
		return &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}, close: srv.Close}
	}
	asked := make(chan struct{})
	stuck, err := agent.NewLLM(agent.LLMConfig{Name: "calendar", Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		close(asked)
		return scripted.Wait(nil, nil)(ctx, req)
	})})
	if err != nil {
		t.Fatal(err)
	}
	first := open(stuck)
	first.do("POST", "/apps/calendar/users/u/sessions/s", "")
	first.header = adk
	left := make(chan string)
	go func() {
		rec := first.do("POST", "/run", `{"appName":"calendar","userId":"u","sessionId":"s","newMessage":{"parts":[{"text":"What is on?"}]}}`)
		left <- rec.Header().Get("Location")
	}()
	<-asked
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first.close(over)

	second := open(documented(t, p))
	events := second.do("GET", <-left, "").Body.String()
	if !strings.Contains(events, `"name":"`+adk+`"`) || strings.Contains(events, "svc_request_credential") {
		t.Errorf("the second server asks with %s", events)
	}
}

// assistant-ui names the call that waits for the login, not the one that asks
// for it, and sends the credential alone.
func TestLoginAnsweredForTheWaitingCall(t *testing.T) {
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"calendar": documented(t, p)}, Access: parley.AccessConfig{Mode: parley.AccessLocal}, Logins: parley.LoginConfig{Call: "adk_request_credential"}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	v.do("POST", "/apps/calendar/users/u/sessions/s", "")
	events := v.run(`{"text":"What is on?"}`)
	id, authURI, _ := v.request(events)
	waiting := events[0].FunctionCalls()[0].ID
	back, err := p.Login(t.Context(), authURI+"&redirect_uri="+url.QueryEscape(redirect), "ann", true)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(id string) string {
		return fmt.Sprintf(`{"functionResponse":{"id":%q,"name":"adk_request_credential","response":{"authType":"oauth2","oauth2":{"authResponseUri":%q,"redirectUri":%q}}}}`, id, back, redirect)
	}
	if events = v.run(answer(waiting)); events[len(events)-1].Content.Text() != "That is all." {
		t.Errorf("after the login: %s", v.seen)
	}
	stored := v.do("GET", "/apps/calendar/users/u/sessions/s", "").Body.String()
	if !strings.Contains(stored, `"functionResponse":{"id":"`+id+`","name":"adk_request_credential"`) {
		t.Errorf("the answer is not stored as one to %s: %s", id, stored)
	}
	for _, id := range []string{waiting, id, "nothing"} {
		body := `{"appName":"calendar","userId":"u","sessionId":"s","newMessage":{"parts":[` + answer(id) + `]}}`
		if rec := v.do("POST", "/run", body); rec.Code != 409 && rec.Code != 422 {
			t.Errorf("another answer to %s: %d %s", id, rec.Code, rec.Body)
		}
	}
}

// visitor talks to a server and keeps all that it was told.
type visitor struct {
	t    *testing.T
	srv  http.Handler
	seen *bytes.Buffer

	header string // X-Parley-Credential-Call
	close  func(context.Context)
	asked  string // the name of the last request
}

func (v *visitor) do(method, path, body string) *httptest.ResponseRecorder {
	v.t.Helper()
	rec := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(v.t.Context(), method, path, strings.NewReader(body))
	if v.header != "" {
		request.Header.Set("X-Parley-Credential-Call", v.header)
	}
	v.srv.ServeHTTP(rec, request)
	v.seen.Write(rec.Body.Bytes())
	return rec
}

func (v *visitor) run(part string) []*event.Event {
	v.t.Helper()
	rec := v.do("POST", "/run", `{"appName":"calendar","userId":"u","sessionId":"s","newMessage":{"role":"user","parts":[`+part+`]}}`)
	var events []*event.Event
	if err := json.Unmarshal(rec.Body.Bytes(), &events); err != nil || rec.Code != http.StatusOK {
		v.t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	return events
}

// request is the credential request among events.
func (v *visitor) request(events []*event.Event) (id, authURI, config string) {
	v.t.Helper()
	for _, ev := range events {
		for _, call := range ev.FunctionCalls() {
			if !tool.IsCredentialCall(call.Name) {
				continue
			}
			v.asked = call.Name
			var args struct {
				Config json.RawMessage `json:"auth_config"`
			}
			if err := json.Unmarshal(call.Args, &args); err != nil {
				v.t.Fatal(err)
			}
			var inner struct {
				Exchanged struct {
					OAuth2 struct {
						AuthURI string `json:"auth_uri"`
					} `json:"oauth2"`
				} `json:"exchanged_auth_credential"`
			}
			if err := json.Unmarshal(args.Config, &inner); err != nil {
				v.t.Fatal(err)
			}
			return call.ID, inner.Exchanged.OAuth2.AuthURI, string(args.Config)
		}
	}
	v.t.Fatalf("no request in %v", events)
	return "", "", ""
}

const redirect = "http://localhost:9/callback"

// login does what the specification tells a client to do, and returns the part
// with the answer.
func (v *visitor) login(p *provider.Provider, events []*event.Event) string {
	v.t.Helper()
	id, authURI, config := v.request(events)
	callback, err := p.Login(v.t.Context(), authURI+"&redirect_uri="+url.QueryEscape(redirect), "ann", true)
	if err != nil {
		v.t.Fatal(err)
	}
	var full map[string]any
	if err := json.Unmarshal([]byte(config), &full); err != nil {
		v.t.Fatal(err)
	}
	oauth2 := full["exchanged_auth_credential"].(map[string]any)["oauth2"].(map[string]any)
	oauth2["auth_response_uri"], oauth2["redirect_uri"] = callback, redirect
	answer, err := json.Marshal(full)
	if err != nil {
		v.t.Fatal(err)
	}
	text, err := json.Marshal(string(answer)) // serialized, as the specification says
	if err != nil {
		v.t.Fatal(err)
	}
	return fmt.Sprintf(`{"functionResponse":{"id":%q,"name":%q,"response":%s}}`, id, v.asked, text)
}

func TestToolLogin(t *testing.T) {
	for _, store := range []string{"memory", "sqlite"} {
		t.Run(store, func(t *testing.T) {
			p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}, RequirePKCE: true})
			var logged bytes.Buffer
			cfg := parley.Config{
				Agents: map[string]*agent.Agent{"calendar": calendar.Agent(p)}, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
				Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}
			dir := t.TempDir()
			if store == "sqlite" {
				cfg.Sessions.URL = "sqlite://" + filepath.Join(dir, "parley.db")
			}
			srv, err := parley.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close(t.Context())
			v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
			v.do("POST", "/apps/calendar/users/u/sessions/s", "")

			events := v.run(`{"text":"What is on?"}`)
			if len(events) != 3 || len(events[2].Actions.RequestedAuthConfigs) != 1 {
				t.Fatalf("events %v", events)
			}
			part := v.login(p, events)
			events = v.run(part)
			if len(events) != 2 || !strings.Contains(string(events[0].FunctionResponses()[0].Response), `"code":200`) || events[1].Content.Text() != "That is all." {
				t.Fatalf("after the login: %s", v.seen)
			}
			// The same answer again is refused, without a request to the provider.
			before := len(p.Requests())
			rec := v.do("POST", "/run", `{"appName":"calendar","userId":"u","sessionId":"s","newMessage":{"parts":[`+part+`]}}`)
			if rec.Code != http.StatusConflict || len(p.Requests()) != before {
				t.Errorf("a second answer: status %d, %s", rec.Code, rec.Body)
			}
			// The login is remembered.
			if events = v.run(`{"text":"And now?"}`); len(events) != 3 || len(events[1].Actions.RequestedAuthConfigs) != 0 {
				t.Errorf("a login was asked for again: %s", v.seen)
			}
			var listed []map[string]any
			if err := json.Unmarshal(v.do("GET", "/apps/calendar/users/u/credentials", "").Body.Bytes(), &listed); err != nil || len(listed) != 1 || listed[0]["sessionId"] != "s" {
				t.Errorf("listed are %v, %v", listed, err)
			}
			if rec := v.do("DELETE", "/apps/calendar/users/u/credentials", ""); rec.Code != http.StatusOK {
				t.Errorf("delete: %d %s", rec.Code, rec.Body)
			}
			if events = v.run(`{"text":"Once more?"}`); len(events[2].Actions.RequestedAuthConfigs) != 1 {
				t.Errorf("no login was asked for after it was revoked: %s", v.seen)
			}
			v.do("GET", "/apps/calendar/users/u/sessions/s", "")
			v.do("GET", "/apps/calendar/users/u/sessions/s/export", "")

			// Nothing secret has left, and nothing is kept in clear.
			all := v.seen.String() + logged.String()
			files, err := filepath.Glob(filepath.Join(dir, "parley.db*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				content, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(name, ".key") {
					all += string(content)
				}
			}
			_, secret := p.Client()
			callback, err := url.Parse(part[strings.Index(part, redirect) : strings.Index(part[strings.Index(part, redirect):], `\"`)+strings.Index(part, redirect)])
			if err != nil {
				t.Fatal(err)
			}
			for what, word := range map[string]string{"the client secret": secret, "the code": callback.Query().Get("code")} {
				if word == "" || strings.Contains(all, word) {
					t.Errorf("%s, %q, is to be found", what, word)
				}
			}
		})
	}
}

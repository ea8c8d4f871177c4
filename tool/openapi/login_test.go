package openapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

// fakeCredentials gives out tokens, one after the other when they are dropped.
type fakeCredentials struct {
	tokens  []string // after a drop the next one counts; "" is none
	dropped int
	renewed string
	asked   []string // types of schemes
}

func (d *fakeCredentials) Request(_ context.Context, cfg *credential.Config) (*credential.Config, error) {
	d.asked = append(d.asked, string(cfg.Scheme.Type))
	return cfg.Redacted(), nil
}

func (d *fakeCredentials) Bind(context.Context, string, *credential.Config) error { return nil }

func (d *fakeCredentials) Response(_ context.Context, cfg *credential.Config) (*credential.Credential, error) {
	if cfg.Raw != nil && (cfg.Raw.APIKey != "" || cfg.Raw.HTTP != nil) {
		return cfg.Raw, nil
	}
	if len(d.tokens) == 0 || d.tokens[0] == "" {
		return nil, nil
	}
	if cfg.Scheme.Type == credential.TypeAPIKey {
		return &credential.Credential{Type: credential.TypeAPIKey, APIKey: d.tokens[0]}, nil
	}
	return &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{AccessToken: d.tokens[0]}}, nil
}

func (d *fakeCredentials) Drop(_ context.Context, cfg *credential.Config) error {
	d.dropped++
	if d.renewed != "" { // by another call, before this one was refused
		d.tokens = []string{d.renewed}
	}
	if refused := cfg.Exchanged; len(d.tokens) > 0 && refused.OAuth2.AccessToken == d.tokens[0] {
		d.tokens = d.tokens[1:]
	}
	return nil
}

// gate lets one token in, and counts who comes.
func gate(t *testing.T, good string, refusal int) (*httptest.Server, *int) {
	t.Helper()
	count := new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*count++
		if got := r.Header.Get("Authorization"); got != "Bearer "+good {
			w.WriteHeader(refusal)
			_, _ = io.WriteString(w, "I do not know "+got)
			return
		}
		_, _ = io.WriteString(w, `{"in":true}`)
	}))
	t.Cleanup(s.Close)
	return s, count
}

var (
	oauth = &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: &credential.Flow{
		AuthorizationURL: "https://idp.example/auth", TokenURL: "https://idp.example/token",
	}}}
	client = &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "client", ClientSecret: "hunter2hunter2"}}
)

const pending = `{"message":"Needs your authorization to access your data.","pending":true}`

// talk makes the same call again and again, as a session does: what a call puts
// into the state is there for the next.
func talk(t *testing.T, made tool.Tool, logins tool.Credentials) func() string {
	t.Helper()
	state := stored{}
	return func() string {
		t.Helper()
		ctx := newContext(t, state, logins)
		got := result(t, made, ctx, `{}`)
		for key, v := range ctx.Actions.StateDelta {
			if state[key] = v; string(v) == "null" {
				delete(state, key)
			}
		}
		if got != pending && len(state) > 0 {
			t.Errorf("left behind: %s", state)
		}
		if (got == pending) != (ctx.Actions.RequestedAuthConfigs["call-1"] != nil) {
			t.Errorf("%s, and asked for %s", got, ctx.Actions.RequestedAuthConfigs)
		}
		return got
	}
}

func TestLogin(t *testing.T) {
	for _, refusal := range []int{401, 403} {
		refused := fmt.Sprintf(`{"status":"error","error_message":"GET /a: %d %s: I do not know Bearer [redacted]"}`, refusal, http.StatusText(refusal))
		server, count := gate(t, "good-token", refusal)
		set := mustNew(t, openapi.Config{Spec: doc(`{"/a":{"get":{` + answers + `}}}`), BaseURL: server.URL, Scheme: oauth, Credential: client})
		made := mustTool(t, set, "get_a")
		for _, tt := range []struct {
			name    string
			tokens  []string
			arrives []string // the token that the user's login brings before each further call
			want    []string
			calls   int
			dropped int
		}{
			{"has one", []string{"good-token"}, nil, []string{`{"in":true}`}, 1, 0},
			{"asks", nil, []string{"good-token"}, []string{pending, `{"in":true}`}, 1, 0},
			{"asks until there is one", nil, []string{"", "good-token"}, []string{pending, pending, `{"in":true}`}, 1, 0},
			{"old one", []string{"old-token"}, []string{"good-token"}, []string{pending, `{"in":true}`}, 2, 1},
			{"bad one after a login", nil, []string{"bad-token"}, []string{pending, refused}, 1, 0},
			{"bad one after an old one", []string{"old-token"}, []string{"bad-token"}, []string{pending, refused}, 2, 1},
			{"another without a user", []string{"old-token", "good-token"}, nil, []string{`{"in":true}`}, 2, 1},
			{"two bad ones without a user", []string{"old-token", "bad-token"}, nil, []string{refused}, 2, 1},
			{"the same again", []string{"old-token", "old-token"}, nil, []string{refused}, 1, 1},
		} {
			t.Run(fmt.Sprint(tt.name, " ", refusal), func(t *testing.T) {
				*count = 0
				d := &fakeCredentials{tokens: tt.tokens}
				again := talk(t, made, d)
				for i, want := range tt.want {
					if i > 0 {
						d.tokens = []string{tt.arrives[i-1]}
					}
					if got := again(); got != want {
						t.Errorf("call %d: got %s, want %s", i, got, want)
					}
				}
				if *count != tt.calls || d.dropped != tt.dropped {
					t.Errorf("%d calls and %d dropped, want %d and %d", *count, d.dropped, tt.calls, tt.dropped)
				}
			})
		}
	}
}

// A call whose token was refused continues with the token that another call has got
// in the meantime: the user does not have to log in.
func TestRenewedByAnotherCall(t *testing.T) {
	server, count := gate(t, "good-token", 401)
	set := mustNew(t, openapi.Config{Spec: doc(`{"/a":{"get":{` + answers + `}}}`), BaseURL: server.URL, Scheme: oauth, Credential: client})
	d := &fakeCredentials{tokens: []string{"old-token"}, renewed: "good-token"}
	if got := talk(t, mustTool(t, set, "get_a"), d)(); got != `{"in":true}` || *count != 2 {
		t.Errorf("got %s after %d calls", got, *count)
	}
}

// A refused credential of the author's cannot be renewed by anyone's login.
func TestCredentialsOfTheAuthor(t *testing.T) {
	server, count := gate(t, "good-token", 401)
	for _, tt := range []struct {
		scheme *credential.Scheme
		raw    *credential.Credential
	}{
		{&credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "bearer"}, &credential.Credential{Type: credential.TypeHTTP, HTTP: &credential.HTTP{Token: "static-token"}}},
		{oauth, &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{AccessToken: "static-token"}}},
	} {
		set := mustNew(t, openapi.Config{Spec: doc(`{"/a":{"get":{` + answers + `}}}`), BaseURL: server.URL, Scheme: tt.scheme, Credential: tt.raw})
		d := &fakeCredentials{tokens: []string{"static-token", "static-token"}}
		for _, logins := range []tool.Credentials{d, nil} {
			*count = 0
			got := talk(t, mustTool(t, set, "get_a"), logins)()
			if got != `{"status":"error","error_message":"GET /a: 401 Unauthorized: I do not know Bearer [redacted]"}` || len(d.asked) > 0 || *count != 1 {
				t.Errorf("got %s, %+v", got, d)
			}
		}
		if tt.raw.HTTP != nil && d.dropped > 0 {
			t.Error("dropped a credential that cannot be renewed")
		}
	}
}

const schemes = `,"security":[{"key":[]}],"components":{"securitySchemes":{
	"key":{"type":"apiKey","in":"%s","name":"%s"},
	"login":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://idp.example/auth","tokenUrl":"https://idp.example/token","scopes":{}}}}}}`

func TestAPIKeys(t *testing.T) {
	server := echo(t)
	key := &credential.Credential{Type: credential.TypeAPIKey, APIKey: "s3cret-key"}
	for in, where := range map[string]func(seen) string{
		"header": func(s seen) string { return s.Header.Get("X-Key") },
		"query":  func(s seen) string { return s.Query },
		"cookie": func(s seen) string { return s.Header.Get("Cookie") },
	} {
		want := map[string]string{"header": "s3cret-key", "query": "q=1&X-Key=s3cret-key", "cookie": "c=2; X-Key=s3cret-key"}[in]
		spec := doc(`{"/a":{"get":{"operationId":"closed","parameters":[{"name":"q","in":"query","schema":{}},{"name":"c","in":"cookie","schema":{}},{"name":"X-Key","in":"`+in+`","required":true,"schema":{"type":"string"}}],`+answers+`},
			"post":{"operationId":"open","security":[],`+answers+`},
			"put":{"operationId":"either","security":[{"login":[]},{"key":[]}],`+answers+`},
			"patch":{"operationId":"optional","security":[{},{"key":[]}],`+answers+`},
			"delete":{"operationId":"other","security":[{"login":[]}],`+answers+`}}}`, fmt.Sprintf(schemes, in, "X-Key"))
		set := mustNew(t, openapi.Config{Spec: spec, BaseURL: server.URL, Credential: key})
		if got := where(sent(t, mustTool(t, set, "closed"), `{"q":1,"c":2}`)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
		for _, name := range []string{"either", "optional"} {
			if got := where(sent(t, mustTool(t, set, name), `{}`)); !strings.HasSuffix(want, got) || got == "" {
				t.Errorf("%s %s: got %s", name, in, got)
			}
		}
		if got := where(sent(t, mustTool(t, set, "open"), `{}`)); got != "" {
			t.Errorf("%s: an open operation got %s", in, got)
		}
		if got := call(t, mustTool(t, set, "other"), `{}`); !strings.Contains(got, "needs a login") || strings.Contains(got, "s3cret") {
			t.Errorf("got %s", got)
		}

		// Without a key, the user is asked for one.
		set = mustNew(t, openapi.Config{Spec: spec, BaseURL: server.URL})
		d := &fakeCredentials{}
		again := talk(t, mustTool(t, set, "closed"), d)
		if got := again(); got != pending || fmt.Sprint(d.asked) != "[apiKey]" {
			t.Errorf("got %s, %v", got, d.asked)
		}
		d.tokens = []string{"of-the-user"}
		if got := again(); !strings.Contains(got, "of-the-user") {
			t.Errorf("got %s", got)
		}
		if got := sent(t, mustTool(t, set, "optional"), `{}`); where(got) != "" {
			t.Errorf("got %+v", got)
		}
		if got := call(t, mustTool(t, set, "closed"), `{}`); !strings.Contains(got, "logins are not available here") {
			t.Errorf("got %s", got)
		}
	}
}

func TestRequestsSaySomething(t *testing.T) {
	set := mustNew(t, openapi.Config{File: "testdata/petstore31.yaml", Credential: client, CredentialKey: "pets"})
	ctx := newContext(t, nil, &fakeCredentials{})
	if got := result(t, mustTool(t, set, "search_animals"), ctx, `{"body":{"word":"x"}}`); got != pending {
		t.Fatal(got)
	}
	cfg, err := credential.DecodeConfig(ctx.Actions.RequestedAuthConfigs["call-1"])
	if err != nil || cfg.Key() != "pets" || cfg.Scheme.AuthorizationEndpoint() != "https://idp.example/auth" || fmt.Sprint(cfg.Scheme.Scopes()) != "[write]" {
		t.Errorf("got %v and %v", cfg, err)
	}
	if strings.Contains(string(ctx.Actions.RequestedAuthConfigs["call-1"]), "hunter2") {
		t.Error("the secret is shown")
	}
}

func TestLoginThatCannotBe(t *testing.T) {
	_, err := openapi.New(t.Context(), openapi.Config{Spec: doc(`{"/a":{"get":{` + answers + `}}}`), Scheme: oauth})
	if err == nil || !strings.Contains(err.Error(), "openapi: the login: ") {
		t.Errorf("got %v", err)
	}
}

// Some APIs repeat in their errors what they were sent.
func TestMessagesHaveNoCredentials(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprint(w, r.URL.String(), " ", r.Header)
	}))
	defer server.Close()
	for _, base := range []string{server.URL, "http://127.0.0.1:1"} {
		for _, login := range []credential.Config{
			{Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "query", Name: "key"}, Raw: &credential.Credential{Type: credential.TypeAPIKey, APIKey: "s3cret /key"}},
			{Scheme: &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "basic"}, Raw: &credential.Credential{Type: credential.TypeHTTP, HTTP: &credential.HTTP{Scheme: "basic", Username: "u", Password: "s3cret /key"}}},
		} {
			set := mustNew(t, openapi.Config{
				Spec: doc(`{"/a":{"get":{` + answers + `}}}`), BaseURL: base, Scheme: login.Scheme, Credential: login.Raw,
				Headers: func(*tool.Context) (map[string]string, error) {
					return map[string]string{"X-Other": "Token s3cret-too"}, nil
				},
			})
			got := call(t, mustTool(t, set, "get_a"), ``)
			if strings.Contains(got, "s3cret") || strings.Contains(got, "dTpzM2NyZXQ") || !strings.Contains(got, `"status":"error"`) {
				t.Errorf("got %s", got)
			}
		}
	}
}

func TestRedirectsCarryNoCredentials(t *testing.T) {
	var got []http.Header
	var home *httptest.Server
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Clone())
		if r.URL.Path == "/back" {
			http.Redirect(w, r, home.URL+"/end", http.StatusTemporaryRedirect)
		}
	}))
	defer away.Close()
	home = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Clone())
		switch r.URL.Path {
		case "/near":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/far":
			http.Redirect(w, r, away.URL+"/end", http.StatusTemporaryRedirect)
		case "/back":
			http.Redirect(w, r, away.URL+"/back", http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		}
	}))
	defer home.Close()
	paths := `{`
	for i, name := range []string{"near", "far", "back", "round"} {
		if i > 0 {
			paths += ","
		}
		paths += `"/` + name + `":{"get":{"operationId":"` + name + `","parameters":[{"name":"c","in":"cookie","schema":{"default":1},"required":true}],` + answers + `}}`
	}
	for _, login := range []credential.Config{
		{Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"}, Raw: &credential.Credential{Type: credential.TypeAPIKey, APIKey: "s3cret"}},
		{Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "query", Name: "key"}, Raw: &credential.Credential{Type: credential.TypeAPIKey, APIKey: "s3cret"}},
		{Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "cookie", Name: "key"}, Raw: &credential.Credential{Type: credential.TypeAPIKey, APIKey: "s3cret"}},
		{Scheme: &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "bearer"}, Raw: &credential.Credential{Type: credential.TypeHTTP, HTTP: &credential.HTTP{Token: "s3cret"}}},
	} {
		set := mustNew(t, openapi.Config{
			Spec: doc(paths + `}`), BaseURL: home.URL, Scheme: login.Scheme, Credential: login.Raw,
			Headers: func(*tool.Context) (map[string]string, error) { return map[string]string{"X-Tenant": "s3cret"}, nil },
		})
		for _, name := range []string{"near", "far", "back"} {
			got = nil
			if out := call(t, mustTool(t, set, name), `{}`); out != `{"status":"success"}` {
				t.Errorf("%s: got %s", name, out)
			}
			for i, h := range got {
				text := fmt.Sprint(h)
				// The first request has it all, and so has one that stays at home.
				leaks := strings.Contains(text, "s3cret") || h.Get("Cookie") != ""
				if wanted := i == 0 || name == "near"; leaks != wanted || h.Get("Referer") != "" {
					t.Errorf("%s, request %d: got %s", name, i, text)
				}
			}
		}
		if out := call(t, mustTool(t, set, "round"), `{}`); !strings.Contains(out, "stopped after 10 redirects") || strings.Contains(out, "s3cret") {
			t.Errorf("got %s", out)
		}
	}
}

// The client's own rule for redirects still counts.
func TestClientDecidesOnRedirects(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("/b", http.StatusFound))
	defer server.Close()
	own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	set := mustNew(t, openapi.Config{Spec: doc(`{"/a":{"get":{` + answers + `}}}`), BaseURL: server.URL, Client: own})
	if got := call(t, mustTool(t, set, "get_a"), ``); !strings.Contains(got, "302 Found") {
		t.Errorf("got %s", got)
	}
}

// Arguments are looked at before anyone is bothered.
func TestArgumentsComeBeforeLogins(t *testing.T) {
	set := mustNew(t, openapi.Config{Spec: doc(`{"/a":{"get":{` + answers + `}}}`), BaseURL: "http://127.0.0.1:1", Scheme: oauth, Credential: client})
	d := &fakeCredentials{}
	if got := result(t, mustTool(t, set, "get_a"), newContext(t, nil, d), `{"a":1}`); !strings.Contains(got, "there is no argument") || len(d.asked) > 0 {
		t.Errorf("got %s, %v", got, d.asked)
	}
}

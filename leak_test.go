package parley_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to read all that is stored

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/collector"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// recordingProxy is a proxy between a server and a provider, and records all secrets
// that they exchange.
type recordingProxy struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	secrets map[string]string // what they are, by themselves
}

func newRecordingProxy(t *testing.T, to string) *recordingProxy {
	t.Helper()
	w := &recordingProxy{t: t, secrets: map[string]string{}}
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = target.Host },
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			var tokens map[string]any
			if json.Unmarshal(body, &tokens) == nil {
				for _, name := range []string{"access_token", "refresh_token", "id_token"} {
					if text, ok := tokens[name].(string); ok {
						w.secret(name, text)
					}
				}
			}
			return nil
		},
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return
		}
		for _, name := range []string{"code", "code_verifier", "refresh_token", "client_secret"} {
			w.secret(name, form.Get(name))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

func (w *recordingProxy) secret(what, word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if word != "" {
		w.secrets[word] = what
	}
}

// search looks for secrets, however they may be spelled.
func (w *recordingProxy) search(where string, text []byte) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for word, what := range w.secrets {
		for how, spelled := range map[string]string{
			"": word, " as hex": hex.EncodeToString([]byte(word)), " as base64": base64.StdEncoding.EncodeToString([]byte(word)), " in an address": url.QueryEscape(word),
		} {
			if i := bytes.Index(text, []byte(spelled)); i >= 0 {
				w.t.Errorf("%s: there is the %s%s: %q", where, what, how, text[max(0, i-120):min(len(text), i+len(spelled)+40)])
			}
		}
	}
}

const (
	leakyKey      = "the-configured-api-key"
	leakyPassword = "the-configured-password"
)

// leaky is an agent whose tools say and keep all that they should not.
func leaky(t *testing.T, p *provider.Provider, tap *recordingProxy) *agent.Agent {
	t.Helper()
	id, secret := p.Client()
	tap.secret("client secret", secret)
	cfg := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: &credential.Flow{
			AuthorizationURL: p.AuthURL(), TokenURL: tap.url + provider.TokenPath,
			Scopes: []credential.Scope{{Name: "openid"}, {Name: "offline_access"}, {Name: provider.ScopeRead}},
		}}},
		Raw: &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: id, ClientSecret: secret}},
	}
	keys := []string{"token", "user:token", "temp:token", "secret:token"}
	login := tool.Must(tool.New(tool.Declaration{Name: "login", NeedsLogin: true}, func(ctx *tool.Context, _ struct{}) (any, error) {
		cred, err := ctx.AuthResponse(cfg)
		if err != nil {
			return nil, err
		}
		if cred == nil {
			return tool.Pending("Log in."), ctx.RequestCredential(cfg)
		}
		whole, err := cred.AppendJSON(nil, credential.Camel)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if err := ctx.State.Set(key, cred.OAuth2.AccessToken); err != nil {
				return nil, err
			}
		}
		for key, value := range map[string]any{
			"whole": json.RawMessage(whole), "text": string(whole), "deep": map[string]any{"list": []any{1, map[string]any{"t": cred.OAuth2.IDToken}}}, "plain": "nothing",
		} {
			if err := ctx.State.Set(key, value); err != nil {
				return nil, err
			}
		}
		if _, err := ctx.SaveArtifact("token.txt", &event.Part{Text: string(whole) + cred.OAuth2.AccessToken}); err != nil {
			return nil, err
		}
		return map[string]any{"status": "success", "token": cred.OAuth2.AccessToken, "header": "Bearer " + cred.OAuth2.AccessToken, "id": cred.OAuth2.IDToken}, nil
	}))
	// What was kept is there for other calls only.
	use := tool.Must(tool.New(tool.Declaration{Name: "use"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		for _, key := range keys {
			var token string
			if ok, err := ctx.State.Get(key, &token); err != nil || ok == (key == "temp:token") {
				return nil, fmt.Errorf("%s: %v, %w", key, ok, err)
			}
			tap.mu.Lock()
			known := tap.secrets[token]
			tap.mu.Unlock()
			if known != "access_token" && key != "temp:token" {
				return nil, fmt.Errorf("%s is not a token", key)
			}
		}
		var whole credential.Credential
		raw, _ := ctx.State.Raw("whole")
		back, err := credential.DecodeCredential(raw)
		if err != nil || back.OAuth2 == nil || back.OAuth2.AccessToken == "" {
			return nil, fmt.Errorf("the whole is %v, %w", whole, err)
		}
		if all := ctx.State.All(); string(all["plain"]) != `"nothing"` || !strings.Contains(string(all["deep"]), "list") || all["secret:token"] != nil {
			return nil, errors.New("all is not all")
		}
		ctx.State.Delete("secret:token")
		return map[string]any{"used": raw}, nil
	}))
	fail := tool.Must(tool.New(tool.Declaration{Name: "fail"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		cred, err := ctx.AuthResponse(cfg)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("GET https://api.example/?token=%s: 500 for %s", url.QueryEscape(cred.OAuth2.AccessToken), cred.OAuth2.AccessToken)
	}))
	configured := tool.Must(tool.New(tool.Declaration{Name: "configured"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		key, err := ctx.AuthResponse(&credential.Config{
			Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "query", Name: "key"},
			Raw:    &credential.Credential{Type: credential.TypeAPIKey, APIKey: leakyKey},
		})
		if err != nil {
			return nil, err
		}
		basic, err := ctx.AuthResponse(&credential.Config{
			Scheme: &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "basic"},
			Raw:    &credential.Credential{Type: credential.TypeHTTP, HTTP: &credential.HTTP{Scheme: "basic", Username: "ann", Password: leakyPassword}},
		})
		if err != nil {
			return nil, err
		}
		both := key.APIKey + " " + basic.HTTP.Password
		return map[string]any{"both": both, "header": base64.StdEncoding.EncodeToString([]byte("ann:" + basic.HTTP.Password))}, ctx.State.Set("both", both)
	}))
	call := func(name string) scripted.Step { return scripted.Call(name, nil) }
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "leaky", Tools: []tool.Tool{login, use, fail, configured}, Instruction: "You see {token?} and {whole?} and {both?}.",
		BeforeModel: []agent.BeforeModel{func(_ *tool.Context, req *model.Request) (*model.Response, error) {
			shown, err := json.Marshal(req)
			tap.search("what a model is shown", shown)
			return nil, err
		}},
		Model: scripted.New(call("login"), call("login"), scripted.Say("done"), call("use"), scripted.Say("done"),
			call("login"), scripted.Say("done"), call("fail"), scripted.Say("done"), call("configured"), scripted.Say("done"),
			// At once, so that what one gives is noted before the other is done.
			scripted.Calls(&event.FunctionCall{Name: "login"}, &event.FunctionCall{Name: "configured"}, &event.FunctionCall{Name: "fail"}), scripted.Say("done")),
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// No secret of a login leaves the server or is kept in clear, whatever tools do
// with it and whatever goes wrong.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}, RequirePKCE: true})
			tap := newRecordingProxy(t, p.Issuer())
			tap.secret("API key", leakyKey)
			tap.secret("password", leakyPassword)
			dir := t.TempDir()
			var clock struct {
				sync.Mutex
				ahead time.Duration
			}
			logged := &testkit.Buffer{}
			backend := collector.Start(t)
			cfg := parley.Config{
				UI: parley.UIConfig{Enabled: true}, Telemetry: parley.TelemetryConfig{Content: true}, // traces must not have any of it, either
				Artifacts: parley.ArtifactConfig{URL: "file://" + filepath.Join(dir, "artifacts")},
				Agents:    map[string]*agent.Agent{"calendar": leaky(t, p, tap)}, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
				Log: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Now: func() time.Time {
					clock.Lock()
					defer clock.Unlock()
					return time.Now().Add(clock.ahead)
				},
			}.ExportTo(backend.URL)
			keepIn(t, kind, dir, &cfg)
			srv, err := parley.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close(t.Context())
			v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
			const sess = "/apps/calendar/users/u/sessions/s"
			v.do("POST", sess, "")
			run := func(path, part string) string {
				t.Helper()
				rec := v.do("POST", path, `{"appName":"calendar","userId":"u","sessionId":"s","streaming":true,"newMessage":{"role":"user","parts":[`+part+`]}}`)
				return fmt.Sprintf("%d %s", rec.Code, rec.Body)
			}
			want := func(what, got string, parts ...string) {
				t.Helper()
				for _, part := range parts {
					if !strings.Contains(got, part) {
						t.Errorf("%s: no %s in %s", what, part, got)
					}
				}
			}

			// The provider fails at first, and says more than it should.
			answer := v.login(p, v.run(`{"text":"hi"}`))
			tap.secret("code", codeIn(t, answer))
			p.Break(provider.TokenPath, provider.OAuthError("invalid_grant", answer)).Repair()
			broken := p.Break(provider.TokenPath, provider.OAuthError("invalid_grant", answer))
			wrong := strings.Replace(answer, "state=", "state=x", 1)
			want("another state", run("/run", wrong), "400 ")
			want("a login that fails", run("/run_sse", answer), "CREDENTIAL_EXCHANGE_FAILED")
			broken.Repair()

			answer = v.login(p, v.run(`{"text":"hi"}`))
			tap.secret("code", codeIn(t, answer))
			want("the login", run("/run_sse", answer), "[redacted]", `"token":"(sealed)"`, `"whole":"(sealed)"`, `"text":"(sealed)"`, `"deep":"(sealed)"`, `"plain":"nothing"`)
			want("the same answer again", run("/run", answer), "409 ")
			want("what was kept", run("/run", `{"text":"use it"}`), `"used":`, "done")
			clock.Lock()
			clock.ahead = 2 * time.Hour
			clock.Unlock()
			want("after a refresh", run("/run", `{"text":"again"}`), "[redacted]", "done")
			if n := p.Counts().Refreshes; n != 1 {
				t.Errorf("%d refreshes", n)
			}
			want("a failure", run("/run", `{"text":"fail"}`), "error_message", "[redacted]")
			want("what is configured", run("/run", `{"text":"configured"}`), `"both":"(sealed)"`, "[redacted] [redacted]")

			want("all at once", run("/run", `{"text":"all"}`), "[redacted]", "done")

			want("the session", v.do("GET", sess, "").Body.String(), `"token":"(sealed)"`, `"user:token":"(sealed)"`)
			want("a file", v.do("GET", sess+"/artifacts/token.txt", "").Body.String(), "[redacted]")
			v.do("GET", "/apps/calendar/users/u/sessions", "")
			v.do("GET", sess+"/export", "")
			v.do("GET", sess+"/runs", "")
			v.do("GET", "/apps/calendar/users/u/credentials", "")
			v.do("GET", "/list-apps?detailed=true", "")
			v.do("GET", "/apps/calendar/app-info", "")
			v.do("POST", sess+"/fork", `{"sessionId":"forked"}`)
			want("the trace", v.do("GET", "/debug/trace/session/s", "").Body.String(), "llm_request", "tool_response", "[redacted]", "(sealed)")
			v.do("PATCH", sess, `{"stateDelta":{"mine":{"authType":"apiKey","apiKey":"`+leakyKey+`"}}}`)
			v.do("POST", "/apps/calendar/users/u/sessions/other", `{"state":{"mine":{"auth_type":"http","http":{"scheme":"basic","credentials":{"username":"u","password":"`+leakyPassword+`"}}}}}`)
			if kind == "sqlite" { // with what is not yet in the file itself
				searchFiles(t, tap, dir)
			}
			v.do("DELETE", "/apps/calendar/users/u/credentials", "")

			names := map[string]bool{}
			for _, what := range tap.secrets {
				names[what] = true
			}
			for _, what := range []string{"client secret", "code", "code_verifier", "access_token", "refresh_token", "id_token"} {
				if !names[what] {
					t.Errorf("the test does not know the %s", what)
				}
			}
			tap.search("an answer", v.seen.Bytes())
			tap.search("the log", logged.Bytes())
			if kind == "postgres" {
				tap.search("the database", dump(t, cfg.Sessions.URL))
			}
			srv.Close(t.Context())
			want("what is exported", string(backend.All()), "llm_request", "tool_response", "[redacted]", "(sealed)")
			tap.search("what is exported", backend.All())
			searchFiles(t, tap, dir)
		})
	}
}

// A secret that is said piece by piece is not to be seen in the pieces either,
// wherever it is cut.
func TestPiecesLeakNothing(t *testing.T) {
	t.Parallel()
	tap := &recordingProxy{t: t, secrets: map[string]string{leakyKey: "API key", leakyPassword: "password"}}
	cred := json.RawMessage(`{"authType":"apiKey","apiKey":"` + leakyKey + `"}`)
	learn := tool.Must(tool.New(tool.Declaration{Name: "learn"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		for _, key := range []string{leakyKey, leakyPassword} {
			_, err := ctx.AuthResponse(&credential.Config{
				Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "query", Name: "key"},
				Raw:    &credential.Credential{Type: credential.TypeAPIKey, APIKey: key},
			})
			if err != nil {
				return nil, err
			}
		}
		return "known", nil
	}))
	knows, err := agent.NewLLM(agent.LLMConfig{Name: "knows", Tools: []tool.Tool{learn}, Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if len(scripted.LastResponses(req)) > 0 {
			return scripted.Say("ready")(ctx, req)
		}
		return scripted.Call("learn", nil)(ctx, req)
	})})
	if err != nil {
		t.Fatal(err)
	}
	// Both secrets begin with the same words; the last one does not end.
	said := "It is " + leakyKey + ", or " + leakyPassword + "; the-configured-apple is none, and this is the-configured-p"
	want := strings.NewReplacer(leakyKey, "[redacted]", leakyPassword, "[redacted]").Replace(said)
	root, err := agent.New(agent.Config{Name: "streams", SubAgents: []*agent.Agent{knows}}, func(ctx *agent.Context, emit agent.Emit) error {
		if err := knows.Run(ctx, emit); err != nil {
			return err
		}
		if half, cut := strings.CutSuffix(ctx.UserContent().Text(), ", lost"); cut {
			err := emit(&event.Event{Partial: true, Content: event.Text(event.RoleModel, half)})
			return cmp.Or(err, errors.New("the connection was lost"))
		}
		var size int
		if _, err := fmt.Sscan(ctx.UserContent().Text(), &size); err != nil {
			return err
		}
		for at := 0; at < len(said); at += size {
			piece := said[at:min(at+size, len(said))]
			err := emit(&event.Event{
				ID: "piece", Partial: true, CustomMetadata: map[string]json.RawMessage{"why": json.RawMessage(`"` + leakyKey + `"`)},
				Actions: event.Actions{StateDelta: map[string]json.RawMessage{"cred": cred, "secret:pin": json.RawMessage("4711"), "plain": json.RawMessage("1")}},
				Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{Text: piece}, {Text: piece, Thought: true}}},
			})
			if err != nil {
				return err
			}
		}
		return emit(&event.Event{Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{Text: said}}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"calendar": root}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	v.do("POST", "/apps/calendar/users/u/sessions/s", "")
	for size := range len(said) {
		rec := v.do("POST", "/run_sse", fmt.Sprintf(`{"appName":"calendar","userId":"u","sessionId":"s","streaming":true,"newMessage":{"role":"user","parts":[{"text":"%d"}]}}`, size+1))
		var pieces, thoughts, whole string
		for line := range strings.Lines(rec.Body.String()) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			ev := new(event.Event)
			if err := ev.UnmarshalJSON([]byte(data)); err != nil {
				t.Fatal(err)
			}
			switch {
			case ev.Author != "streams":
			case !ev.Partial:
				whole += ev.Content.Text()
			default:
				pieces += ev.Content.Text()
				for _, p := range ev.Content.Parts {
					if p.Thought {
						thoughts += p.Text
					}
				}
				if ev.ID != "piece" || string(ev.Actions.StateDelta["plain"]) != "1" || ev.Actions.StateDelta["secret:pin"] != nil {
					t.Errorf("a piece is %s", data)
				}
			}
		}
		if pieces != want || thoughts != want || whole != want {
			t.Errorf("in pieces of %d: %q, thoughts %q, in the end %q, want %q", size+1, pieces, thoughts, whole, want)
		}
		tap.search(fmt.Sprintf("pieces of %d", size+1), []byte(pieces+"\n"+thoughts))
	}
	// What is kept of an answer that was cut off ends before what may be a secret.
	v.do("POST", "/run_sse", `{"appName":"calendar","userId":"u","sessionId":"s","streaming":true,"newMessage":{"role":"user","parts":[{"text":"It is the-configured-, lost"}]}}`)
	if kept := v.do("GET", "/apps/calendar/users/u/sessions/s", "").Body.String(); !strings.Contains(kept, `"parts":[{"text":"It is "}]},`) || !strings.Contains(kept, `"interrupted":true`) {
		t.Errorf("kept is …%s", kept[max(0, len(kept)-600):])
	}
	tap.search("an answer", v.seen.Bytes())
}

// keepIn configures where sessions and logins are kept.
func keepIn(t *testing.T, kind, dir string, cfg *parley.Config) {
	t.Helper()
	switch kind {
	case "sqlite":
		cfg.Sessions.URL = "sqlite://" + filepath.Join(dir, "parley.db")
	case "postgres":
		cfg.Sessions.URL = pgtest.Quick(t).Database(t)
		cfg.Logins.KeyFile = filepath.Join(dir, "keys.json")
		if _, err := parley.CreateSealingKeys(t.Context(), *cfg); err != nil {
			t.Fatal(err)
		}
	}
}

// codeIn is the code in a client's answer.
func codeIn(t *testing.T, answer string) string {
	t.Helper()
	_, rest, _ := strings.Cut(answer, "code=")
	code := rest[:strings.IndexAny(rest, `&\"`)]
	if code == "" {
		t.Fatalf("no code in %s", answer)
	}
	return code
}

// searchFiles looks into all files, but those with keys.
func searchFiles(t *testing.T, tap *recordingProxy, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil {
			tap.search(entry.Name(), content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dump is all that is in a database.
func dump(t *testing.T, address string) []byte {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	column := func(query string) (list []string) {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var one string
			if err := rows.Scan(&one); err != nil {
				t.Fatal(err)
			}
			list = append(list, one)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return list
	}
	var all []string
	for _, table := range column(`SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`) {
		all = append(all, column(`SELECT x::text FROM `+table+` x`)...)
	}
	if len(all) < 10 {
		t.Fatalf("the database has %d rows", len(all))
	}
	return []byte(strings.Join(all, "\n"))
}

// Tools in TypeScript keep secrets like those in Go.
func TestSecretsInTypeScript(t *testing.T) {
	dir := t.TempDir()
	source := `
		import { FunctionTool, LlmAgent } from '@google/adk';
		const keep = new FunctionTool({ name: 'keep', description: 'Keeps.', execute: (_, ctx) => {
			ctx.state.set('secret:pin', { n: 4711 });
			ctx.state.set('cred', { authType: 'oauth2', oauth2: { accessToken: '` + leakyKey + `' } });
			ctx.state['user:cred'] = { auth_type: 'apiKey', api_key: '` + leakyPassword + `' };
			return { pin: ctx.state.get('secret:pin').n === 4711 };
		} });
		let later;
		const use = new FunctionTool({ name: 'use', description: 'Uses.', execute: async (_, ctx) => {
			const token = ctx.state.get('cred').oauth2.accessToken, key = ctx.state['user:cred'].api_key;
			console.log('printed', token, { deep: [key] });
			console.error(new Error('thrown ' + token));
			process.stdout.write('written ' + encodeURIComponent(key) + '\n');
			later = new Promise((done) => setTimeout(() => { console.warn('later', token); done(); }, 1));
			await ctx.saveArtifact('text.txt', { text: 'It is ' + token + '.' });
			await ctx.saveArtifact('data.json', { inlineData: { mimeType: 'application/json', data: btoa(JSON.stringify({ token, key })) } });
			await ctx.saveArtifact('data.bin', { inlineData: { mimeType: 'application/octet-stream', data: btoa('\x00' + token + '\xff') } });
			await ctx.saveArtifact('of ' + token, { fileData: { mimeType: 'text/plain', fileUri: 'https://files.example/' + token } });
			const loaded = await ctx.loadArtifact('of ' + token);
			if (!loaded) throw new Error('it is not there');
			const found = [ctx.state.get('secret:pin')?.n, ctx.state.get('cred').oauth2.accessToken.length, ctx.state['user:cred'].api_key.length,
				ctx.state.has('secret:other'), Object.keys(ctx.state).join()];
			ctx.state.delete('secret:pin');
			return { found, token: 'Bearer ' + ctx.state.get('cred').oauth2.accessToken };
		} });
		const again = new FunctionTool({ name: 'again', description: 'Looks again.', execute: async (_, ctx) => (await later, { left: ctx.state.has('secret:pin') }) });
		const fail = new FunctionTool({ name: 'fail', description: 'Fails.', execute: (_, ctx) => { throw new Error('no ' + ctx.state.get('cred').oauth2.access_token); } });
		export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [keep, use, again, fail], instruction: 'You see {cred?}.' });
	`
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	tap := &recordingProxy{t: t, secrets: map[string]string{leakyKey: "token", leakyPassword: "key"}}
	answers := scripted.New(scripted.Call("keep", nil), scripted.Say("done"), scripted.Call("use", nil), scripted.Say("done"), scripted.Call("again", nil), scripted.Say("done"),
		scripted.Call("fail", nil), scripted.Say("done"))
	logged := &testkit.Buffer{}
	db := filepath.Join(t.TempDir(), "parley.db")
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "calendar"}, Models: map[string]model.Model{"scripted": answers}, Sessions: parley.SessionConfig{URL: "sqlite://" + db}, Log: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	v.do("POST", "/apps/calendar/users/u/sessions/s", "")
	for i, want := range []string{
		`{"pin":true}`,
		fmt.Sprintf(`{"found":[4711,%d,%d,false,"cred,user:cred"],"token":"Bearer [redacted]"}`, len(leakyKey), len(leakyPassword)),
		`{"left":false}`,
		`{"error":"Error in tool 'fail': no [redacted]"}`,
	} {
		events := v.run(`{"text":"go on"}`)
		if got := string(events[1].FunctionResponses()[0].Response); got != want {
			t.Errorf("run %d: %s, want %s", i, got, want)
		}
	}
	v.do("GET", "/apps/calendar/users/u/sessions/s", "")
	const artifacts = "/apps/calendar/users/u/sessions/s/artifacts"
	if got, want := v.do("GET", artifacts, "").Body.String(), `["data.bin","data.json","of [redacted]","text.txt"]`; strings.TrimSpace(got) != want {
		t.Errorf("there are the files %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"text.txt": "It is [redacted].", "data.json": `{"token":"[redacted]","key":"[redacted]"}`, "data.bin": "\x00[redacted]\xff",
	} {
		if got := v.do("GET", artifacts+"/"+name+"?alt=media", "").Body.String(); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	v.do("GET", artifacts+"/of%20%5Bredacted%5D", "")
	if got := v.seen.String(); strings.Contains(got, "4711}") || strings.Contains(got, `"secret:pin"`) {
		t.Errorf("the pin is to be seen: %s", got)
	}
	for _, said := range []string{"threw an error", "printed [redacted]", "deep: [ '[redacted]' ]", "thrown [redacted]", "written [redacted]", "later [redacted]"} {
		if !strings.Contains(string(logged.Bytes()), said) {
			t.Errorf("the log does not say %q: %s", said, logged.Bytes())
		}
	}
	tap.search("the log", logged.Bytes())
	tap.search("an answer", v.seen.Bytes())
	for _, req := range answers.Requests() {
		shown, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		tap.search("what a model is shown", shown)
	}
	searchFiles(t, tap, filepath.Dir(db))
}

// Callbacks write to the state like tools: those of an agent that is used as a
// tool and waits for the user, whose conversation is stored in the meantime, and those
// of plugins that look at a message before it is stored.
func TestCallbacksKeepSecrets(t *testing.T) {
	tap := &recordingProxy{t: t, secrets: map[string]string{leakyKey: "key", leakyPassword: "password"}}
	cred := json.RawMessage(`{"authType":"apiKey","apiKey":"` + leakyKey + `"}`)
	use := tool.Must(tool.New(tool.Declaration{Name: "use"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		found := map[string]bool{}
		for key, want := range map[string]string{"mine": string(cred), "secret:pin": `"` + leakyPassword + `"`, "user:plugin": string(cred), "secret:plugin": `"` + leakyPassword + `"`} {
			got, _ := ctx.State.Raw(key)
			found[key] = string(got) == want
		}
		return found, nil
	}))
	inner, err := agent.NewLLM(agent.LLMConfig{
		Name: "inner", Tools: []tool.Tool{tool.Confirm(use, nil)}, Model: scripted.New(scripted.Call("use", nil), scripted.Say("used")),
		BeforeAgent: []agent.Callback{func(ctx *tool.Context) (*event.Content, error) {
			return nil, errors.Join(ctx.State.Set("mine", cred), ctx.State.Set("secret:pin", leakyPassword))
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "outer", Tools: []tool.Tool{agent.AsTool(inner), use},
		Model: scripted.New(scripted.Call("inner", map[string]string{"request": "Go."}), scripted.Call("use", nil), scripted.Say("done")),
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err = agent.WithPlugins(root, &agent.Plugin{Name: "p", OnUserMessage: func(ctx *tool.Context, _ *event.Content) (*event.Content, error) {
		return nil, errors.Join(ctx.State.Set("user:plugin", cred), ctx.State.Set("secret:plugin", leakyPassword))
	}})
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "parley.db")
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"calendar": root}, Sessions: parley.SessionConfig{URL: "sqlite://" + db}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	v.do("POST", "/apps/calendar/users/u/sessions/s", "")
	events := v.run(`{"text":"go"}`)
	asked := ""
	for _, ev := range events {
		for _, call := range ev.FunctionCalls() {
			if call.Name == tool.ConfirmationCall {
				asked = call.ID
			}
		}
	}
	if asked == "" {
		t.Fatalf("no confirmation is asked for: %s", v.seen)
	}
	searchFiles(t, tap, filepath.Dir(db))
	events = v.run(fmt.Sprintf(`{"functionResponse":{"id":%q,"name":%q,"response":{"confirmed":true}}}`, asked, tool.ConfirmationCall))
	const all = `{"mine":true,"secret:pin":true,"secret:plugin":true,"user:plugin":true}`
	if n := len(events); n != 4 || string(events[n-2].FunctionResponses()[0].Response) != all {
		t.Errorf("after the answer: %s", v.seen)
	}
	v.do("GET", "/apps/calendar/users/u/sessions/s", "")
	v.do("GET", "/apps/calendar/users/u/sessions/s/export", "")
	if got := v.seen.String(); strings.Contains(strings.ReplaceAll(got, all, ""), `"secret:`) {
		t.Errorf("there are secrets: %s", got)
	}
	tap.search("an answer", v.seen.Bytes())
	searchFiles(t, tap, filepath.Dir(db))
}

package parley_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker/vault/keyring"
	"github.com/parley-run/parley/internal/testkit/calendar"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// Keys are rotated while a server runs, and users do not have to log in again.
func TestRotateKeys(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
			dir := t.TempDir()
			cfg := parley.Config{
				Agents: map[string]*agent.Agent{"calendar": calendar.Agent(p)}, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
				Sessions: parley.SessionConfig{URL: "sqlite://" + filepath.Join(dir, "parley.db")},
			}
			keys := keyring.File{Path: filepath.Join(dir, "parley.db.key")}
			if kind == "postgres" {
				keys.Path = filepath.Join(dir, "keys.json")
				cfg.Sessions.URL, cfg.Logins.KeyFile = pgtest.Quick(t).Database(t), keys.Path
				if _, err := parley.CreateSealingKeys(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
				if _, err := parley.CreateSealingKeys(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "exists") {
					t.Errorf("made twice: %v", err)
				}
			}
			srv, err := parley.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close(t.Context())
			v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
			v.do("POST", "/apps/calendar/users/u/sessions/s", "")
			v.run(v.login(p, v.run(`{"text":"What is on?"}`)))

			if file, err := parley.PrepareSealingKeys(t.Context(), cfg); err != nil || file != keys.Path {
				t.Fatal(file, err)
			}
			for i, reseal := range []func(context.Context, parley.Config) (parley.Resealed, error){
				parley.RotateSealingKeys, parley.RotateSealingKeys, parley.PruneSealingKeys,
			} {
				want := parley.Resealed{File: keys.Path, Sealed: []int{1, 1, 0}[i]}
				if done, err := reseal(t.Context(), cfg); err != nil || done != want {
					t.Fatalf("%d: %+v, %v, want %+v", i, done, err, want)
				}
			}
			if got, err := keys.Open(t.Context()); err != nil || got.String() != "vault(1 keys)" {
				t.Errorf("left are %v, %v", got, err)
			}
			if events := v.run(`{"text":"And now?"}`); len(events) != 3 || len(events[1].Actions.RequestedAuthConfigs) != 0 {
				t.Errorf("a login was asked for again: %s", v.seen)
			}
		})
	}
}

func TestKeysOfNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	for name, tt := range map[string]struct {
		do   func() error
		want string
	}{
		"no file": {func() error { _, err := parley.CreateSealingKeys(t.Context(), parley.Config{}); return err }, "Logins.KeyFile"},
		"in the config": {func() error {
			_, err := parley.RotateSealingKeys(t.Context(), parley.Config{Logins: parley.LoginConfig{Key: "x"}})
			return err
		}, "keep it in a file"},
		"no database": {func() error {
			_, err := parley.RotateSealingKeys(t.Context(), parley.Config{Logins: parley.LoginConfig{KeyFile: file}})
			return err
		}, "Sessions.URL"},
		"not there": {func() error {
			_, err := parley.PrepareSealingKeys(t.Context(), parley.Config{Logins: parley.LoginConfig{KeyFile: file}})
			return err
		}, "no such file"},
		"no service": {func() error {
			_, err := parley.CreateSealingKeys(t.Context(), parley.Config{Logins: parley.LoginConfig{KeyFile: file, KMS: "x"}})
			return err
		}, "Logins.KMS"},
	} {
		if err := tt.do(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("there is a file: %v", err)
	}
}

// Servers that share a database need a configured key: an agent that declares
// logins is refused at once, and another one when it asks for a login.
func TestNoKey(t *testing.T) {
	database := pgtest.Quick(t).Database(t)
	p := provider.Start(t, provider.Options{})
	needs := tool.Must(tool.New(tool.Declaration{Name: "list_events", NeedsLogin: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
	outer := func(tools ...tool.Tool) *agent.Agent {
		t.Helper()
		inner, err := agent.NewLLM(agent.LLMConfig{Name: "inner", Tools: tools, Model: scripted.New(scripted.Say("x"))})
		if err != nil {
			t.Fatal(err)
		}
		root, err := agent.NewLLM(agent.LLMConfig{Name: "outer", SubAgents: []*agent.Agent{inner}, Model: scripted.New(scripted.Say("x"))})
		if err != nil {
			t.Fatal(err)
		}
		return root
	}
	for name, value := range map[string]string{"ISSUER": p.Issuer(), "CLIENT_ID": "c", "CLIENT_SECRET": "s", "HOST": p.Issuer(), "API": p.API()} {
		t.Setenv("CALENDAR_"+name, value)
	}
	inTypeScript := func(name string) parley.Config {
		return parley.Config{
			Scripts: parley.ScriptConfig{Dir: filepath.Join("testdata", "login", name), AppName: "cal"},
			Models:  map[string]model.Model{"scripted": scripted.New(scripted.Say("x"))},
		}
	}
	of := func(root *agent.Agent) parley.Config {
		return parley.Config{Agents: map[string]*agent.Agent{"cal": root}}
	}
	member, err := workflow.New(workflow.Config{Name: "wf", Edges: workflow.Chain(workflow.Start, workflow.Func("mail", func(*workflow.Context, any) (any, error) { return nil, nil }, workflow.NodeConfig{
		Auth: &credential.Config{CredentialKey: "k", Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"}},
	}))})
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]parley.Config{
		"says so": of(outer(needs)), "of a node": of(member), "in a tool": of(outer(agent.AsTool(outer(needs)))), "made of a document": of(documented(t, p)),
		"with an authConfig": inTypeScript("authenticated"), "made of a document in TypeScript": inTypeScript("documented"),
	} {
		cfg.Sessions.URL = database
		srv, err := parley.Open(t.Context(), cfg)
		if err == nil {
			srv.Close(t.Context())
			t.Fatalf("%s: it starts", name)
		}
		for _, want := range []string{" of cal needs logins", "Logins.KeyFile", "Logins.Key;"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %s in %v", name, want, err)
			}
		}
	}
	// Without a need there is no need.
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"cal": outer()}, Sessions: parley.SessionConfig{URL: database}})
	if err != nil {
		t.Fatal(err)
	}
	srv.Close(t.Context())
	srv, err = parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"calendar": calendar.Agent(p)}, Sessions: parley.SessionConfig{URL: database}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	v.do("POST", "/apps/calendar/users/u/sessions/s", "")
	if v.run(`{"text":"What is on?"}`); !strings.Contains(v.seen.String(), "no key to seal credentials with") || !strings.Contains(v.seen.String(), "--credential_key_file") {
		t.Errorf("said is %s", v.seen)
	}
	if rec := v.do("PATCH", "/apps/calendar/users/u/sessions/s", `{"stateDelta":{"mine":{"authType":"apiKey","apiKey":"k"}}}`); rec.Code != 503 {
		t.Errorf("a credential in the state: %d %s", rec.Code, rec.Body)
	}
}

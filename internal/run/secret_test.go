package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

const (
	hush = "hush-hush-0123456789"
	cred = `{"authType":"apiKey","apiKey":"` + hush + `"}`
)

type logins struct{ *broker.Broker }

func (l logins) For(key session.Key) run.Credentials { return l.Broker.For(key) }

// safeHouse is a house with a broker of credentials.
func safeHouse(t *testing.T, root *agent.Agent) (*fixture, *testkit.Buffer) {
	t.Helper()
	v, err := vault.New(vault.Generate())
	if err != nil {
		t.Fatal(err)
	}
	store, heard := memstore.New(0), &testkit.Buffer{}
	log := slog.New(slog.NewTextHandler(heard, nil))
	h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Log: log, Logins: logins{broker.New(broker.Options{Secrets: store, Vault: v, Log: log})},
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})}
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	return h, heard
}

// kept are the names of what is kept sealed for the user.
func (h *fixture) kept() string {
	h.t.Helper()
	list, err := h.store.ListSecrets(context.Background(), key.App, key.User)
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, strings.TrimPrefix(s.Name, "state/"))
	}
	return strings.Join(names, " ")
}

func (h *fixture) patch(delta string) error {
	h.t.Helper()
	_, err := h.Patch(context.Background(), key, stateOf(h.t, delta))
	return err
}

func stateOf(t *testing.T, doc string) map[string]json.RawMessage {
	t.Helper()
	var delta map[string]json.RawMessage
	if err := json.Unmarshal([]byte(doc), &delta); err != nil {
		t.Fatal(err)
	}
	return delta
}

// with runs a message that changes the state.
func (h *fixture) with(delta string) (*run.Result, error) {
	h.t.Helper()
	r, err := h.Start(h.t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go"), StateDelta: stateOf(h.t, delta)})
	if err != nil {
		return nil, err
	}
	return h.wait(r), nil
}

// reading is a tool that tells whether it can read a credential.
func reading(name string) tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: "read"}, func(ctx *tool.Context, _ struct{}) (map[string]string, error) {
		if v, ok := ctx.State.Raw(name); ok && strings.Contains(string(v), hush) {
			return map[string]string{"status": "found"}, nil
		}
		return map[string]string{"status": "nothing"}, nil
	}))
}

// readerOf is an agent that calls it in each of a few runs.
func readerOf(name string) *agent.Agent {
	var steps []scripted.Step
	for range 5 {
		steps = append(steps, scripted.Call("read", nil), scripted.Say("ok"))
	}
	return llm(scripted.New(steps...), reading(name))
}

const (
	found   = "a:call-read a:response-found a:ok"
	nothere = "a:call-read a:response-nothing a:ok"
)

// A credential that a client deletes cannot be restored by the text that was shown
// in its place.
func TestClientDeletesCredential(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cred", "user:cred"} {
		for how, change := range map[string]func(h *fixture, delta string) error{
			"patch": (*fixture).patch,
			"run": func(h *fixture, delta string) error {
				_, err := h.with(delta)
				return err
			},
		} {
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				h, _ := safeHouse(t, readerOf(name))
				for _, gone := range []string{"null", `"something else"`} {
					if err := h.patch(`{"` + name + `":` + cred + `}`); err != nil {
						t.Fatal(err)
					}
					if got, err := h.with(`{"` + name + `":"(sealed)"}`); err != nil || words(got.Entries) != found { // it stays as it is
						t.Fatalf("%v, %v", got, err)
					}
					if err := change(h, `{"`+name+`":`+gone+`}`); err != nil {
						t.Fatal(err)
					}
					if got := h.kept(); got != "" {
						t.Errorf("after %s, %s is kept", gone, got)
					}
					var refused *wire.Error
					if err := change(h, `{"`+name+`":"(sealed)"}`); !errors.As(err, &refused) || !strings.Contains(err.Error(), "sealed") {
						t.Errorf("the word was taken: %v", err)
					}
				}
			})
		}
	}
}

// What is for one run only is not kept when the run is over.
func TestCredentialOfOneRun(t *testing.T) {
	t.Parallel()
	h, _ := safeHouse(t, readerOf("temp:cred"))
	got, err := h.with(`{"temp:cred":` + cred + `}`)
	if err != nil || words(got.Entries) != found {
		t.Fatalf("%v, %v", words(got.Entries), err)
	}
	if got := h.kept(); got != "" {
		t.Errorf("%s is kept", got)
	}
	if got := h.wait(h.start("go")); words(got.Entries) != nothere {
		t.Errorf("the next run: %s", words(got.Entries))
	}
	if _, err := h.with(`{"temp:cred":"(sealed)"}`); err == nil {
		t.Error("the word was taken")
	}
	if err := h.patch(`{"temp:cred":` + cred + `}`); err != nil {
		t.Error(err)
	}
	if got := h.kept(); got != "" {
		t.Errorf("%s is kept after a patch, which has no run", got)
	}
}

// What a panic says may have a secret in it that the run was given.
func TestPanicIsScrubbed(t *testing.T) {
	t.Parallel()
	crash := tool.Must(tool.New(tool.Declaration{Name: "crash"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		v, _ := ctx.State.Raw("cred")
		panic("no use: " + string(v))
	}))
	root := llm(scripted.Func(scripted.Call("crash", nil)), crash)
	h, heard := safeHouse(t, root)
	if err := h.patch(`{"cred":` + cred + `}`); err != nil {
		t.Fatal(err)
	}
	result := h.wait(h.start("go"))
	if result.Run.Status != session.Failed || !strings.Contains(heard.String(), "no use") {
		t.Fatalf("%s, and the log has\n%s", result.Run.Status, heard)
	}
	if strings.Contains(heard.String(), hush) {
		t.Errorf("the log has\n%s", heard)
	}
}

// A plugin that looks at a message may have been told a secret with it.
func TestPanicOfAPluginIsScrubbed(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"panic": func() error { panic("no use: " + hush) },
		"error": func() error { return errors.New("no use: " + hush) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := llm(scripted.New())
			root, err := agent.WithPlugins(inner, &agent.Plugin{Name: "p", OnUserMessage: func(*tool.Context, *event.Content) (*event.Content, error) {
				return nil, fail()
			}})
			if err != nil {
				t.Fatal(err)
			}
			h, heard := safeHouse(t, root)
			_, err = h.with(`{"cred":` + cred + `}`)
			if err == nil {
				t.Fatal("the message was taken")
			}
			if strings.Contains(heard.String()+err.Error(), hush) {
				t.Errorf("the log has\n%s\nthe error is %v", heard, err)
			}
		})
	}
}

package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/sqlite"
	"github.com/parley-run/parley/tool"
)

// countingStore counts the reads of sessions before a run begins.
type countingStore struct {
	session.Store
	logs   atomic.Int32 // whole logs, which grow
	states atomic.Int32 // sessions without their log
	tails  atomic.Int32 // the ends of logs
}

func (c *countingStore) Get(ctx context.Context, key session.Key, read session.Read) (*session.Session, error) {
	if read.NoEvents {
		c.states.Add(1)
	} else if read.After > 0 {
		c.tails.Add(1)
	} else {
		c.logs.Add(1)
	}
	return c.Store.Get(ctx, key, read)
}

// withLogin is a tool that needs an API key of the user.
func withLogin() tool.Tool {
	cfg := &credential.Config{
		CredentialKey: "typed",
		Scheme:        &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"},
	}
	return tool.Must(tool.New(tool.Declaration{Name: "call"}, func(ctx *tool.Context, _ struct{}) (string, error) {
		if c, err := ctx.AuthResponse(cfg); c != nil || err != nil {
			return "called", err
		}
		return "", ctx.RequestCredential(cfg)
	}))
}

// A session is read once at most before a run begins, however much its message
// asks for, and a plain message reads nothing.
func TestAdmissionReadsTheSessionOnce(t *testing.T) {
	part := func(call *event.FunctionCall, response string) *event.Part {
		return &event.Part{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage(response)}}
	}
	plugin := &agent.Plugin{Name: "p", OnUserMessage: func(*tool.Context, *event.Content) (*event.Content, error) { return nil, nil }}
	type call = *event.FunctionCall
	for _, tt := range []struct {
		name         string
		asks         scripted.Step // a run before, which waits
		plugin       bool
		request      func(asked []call) run.Request
		refused      bool
		logs, states int32
	}{
		{
			name:    "plain message",
			request: func([]call) run.Request { return run.Request{Message: event.Text("user", "hi")} },
		},
		{
			name: "repeatable message",
			request: func([]call) run.Request {
				return run.Request{Message: event.Text("user", "hi"), IdempotencyKey: "k", Fingerprint: "f"}
			},
		},
		{
			name: "state",
			request: func([]call) run.Request {
				return run.Request{Message: event.Text("user", "hi"), StateDelta: stateOf(t, `{"k":`+cred+`}`)}
			},
		},
		{
			name: "marker of a sealed credential", refused: true, states: 1,
			request: func([]call) run.Request {
				return run.Request{Message: event.Text("user", "hi"), StateDelta: stateOf(t, `{"k":`+redact.Sealed+`}`)}
			},
		},
		{
			name: "file", states: 1,
			request: func([]call) run.Request {
				return run.Request{SaveFiles: true, Message: &event.Content{Parts: []*event.Part{
					{InlineData: &event.Blob{MIMEType: "text/plain", Data: []byte("x"), DisplayName: "f"}},
				}}}
			},
		},
		{
			name: "plugin", plugin: true, logs: 1,
			request: func([]call) run.Request { return run.Request{Message: event.Text("user", "hi")} },
		},
		{
			name: "confirmation", asks: scripted.Call("work", nil), logs: 1,
			request: func(asked []call) run.Request {
				return run.Request{Message: &event.Content{Parts: []*event.Part{part(asked[0], `{"confirmed":true}`)}}}
			},
		},
		{
			name: "login", asks: scripted.Call("call", nil), logs: 1,
			request: func(asked []call) run.Request {
				return run.Request{Message: &event.Content{Parts: []*event.Part{part(asked[0], `"sk-typed-in"`)}}}
			},
		},
		{
			name: "answers, plugin, file and marker", asks: scripted.Calls(&event.FunctionCall{Name: "work"}, &event.FunctionCall{Name: "call"}), plugin: true, refused: true, logs: 1,
			request: func(asked []call) run.Request {
				parts := []*event.Part{{InlineData: &event.Blob{MIMEType: "text/plain", Data: []byte("x"), DisplayName: "f"}}}
				for _, call := range asked {
					parts = append(parts, part(call, map[bool]string{true: `{"confirmed":true}`, false: `"sk-typed-in"`}[call.Name == tool.ConfirmationCall]))
				}
				return run.Request{SaveFiles: true, StateDelta: stateOf(t, `{"k":`+redact.Sealed+`}`), Message: &event.Content{Parts: parts}}
			},
		},
		{
			name: "answers, plugin and file", asks: scripted.Calls(&event.FunctionCall{Name: "work"}, &event.FunctionCall{Name: "call"}), plugin: true, logs: 1,
			request: func(asked []call) run.Request {
				parts := []*event.Part{{InlineData: &event.Blob{MIMEType: "text/plain", Data: []byte("x"), DisplayName: "f"}}}
				for _, call := range asked {
					parts = append(parts, part(call, map[bool]string{true: `{"confirmed":true}`, false: `"sk-typed-in"`}[call.Name == tool.ConfirmationCall]))
				}
				return run.Request{SaveFiles: true, Message: &event.Content{Parts: parts}}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			steps := []scripted.Step{scripted.Say("done"), scripted.Say("more")}
			if tt.asks != nil {
				steps = append([]scripted.Step{tt.asks}, steps...)
			}
			root := llm(scripted.New(steps...), tool.Confirm(work(), nil), withLogin())
			if tt.plugin {
				var err error
				if root, err = agent.WithPlugins(root, plugin); err != nil {
					t.Fatal(err)
				}
			}
			v, err := vault.New(vault.Generate())
			if err != nil {
				t.Fatal(err)
			}
			store := &countingStore{Store: memstore.New(0)}
			log := slog.New(slog.NewTextHandler(t.Output(), nil))
			h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
				Store: session.NewStore(store), Log: log, Artifacts: artifact.NewMemory(), WaitTTL: time.Hour,
				Logins: logins{broker.New(broker.Options{Secrets: store, Vault: v, Log: log})},
				Agent:  func(string) (*agent.Agent, error) { return root, nil },
			})}
			t.Cleanup(func() { h.Shutdown(context.Background()) })
			if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
				t.Fatal(err)
			}
			var asked []*event.FunctionCall
			if tt.asks != nil {
				for _, call := range h.questions(h.start("go")) {
					if agentrt.IsReserved(call.Name) {
						asked = append(asked, call)
					}
				}
			}
			req := tt.request(asked)
			req.Key = key
			store.logs.Store(0)
			store.states.Store(0)
			r, err := h.Start(t.Context(), req)
			logs, states := store.logs.Load(), store.states.Load()
			if (err != nil) != tt.refused {
				t.Fatalf("error %v", err)
			}
			if logs != tt.logs || states != tt.states {
				t.Errorf("%d reads of the log and %d of the state, want %d and %d", logs, states, tt.logs, tt.states)
			}
			if err == nil {
				h.wait(r)
			}
		})
	}
}

// question is a session of many events whose last run asks for a confirmation.
type question struct {
	testing.TB
	engine *run.Engine
	call   *event.FunctionCall
}

func newQuestion(tb testing.TB, store session.Store, events int) *question {
	tb.Helper()
	root := llm(scripted.Func(scripted.Call("work", nil)), tool.Confirm(work(), nil))
	q := &question{TB: tb, engine: run.NewEngine(run.Options{
		Store: store, Log: slog.New(slog.DiscardHandler), WaitTTL: time.Hour, MaxModelCalls: 1,
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})}
	tb.Cleanup(func() { q.engine.Shutdown(context.Background()) })
	log := make([]*event.Event, events)
	for i := range log {
		log[i] = &event.Event{Author: "user", InvocationID: fmt.Sprint("e", i), Content: event.Text(event.RoleUser, "A message of some words.")}
	}
	if _, err := q.engine.Create(tb.Context(), session.NewSession{Key: key}, log); err != nil {
		tb.Fatal(err)
	}
	q.ask(event.Text(event.RoleUser, "go"))
	return q
}

// ask runs the agent with a message, to which it asks again.
func (q *question) ask(message *event.Content) {
	q.Helper()
	r, err := q.engine.Start(q.Context(), run.Request{Key: key, Message: message})
	if err != nil {
		q.Fatal(err)
	}
	result, err := r.Wait(q.Context())
	if err != nil {
		q.Fatal(err)
	}
	for _, entry := range result.Entries {
		ev, err := entry.Decode()
		if err != nil {
			q.Fatal(err)
		}
		for _, call := range ev.FunctionCalls() {
			if call.Name == tool.ConfirmationCall {
				q.call = call
				return
			}
		}
	}
	q.Fatalf("the run is %s and asks nothing", result.Run.Status)
}

func (q *question) answer(response string) *event.Content {
	return &event.Content{Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: q.call.ID, Name: q.call.Name, Response: json.RawMessage(response)}}}}
}

// refuse sends an answer that does not fit the question.
func (q *question) refuse() {
	q.Helper()
	_, err := q.engine.Start(q.Context(), run.Request{Key: key, Message: q.answer(`{"confirmed":"maybe"}`)})
	if _, refused := errors.AsType[*wire.Error](err); !refused {
		q.Fatal(err)
	}
}

// What it takes to refuse or accept an answer does not grow with the session: a
// client that sends many must not keep the server busy.
func TestAnswersDoNotGrow(t *testing.T) {
	for name, do := range map[string]func(*question){
		"refused":  (*question).refuse,
		"accepted": func(q *question) { q.ask(q.answer(`{"confirmed":true}`)) },
	} {
		allocs := func(events int) float64 {
			q := newQuestion(t, memstore.New(0), events)
			return testing.AllocsPerRun(10, func() { do(q) })
		}
		short, long := allocs(10), allocs(3000)
		if long > 2*short+200 {
			t.Errorf("%s: %.0f allocations in a session of 3,000 events, and %.0f in one of 10", name, long, short)
		}
	}
}

// BenchmarkAnswer measures an answer to a question in a session of 5,000 events:
// in "refused" the admission alone, since the answer does not fit the question,
// and in "run" all of a run that asks again.
func BenchmarkAnswer(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) session.Store{
		"memory": func(*testing.B) session.Store { return memstore.New(0) },
		"sqlite": func(b *testing.B) session.Store {
			b.Helper()
			store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "s.db"), session.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = store.Close() })
			return session.Cached(store, 64<<20)
		},
	} {
		b.Run(name, func(b *testing.B) {
			q := newQuestion(b, open(b), 5000)
			b.Run("refused", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					q.refuse()
				}
			})
			b.Run("run", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					q.ask(q.answer(`{"confirmed":true}`))
				}
			})
		})
	}
}

package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/gctune"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/sqlite"
	"github.com/parley-run/parley/tool"
)

// plainLog is a log that keeps nothing of what agents have read.
type plainLog []*event.Event

func (l plainLog) Len() int                         { return len(l) }
func (l plainLog) At(i int) *event.Event            { return l[i] }
func (plainLog) Get(string) (json.RawMessage, bool) { return nil, false }
func (plainLog) All() map[string]json.RawMessage    { return nil }
func (plainLog) emit(*event.Event) error            { return nil }

func asText(t *testing.T, contents []*event.Content) string {
	t.Helper()
	var text strings.Builder
	for _, c := range contents {
		doc, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		text.Write(doc)
		text.WriteByte('\n')
	}
	return text.String()
}

// captured is a model that tells what it is sent.
type captured struct {
	name string
	sent map[string][]*event.Content // by agent
}

func (c captured) Name() string { return c.name }

func (c captured) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	c.sent[c.name] = req.Contents()
	return func(yield func(*model.Response, error) bool) { yield(model.Text("yes"), nil) }
}

// conversation is a session in which anything may happen.
type conversation struct {
	*testing.T
	*rand.Rand
	engines []*run.Engine // on one store, which they share
	store   session.Store
	tree    func(of func(agent string) model.Model) *agent.Agent
	key     session.Key
	checked int
}

// checker is a model that compares what it is sent with what an agent sees in a log that
// was just read.
type checker struct {
	*conversation
	agent string
}

func (c checker) Name() string { return c.agent }

func (c checker) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	contents := req.Contents()
	c.compare(ctx, c.agent, contents)
	resp := &model.Response{Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{Text: "hm", Thought: true}, {Text: fmt.Sprint("text ", c.IntN(1000))}}}}
	if len(contents[len(contents)-1].FunctionResponses()) == 0 && c.IntN(2) == 0 {
		name := []string{"now", "later"}[c.IntN(2)]
		given := []string{"", "0", fmt.Sprint(c.IntN(1000))}[c.IntN(3)] // models give an id again
		resp.Content.Parts = append(resp.Content.Parts, &event.Part{FunctionCall: &event.FunctionCall{ID: given, Name: name, Args: json.RawMessage(`{}`)}})
	}
	return func(yield func(*model.Response, error) bool) { yield(resp, nil) }
}

func (c *conversation) compare(ctx context.Context, name string, got []*event.Content) {
	s, err := c.store.Get(ctx, c.key, session.Read{})
	if err != nil {
		c.Error(err)
		return
	}
	events, err := s.Events() // which are decoded for the caller
	if err != nil {
		c.Error(err)
		return
	}
	sent := map[string][]*event.Content{}
	root := c.tree(func(agent string) model.Model { return captured{agent, sent} })
	last := events[len(events)-1]
	inv := &agentrt.Invocation{ID: last.InvocationID, UserContent: event.Text(event.RoleUser, "hi"), Log: plainLog(events)}
	if err := inv.Start(ctx, root, plainLog{}.emit); err != nil {
		c.Error(err)
		return
	}
	c.checked++
	if want := asText(c.T, sent[name]); asText(c.T, got) != want {
		c.Errorf("after %d events, agent %s is sent\n%s\nwant\n%s", len(events), name, asText(c.T, got), want)
	}
}

func (c *conversation) engine() *run.Engine { return c.engines[c.IntN(len(c.engines))] }

// step does one of the things that can happen to a session.
func (c *conversation) step() {
	e := c.engine()
	message := event.Text(event.RoleUser, fmt.Sprint("message ", c.IntN(1000)))
	switch c.IntN(12) {
	case 0:
		gctune.Shrink() // sessions are packed, and leave the caches
		return
	case 1:
		s, err := e.Fork(c.Context(), c.key, run.Cut{}, fmt.Sprint("fork-", c.Int64()))
		if err != nil {
			c.Fatal(err)
		}
		c.key = s.Key
		return
	case 2:
		s, err := c.store.Get(c.Context(), c.key, session.Read{})
		if err != nil {
			c.Fatal(err)
		}
		if seen := s.Seen(); len(seen) > 0 && c.IntN(2) == 0 {
			ev, err := seen[max(0, len(seen)-1-c.IntN(12))].Decode()
			if err != nil {
				c.Fatal(err)
			}
			if _, err := e.Rewind(c.Context(), c.key, ev.InvocationID); err != nil {
				c.Fatal(err)
			}
		}
		return
	case 3, 4, 5, 6:
		open, err := e.OpenCalls(c.Context(), c.key)
		if err != nil {
			c.Fatal(err)
		}
		if len(open) > 0 {
			call := open[c.IntN(len(open))]
			message = &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage(`{"ok":true}`)}}}}
		}
	}
	r, err := e.Start(c.Context(), run.Request{Key: c.key, Message: message})
	if err != nil {
		c.Fatal(err)
	}
	if _, err := r.Wait(c.Context()); err != nil {
		c.Fatal(err)
	}
}

// What models are sent is what a reading of the whole log gives, whatever has happened to
// the session: rewinds, forks, summaries, answers, turns on another server, and caches that
// have lost it.
func TestModelsSeeWhatTheLogSays(t *testing.T) {
	now := tool.Must(tool.New(tool.Declaration{Name: "now"}, func(*tool.Context, struct{}) (int, error) { return 1, nil }))
	later := tool.Must(tool.New(tool.Declaration{Name: "later", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
	one := func(name string, of func(string) model.Model, compactions ...*agent.Compaction) *agent.Agent {
		return agent.Must(agent.NewLLM(agent.LLMConfig{Name: name, Model: of(name), Tools: []tool.Tool{now, later}, Compactions: compactions}))
	}
	summaries := 0
	summarize := func(*tool.Context, []*event.Event) (*model.Response, error) {
		summaries++
		return model.Text("in short"), nil
	}
	stores := map[string]func(t *testing.T) []session.Store{
		"memory": func(*testing.T) []session.Store { return []session.Store{memstore.New(0)} },
		"sqlite": func(t *testing.T) []session.Store {
			t.Helper()
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			return []session.Store{session.Cached(store, 64<<20), session.Cached(store, 20<<10)}
		},
	}
	for name, tree := range map[string]func(of func(string) model.Model) *agent.Agent{
		"one agent": func(of func(string) model.Model) *agent.Agent { return one("a", of) },
		"thoughts": func(of func(string) model.Model) *agent.Agent {
			return one("a", of, &agent.Compaction{DropThoughts: true, Keep: 3})
		},
		"compaction": func(of func(string) model.Model) *agent.Agent {
			return one("a", of, &agent.Compaction{Events: 80, Keep: 4, Summarize: summarize})
		},
		"sequential": func(of func(string) model.Model) *agent.Agent {
			return agent.Must(agent.NewSequential(agent.Config{Name: "root", SubAgents: []*agent.Agent{one("a", of), one("b", of)}}))
		},
	} {
		for kind, open := range stores {
			t.Run(name+"/"+kind, func(t *testing.T) {
				c := &conversation{T: t, Rand: rand.New(rand.NewPCG(1, 1)), tree: tree, key: key}
				root := tree(func(agent string) model.Model { return checker{c, agent} })
				for _, store := range open(t) {
					e := run.NewEngine(run.Options{
						Store: store, Log: slog.New(slog.DiscardHandler), MaxModelCalls: 10,
						Agent: func(string) (*agent.Agent, error) { return root, nil },
					})
					t.Cleanup(func() { e.Shutdown(context.Background()) })
					c.engines, c.store = append(c.engines, e), store
				}
				if _, err := c.engine().Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
					t.Fatal(err)
				}
				for range 80 {
					if c.step(); t.Failed() {
						t.FailNow()
					}
				}
				if name == "compaction" && summaries == 0 {
					t.Error("nothing was summarized")
				}
				summaries = 0
				if c.checked < 50 {
					t.Errorf("%d requests were compared", c.checked)
				}
			})
		}
	}
}

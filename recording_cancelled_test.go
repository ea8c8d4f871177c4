package parley_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// hanging are agents whose calls do not return until the run is cancelled. They tell
// reached when they are there.
func hanging(t *testing.T, reached func()) map[string]*agent.Agent {
	t.Helper()
	stuck := func(ctx context.Context) error {
		reached()
		<-ctx.Done()
		return fmt.Errorf("model: %w", ctx.Err())
	}
	speaking := func(pieces ...string) model.Model {
		return scripted.Func(func(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
			return func(yield func(*model.Response, error) bool) {
				for _, text := range pieces {
					if !yield(&model.Response{Content: event.Text(event.RoleModel, text), Partial: true}, nil) {
						return
					}
				}
				yield(nil, stuck(ctx))
			}
		})
	}
	llm := func(name string, m model.Model, tools ...tool.Tool) *agent.Agent {
		return must(t)(agent.NewLLM(agent.LLMConfig{Name: name, Model: m, Tools: tools, Instruction: kind}))
	}
	dig := func() tool.Tool {
		return tool.Must(tool.New(tool.Declaration{Name: "dig"}, func(ctx *tool.Context, _ struct{}) (any, error) { return nil, stuck(ctx) }))
	}
	two := func(first, second *agent.Agent) *agent.Agent {
		return must(t)(agent.NewParallel(agent.Config{Name: "both", SubAgents: []*agent.Agent{first, second}}))
	}
	digging := func() model.Model { return scripted.Func(scripted.Call("dig", nil)) }
	return map[string]*agent.Agent{
		"silent":     llm("one", speaking()),
		"pieces":     llm("one", speaking("It is ", "warm and ")),
		"tool":       llm("one", digging(), dig()),
		"both speak": two(llm("one", speaking("I ")), llm("two", speaking("You "))),
		"both":       two(llm("one", speaking("I ")), llm("two", digging(), dig())),
		"second":     two(llm("one", scripted.Func(scripted.Say("Done."))), llm("two", speaking("You "))),
	}
}

// hangingCalls is how many calls of an agent hang, if it is more than one.
var hangingCalls = map[string]int{"both speak": 2, "both": 2}

// A replay of a run that was cancelled is cancelled at the same calls, and has the
// same events.
func TestExactReplayOfCancelledRuns(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{true, false} {
		for app := range hanging(t, nil) {
			t.Run(fmt.Sprintf("%s/recorded %t", app, recorded), func(t *testing.T) {
				t.Parallel()
				reached := make(chan struct{}, 10)
				srv, err := parley.Open(t.Context(), parley.Config{
					Agents: hanging(t, func() { reached <- struct{}{} }), Recording: parley.RecordingConfig{Share: 1}, Artifacts: parley.ArtifactConfig{URL: "memory://"},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { srv.Close(context.WithoutCancel(t.Context())) }()
				r, err := srv.Start(t.Context(), parley.Request{App: app, User: "u", Session: "s", Message: event.Text(event.RoleUser, "Go."), Stream: true})
				if err != nil {
					t.Fatal(err)
				}
				for range max(hangingCalls[app], 1) {
					<-reached
				}
				if app == "second" { // what the first says is stored
					for ev, err := range r.Events(t.Context()) {
						if err != nil {
							t.Fatal(err)
						}
						if ev.Author == "one" {
							break
						}
					}
				}
				if err := r.Cancel(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := r.Wait(t.Context()); err != nil && !errors.Is(err, parley.ErrFailed) && !errors.Is(err, parley.ErrCancelled) {
					t.Fatal(err)
				}
				if !recorded {
					srv.ForgetRecordings()
				}
				again := report(t, srv, app, r.ID(), replay.Plan{})
				if !again.Same || again.FromLog == recorded || again.Status != session.Cancelled {
					t.Error(differences(again))
				}
				if len(reached) > 0 {
					t.Errorf("%d models and tools were called", len(reached))
				}
			})
		}
	}
}

package run_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// cutOff says a part of something, and then ends with what rest gives, or with
// the run.
func cutOff(said chan<- struct{}, rest <-chan func(yield func(*model.Response, error) bool)) scripted.Step {
	return func(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			for _, p := range []*event.Part{{Text: "hm", Thought: true}, {Text: "once "}, {Text: "upon "}} {
				if !yield(&model.Response{Partial: true, Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{p}}}, nil) {
					return
				}
			}
			close(said)
			select {
			case end := <-rest:
				end(yield)
			case <-ctx.Done():
				yield(nil, ctx.Err())
			}
		}
	}
}

// marked are the events of a session that are interrupted, with their errors.
func (h *fixture) marked() string {
	h.t.Helper()
	s, err := h.store.Get(h.t.Context(), key, session.Read{})
	if err != nil {
		h.t.Fatal(err)
	}
	var found []string
	for _, e := range s.Seen() {
		ev, err := e.Decode()
		if err != nil {
			h.t.Fatal(err)
		}
		if ev.Interrupted {
			found = append(found, ev.Author+":"+ev.Content.Text()+"!"+ev.ErrorCode)
		}
	}
	return strings.Join(found, " ")
}

// What was shown of an answer stays when the answer does not come, for readers
// and for the model.
func TestInterruptedTextIsKept(t *testing.T) {
	type rest func(yield func(*model.Response, error) bool)
	for name, tt := range map[string]struct {
		rest   rest
		end    func(h *fixture, r *run.Run)
		status session.Status
		want   string // that is marked
		last   string
	}{
		"cancelled": {
			end:    func(h *fixture, r *run.Run) { h.cancel(r) },
			status: session.Cancelled, want: "a:once upon !", last: "a:hmonce upon  a:!INVOCATION_ABORTED",
		},
		"too long": {
			end:    func(*fixture, *run.Run) { time.Sleep(time.Minute) },
			status: session.Failed, want: "a:once upon !", last: "a:hmonce upon  a:!MAX_RUN_DURATION",
		},
		"broken": {
			rest:   func(yield func(*model.Response, error) bool) { yield(nil, errors.New("connection lost")) },
			status: session.Failed, want: "a:once upon !", last: "a:hmonce upon ",
		},
		"refused": {
			rest: func(yield func(*model.Response, error) bool) {
				yield(&model.Response{ErrorCode: "OVERLOADED", ErrorMessage: "Later."}, nil)
			},
			status: session.Failed, want: "a:once upon !OVERLOADED", last: "a:hmonce upon !OVERLOADED",
		},
		"shut down": {
			end: func(h *fixture, _ *run.Run) {
				over, cancel := context.WithCancel(h.t.Context())
				cancel()
				h.Shutdown(over)
			},
			status: session.Cancelled, want: "a:once upon !", last: "a:hmonce upon  a:!INVOCATION_ABORTED",
		},
		"undone": {
			end: func(h *fixture, _ *run.Run) {
				_, err := h.Start(h.t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "no"), Busy: session.Rollback})
				if err != nil {
					h.t.Error(err)
				}
			},
			status: session.Cancelled, want: "", last: "user:no a:next",
		},
		"complete": {
			rest:   func(yield func(*model.Response, error) bool) { yield(model.Text("once upon a time"), nil) },
			status: session.Completed, want: "", last: "a:once upon a time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, end := make(chan struct{}), make(chan func(func(*model.Response, error) bool), 1)
				m := scripted.New(cutOff(said, end), scripted.Say("next"))
				h := limited(t, memstore.New(0), run.Limits{Duration: time.Minute}, llm(m), 0)
				if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
					t.Fatal(err)
				}
				r, err := h.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go"), Stream: true})
				if err != nil {
					t.Fatal(err)
				}
				r.Read().Close()
				<-said
				if tt.rest != nil {
					end <- tt.rest
				}
				if tt.end != nil {
					tt.end(h, r)
				}
				synctest.Wait()
				h.is(r, tt.status)
				if got := h.marked(); got != tt.want {
					t.Errorf("marked is %q, want %q", got, tt.want)
				}
				if got := h.history(); !strings.HasSuffix(got, tt.last) {
					t.Errorf("history %q, want it to end with %q", got, tt.last)
				}
				if name != "cancelled" {
					return
				}
				h.wait(h.start("go on"))
				told := m.Requests()[1].Contents()
				if len(told) != 3 || told[1].Role != event.RoleModel || told[1].Text() != "once upon " {
					t.Errorf("the model is told %v", told)
				}
			})
		})
	}
}

// A server that takes a run over asks the model again: what was shown before is not
// kept beside its answer.
func TestInterruptedTextIsNotHandedOver(t *testing.T) {
	t.Parallel()
	said := make(chan struct{})
	first, second, _ := replicas(t, llm(scripted.New(cutOff(said, nil))), llm(scripted.New(scripted.Say("the end"))))
	r, err := first.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go"), Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	r.Read().Close()
	<-said
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first.Shutdown(over)
	if got, row := read(t, second.other(r)); got != "a:the end" || row.Status != session.Completed {
		t.Errorf("%s: %s", row.Status, got)
	}
	if got := second.history(); got != "user:go a:the end" {
		t.Errorf("history %s", got)
	}
}

// Parallel agents that are stopped because one of them has failed keep theirs.
func TestInterruptedTextOfBranches(t *testing.T) {
	t.Parallel()
	said := make(chan struct{})
	talker, err := agent.NewLLM(agent.LLMConfig{Name: "talker", Model: scripted.New(cutOff(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	breaker, err := agent.NewLLM(agent.LLMConfig{Name: "breaker", Model: scripted.New(scripted.Wait(said, scripted.Fail(errors.New("broken"))))})
	if err != nil {
		t.Fatal(err)
	}
	root, err := agent.NewParallel(agent.Config{Name: "both", SubAgents: []*agent.Agent{talker, breaker}})
	if err != nil {
		t.Fatal(err)
	}
	h := newFixture(t, memstore.New(0), root)
	r, err := h.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go"), Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	r.Read().Close()
	h.wait(r)
	h.is(r, session.Failed)
	if got := h.marked(); got != "talker:once upon !" {
		t.Errorf("marked is %q", got)
	}
}

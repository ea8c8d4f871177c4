package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/testkit/sessionservice"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/agentengine"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/sqlite"
	"github.com/parley-run/parley/tool"
)

// patience is a time to live of waits that is over between two looks of upkeep.
const patience = time.Hour + 30*time.Second

// patient is an engine in which runs wait so long, at a time that is ahead.
func patient(t *testing.T, store session.Backend, root *agent.Agent, ttl, ahead time.Duration) *fixture {
	t.Helper()
	h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Log: slog.New(slog.NewTextHandler(t.Output(), nil)), WaitTTL: ttl,
		Agent: func(string) (*agent.Agent, error) { return root, nil },
		Now:   func() time.Time { return time.Now().Add(ahead) },
	})}
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil && !errors.Is(err, session.ErrExists) {
		t.Fatal(err)
	}
	return h
}

// questions returns the calls of a run that need an answer from outside.
func (h *fixture) questions(r *run.Run) []*event.FunctionCall {
	h.t.Helper()
	var found []*event.FunctionCall
	for _, entry := range h.wait(r).Entries {
		ev, err := entry.Decode()
		if err != nil {
			h.t.Fatal(err)
		}
		if len(ev.LongRunningToolIDs) > 0 {
			found = append(found, ev.FunctionCalls()...)
		}
	}
	return found
}

func (h *fixture) answer(call *event.FunctionCall, response string) (*run.Run, error) {
	return h.Start(h.t.Context(), run.Request{Key: key, Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{
		{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage(response)}},
	}}})
}

// tooLate wants an answer to be refused, and nothing of it to be stored.
func (h *fixture) tooLate(call *event.FunctionCall, response string) {
	h.t.Helper()
	before := len(h.list())
	_, err := h.answer(call, response)
	if !errors.Is(err, run.ErrExpired) || !strings.Contains(err.Error(), call.ID) || !strings.Contains(err.Error(), "Send a message") {
		h.t.Errorf("an answer that comes too late: error %v", err)
	}
	if got := h.history(); strings.Contains(got, "user:response") || len(h.list()) != before {
		h.t.Errorf("a run has begun, or the history has the answer: %s", got)
	}
}

// expired checks that a run has ended because there was no answer.
func (h *fixture) expired(r *run.Run) {
	h.t.Helper()
	row := h.info(r)
	if row.Status != session.Failed || row.Failure == nil || row.Failure.Type != run.WaitExpired || !strings.Contains(row.Failure.Message, "there was no answer") {
		h.t.Errorf("the run is %s, because of %v", row.Status, row.Failure)
	}
}

func (h *fixture) is(r *run.Run, want session.Status) {
	h.t.Helper()
	if got := h.info(r).Status; got != want {
		h.t.Errorf("the run is %s, want %s", got, want)
	}
}

// answered wants a run that waited to be completed, by another one.
func (h *fixture) answered(r, by *run.Run) {
	h.t.Helper()
	if row := h.info(r); row.Status != session.Completed || row.ResumedBy != by.ID() {
		h.t.Errorf("the run is %s, resumed by %q, want %s", row.Status, row.ResumedBy, by.ID())
	}
}

func work() tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: "work"}, func(*tool.Context, struct{}) (string, error) { return "worked", nil }))
}

func later() tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: "work", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
}

// A call without an answer ends by itself, in the middle of a conversation that
// continues unaffected.
func TestWaitExpires(t *testing.T) {
	for _, tt := range []struct {
		name     string
		tool     tool.Tool
		call     string
		args     any
		response string
		asked    string
		closed   string
	}{
		{
			name: "confirmation", tool: tool.Confirm(work(), nil), call: "work", response: `{"confirmed":true}`,
			asked:  "a:call-work a:call-adk_request_confirmation a:response-",
			closed: "a:response-expiredresponse-expired!INVOCATION_ABORTED",
		},
		{
			name: "input", tool: tool.RequestInput(), call: tool.InputCall, args: map[string]string{"message": "Who?"}, response: `{"result":"me"}`,
			asked:  "a:call-adk_request_input a:response-pending",
			closed: "a:response-expired!INVOCATION_ABORTED",
		},
		{
			name: "result", tool: later(), call: "work", response: `{"done":true}`,
			asked:  "a:call-work a:response-pending",
			closed: "a:response-expired!INVOCATION_ABORTED",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := scripted.New(scripted.Call(tt.call, tt.args), scripted.Say("chat"), scripted.Say("more"))
				h := patient(t, memstore.New(0), llm(m, tt.tool), patience, 0)
				r := h.start("go")
				asked := h.questions(r)[0]
				h.wait(h.start("hello"))
				time.Sleep(patience)
				h.is(r, session.Waiting)
				time.Sleep(time.Minute)
				synctest.Wait()
				h.expired(r)
				h.tooLate(asked, tt.response)
				h.wait(h.start("again"))
				want := "user:go " + tt.asked + " user:hello a:chat " + tt.closed + " user:again a:more"
				if got := h.history(); got != want {
					t.Errorf("history %s, want %s", got, want)
				}
				var told []string
				for _, c := range m.Requests()[2].Contents() {
					for _, r := range c.FunctionResponses() {
						told = append(told, r.Name+string(r.Response))
					}
				}
				if len(told) != 2 || told[1] != tt.call+agentrt.Expired {
					t.Errorf("the model is told %q", told)
				}
				h.healthy()
			})
		})
	}
}

// An answer is too late even if upkeep has not run: the answer itself ends the wait.
func TestLateAnswerEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(scripted.Call("work", nil), scripted.Say("done"))
		h := patient(t, memstore.New(0), llm(m, tool.Confirm(work(), nil)), patience, 0)
		r := h.start("go")
		asked := h.questions(r)[0]
		time.Sleep(patience + time.Second) // and upkeep is not due
		h.is(r, session.Waiting)
		h.tooLate(asked, `{"confirmed":true}`)
		h.expired(r)
		h.tooLate(asked, `{"confirmed":true}`)
		h.healthy()
	})
}

// An answer in time is one, however long ago the question was seen, and nothing
// is done about it later.
func TestAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(scripted.Call("work", nil), scripted.Say("done"))
		h := patient(t, memstore.New(0), llm(m, tool.Confirm(work(), nil)), patience, 0)
		r := h.start("go")
		time.Sleep(patience)
		resumed, err := h.answer(h.questions(r)[0], `{"confirmed":true}`)
		if err != nil {
			t.Fatal(err)
		}
		h.wait(resumed)
		before := h.history()
		time.Sleep(2 * patience)
		synctest.Wait()
		h.answered(r, resumed)
		h.is(resumed, session.Completed)
		if got := h.history(); got != before {
			t.Errorf("history %s, was %s", got, before)
		}
		if _, err := h.answer(h.questions(r)[0], `{"confirmed":true}`); !errors.Is(err, run.ErrAnswered) {
			t.Errorf("a second answer: error %v", err)
		}
	})
}

// A run waits until everything that it asked is answered, and so do those that
// have answered a part of it.
func TestAnsweredInParts(t *testing.T) {
	t.Parallel()
	calls := scripted.Calls(&event.FunctionCall{ID: "1", Name: "work"}, &event.FunctionCall{ID: "2", Name: "work"})
	h := newFixture(t, memstore.New(0), llm(scripted.New(calls, scripted.Say("well"), scripted.Say("done")), tool.Confirm(work(), nil)))
	first := h.start("go")
	asked := h.questions(first)
	answer := func(call *event.FunctionCall) *run.Run {
		r, err := h.answer(call, `{"confirmed":true}`)
		if err != nil {
			t.Fatal(err)
		}
		h.wait(r)
		return r
	}
	second := answer(asked[0])
	h.is(first, session.Waiting)
	h.is(second, session.Waiting)
	third := answer(asked[1])
	h.answered(first, third)
	h.answered(second, third)
	h.is(third, session.Completed)

	// Without the last answer they wait again; without the question, for nothing.
	if _, err := h.Rewind(t.Context(), key, third.ID()); err != nil {
		t.Fatal(err)
	}
	h.is(first, session.Waiting)
	h.is(second, session.Waiting)
	if row := h.info(first); row.ResumedBy != "" {
		t.Errorf("the run is resumed by %s, which was rewound", row.ResumedBy)
	}
	if _, err := h.Rewind(t.Context(), key, first.ID()); err != nil {
		t.Fatal(err)
	}
	h.is(first, session.Cancelled)
	h.is(second, session.Cancelled)
	h.healthy()
}

// A wait that is cancelled ends with all of its runs, and cannot be answered.
func TestCancelWait(t *testing.T) {
	t.Parallel()
	calls := scripted.Calls(&event.FunctionCall{ID: "1", Name: "work"}, &event.FunctionCall{ID: "2", Name: "work"})
	h := newFixture(t, memstore.New(0), llm(scripted.New(calls, scripted.Say("well"), scripted.Say("next")), tool.Confirm(work(), nil)))
	first := h.start("go")
	asked := h.questions(first)
	second, err := h.answer(asked[0], `{"confirmed":true}`)
	if err != nil {
		t.Fatal(err)
	}
	h.wait(second)
	row, err := h.CancelWait(t.Context(), key, first.ID())
	if err != nil || row.Status != session.Cancelled {
		t.Fatalf("the run is %v, error %v", row, err)
	}
	h.is(second, session.Cancelled)
	if _, err := h.answer(asked[1], `{"confirmed":true}`); !errors.Is(err, run.ErrAnswered) {
		t.Errorf("an answer to a cancelled question: error %v", err)
	}
	third := h.start("and now?")
	h.wait(third)
	for _, r := range []*run.Run{first, third} { // they do not wait
		before := h.info(r).Status
		if row, err := h.CancelWait(t.Context(), key, r.ID()); err != nil || row.Status != before {
			t.Errorf("the run is %v, error %v", row, err)
		}
	}
	h.healthy()
}

// held is a model call that begins and does not end.
func held(began chan<- struct{}) scripted.Step {
	return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		close(began)
		return scripted.Wait(nil, echo)(ctx, req)
	}
}

// The run that answers may be taken over: the server that ends it ends the wait.
func TestAnsweredAfterATakeover(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	first, second, _ := replicas(t, llm(scripted.New(scripted.Call("work", nil), held(began)), later()), llm(scripted.New(scripted.Say("done")), later()))
	asked := first.start("go")
	answer, err := first.answer(first.questions(asked)[0], `{"done":true}`)
	if err != nil {
		t.Fatal(err)
	}
	<-began
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first.Shutdown(over)
	if got, row := read(t, second.other(answer)); got != "a:done" || row.Status != session.Completed {
		t.Errorf("%s: %s", row.Status, got)
	}
	second.answered(asked, answer)
}

// The run that answers may fail, and the question is answered all the same. If it
// takes itself back, nothing is.
func TestAnsweredByARunThatFails(t *testing.T) {
	t.Parallel()
	for _, rollback := range []bool{false, true} {
		began := make(chan struct{})
		h := newFixture(t, memstore.New(0), llm(scripted.New(scripted.Call("work", nil), held(began), scripted.Say("next")), later()))
		first := h.start("go")
		second, err := h.answer(h.questions(first)[0], `{"done":true}`)
		if err != nil {
			t.Fatal(err)
		}
		<-began
		busy := session.Interrupt
		if rollback {
			busy = session.Rollback
		}
		next, err := h.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "next"), Busy: busy})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(next)
		h.is(second, session.Cancelled)
		if rollback {
			h.is(first, session.Waiting)
		} else {
			h.answered(first, second)
		}
	}
}

func TestWaitWithoutAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(scripted.Call("work", nil), scripted.Say("done"))
		h := patient(t, memstore.New(0), llm(m, later()), 0, 0)
		r := h.start("go")
		h.wait(r)
		time.Sleep(10_000 * time.Hour)
		synctest.Wait()
		h.is(r, session.Waiting)
		resumed, err := h.answer(h.questions(r)[0], `{"done":true}`)
		if err != nil {
			t.Fatal(err)
		}
		h.wait(resumed)
		h.is(resumed, session.Completed)
	})
}

// News of a result that takes its time, or an answer to one of several
// questions, is a reason to wait on. What is open then ends together, and so do
// all runs that wait for it.
func TestWaitGoesOn(t *testing.T) {
	for name, tt := range map[string]struct {
		tool     tool.Tool
		response string
	}{
		"interim": {later(), `{"status":"pending","progress":50}`},
		"partial": {tool.Confirm(work(), nil), `{"confirmed":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := scripted.Calls(&event.FunctionCall{ID: "1", Name: "work"}, &event.FunctionCall{ID: "2", Name: "work"})
				h := patient(t, memstore.New(0), llm(scripted.New(calls, scripted.Say("well"), scripted.Say("more")), tt.tool), patience, 0)
				first := h.start("go")
				asked := h.questions(first)
				time.Sleep(patience / 2)
				second, err := h.answer(asked[0], tt.response)
				if err != nil {
					t.Fatal(err)
				}
				h.wait(second)
				h.is(second, session.Waiting)
				time.Sleep(patience - time.Minute)
				synctest.Wait()
				h.is(first, session.Waiting)
				h.is(second, session.Waiting)
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				h.expired(first)
				h.expired(second)
				if _, err := h.answer(asked[1], tt.response); !errors.Is(err, run.ErrExpired) {
					t.Errorf("an answer that comes too late: error %v", err)
				}
				h.healthy()
			})
		})
	}
}

// A wait does not end under a run that is running: its events stand together.
func TestWaitExpiresBetweenRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		m := scripted.New(scripted.Call("work", nil), scripted.Wait(gate, echo))
		h := patient(t, memstore.New(0), llm(m, tool.Confirm(work(), nil)), patience, 0)
		r := h.start("go")
		asked := h.questions(r)[0]
		chat := h.start("hello")
		time.Sleep(2 * patience)
		h.tooLate(asked, `{"confirmed":true}`)
		h.is(r, session.Waiting)
		close(gate)
		h.wait(chat)
		time.Sleep(time.Minute)
		synctest.Wait()
		h.expired(r)
		if got := h.history(); !strings.HasSuffix(got, "user:hello a:re:hello a:response-expiredresponse-expired!INVOCATION_ABORTED") {
			t.Errorf("history %s", got)
		}
		h.healthy()
	})
}

// The user continues with whom he talks, and not with the agent that had asked.
func TestWaitExpiresBehindAnotherAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asker, err := agent.NewLLM(agent.LLMConfig{Name: "asker", Tools: []tool.Tool{tool.Confirm(work(), nil)}, Model: scripted.New(
			scripted.Call("work", nil), scripted.Call("transfer_to_agent", map[string]string{"agent_name": "talker"}),
		)})
		if err != nil {
			t.Fatal(err)
		}
		talker, err := agent.NewLLM(agent.LLMConfig{Name: "talker", Model: scripted.New(scripted.Say("one"), scripted.Say("two"))})
		if err != nil {
			t.Fatal(err)
		}
		root, err := agent.NewLLM(agent.LLMConfig{
			Name: "root", SubAgents: []*agent.Agent{asker, talker},
			Model: scripted.New(scripted.Call("transfer_to_agent", map[string]string{"agent_name": "asker"})),
		})
		if err != nil {
			t.Fatal(err)
		}
		h := patient(t, memstore.New(0), root, patience, 0)
		r := h.start("go")
		h.wait(r)
		h.wait(h.start("hello"))
		time.Sleep(2 * patience)
		synctest.Wait()
		h.expired(r)
		h.wait(h.start("again"))
		if got := h.history(); !strings.HasSuffix(got, "talker:one asker:response-expiredresponse-expired!INVOCATION_ABORTED user:again talker:two") {
			t.Errorf("history %s", got)
		}
	})
}

// How long a run has waited follows from its session alone, also after a restart,
// and where sessions outlive the records of their runs.
func TestWaitExpiresElsewhere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	service := sessionservice.New(t)
	for name, open := range map[string]func() (session.Backend, error){
		"sqlite": func() (session.Backend, error) {
			return sqlite.Open(t.Context(), path, session.Options{Owner: "one", Lease: lease})
		},
		"agentengine": func() (session.Backend, error) {
			return agentengine.Open(t.Context(), agentengine.Options{
				URL: service.StoreURL(), Getenv: func(string) string { return "" }, Log: slog.New(slog.DiscardHandler),
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := func(ahead time.Duration) *fixture {
				store, err := open()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = store.Close() })
				m := scripted.New(scripted.Call("work", nil), scripted.Say("done"))
				return patient(t, store, llm(m, tool.Confirm(work(), nil)), patience, ahead)
			}
			first := process(0)
			r := first.start("go")
			asked := first.questions(r)[0]
			first.Shutdown(t.Context())
			h := process(patience + time.Minute)
			h.tooLate(asked, `{"confirmed":true}`)
			if name == "sqlite" {
				h.expired(r)
			}
			if got := h.history(); !strings.HasSuffix(got, " a:response-expiredresponse-expired!INVOCATION_ABORTED") {
				t.Errorf("history %s", got)
			}
			h.tooLate(asked, `{"confirmed":true}`)
			h.healthy()
		})
	}
}

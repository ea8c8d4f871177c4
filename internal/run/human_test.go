package run_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// asking is a node that asks for an answer and returns it.
func asking(name, schema string) *workflow.Node {
	return workflow.Func(name, func(ctx *workflow.Context, _ any) (json.RawMessage, error) {
		answer, err := ctx.RequestInput(workflow.InputRequest{Message: "What?", Schema: json.RawMessage(schema)})
		return answer, err
	}, workflow.NodeConfig{RerunOnResume: true})
}

func mustWorkflow(edges []workflow.Edge) *agent.Agent {
	return agent.Must(workflow.New(workflow.Config{Name: "wf", Edges: edges}))
}

// A text answers the one open question of a workflow, and nothing else.
func TestTextAnswersTheOnlyQuestion(t *testing.T) {
	t.Parallel()
	one := func(schema string) *agent.Agent {
		return mustWorkflow(workflow.Chain(workflow.Start, asking("ask", schema)))
	}
	model := func(asks scripted.Step, t tool.Tool) *agent.Agent {
		return llm(scripted.New(asks, scripted.Say("said"), scripted.Say("again"), scripted.Say("again")), t)
	}
	for name, tt := range map[string]struct {
		root   *agent.Agent
		answer *event.Content
		output string // of the node; empty if the message begins another run
		fault  string
	}{
		"a text":           {root: one(""), answer: event.Text(event.RoleUser, "do it"), output: `"do it"`},
		"several texts":    {root: one(""), answer: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{Text: "do "}, {Text: "it"}}}, output: `"do it"`},
		"a number":         {root: one(""), answer: event.Text(event.RoleUser, "42"), output: `"42"`},
		"a number for one": {root: one(`{"type":"integer"}`), answer: event.Text(event.RoleUser, "42"), output: `42`},
		"a text for one":   {root: one(`{"type":"string"}`), answer: event.Text(event.RoleUser, "42"), output: `"42"`},
		"not a number":     {root: one(`{"type":"integer"}`), answer: event.Text(event.RoleUser, "some"), fault: "does not fit"},
		"below an agent": {
			root:   agent.Must(agent.NewSequential(agent.Config{Name: "all", SubAgents: []*agent.Agent{one("")}})),
			answer: event.Text(event.RoleUser, "do it"), output: `"do it"`,
		},
		"a file": {root: one(""), answer: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{Text: "look"}, {InlineData: &event.Blob{MIMEType: "text/plain", Data: []byte("x")}}}}},
		"two questions": {
			root:   mustWorkflow(workflow.Chain(workflow.Start, workflow.Fan{asking("a", ""), asking("b", "")}, workflow.Join("join"))),
			answer: event.Text(event.RoleUser, "do it"),
		},
		"a model": {root: model(scripted.Call(tool.InputCall, map[string]string{"message": "Who?"}), tool.RequestInput()), answer: event.Text(event.RoleUser, "me")},
		"a confirmation": {
			root:   mustWorkflow(workflow.Chain(workflow.Start, workflow.Agent(model(scripted.Call("work", nil), tool.Confirm(work(), nil)), workflow.NodeConfig{}))),
			answer: event.Text(event.RoleUser, "yes"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, memstore.New(0), tt.root)
			first := h.start("go")
			h.wait(first)
			r, err := h.Start(t.Context(), run.Request{Key: key, Message: tt.answer})
			if tt.fault != "" {
				if _, refused := errors.AsType[*wire.Error](err); !refused || !strings.Contains(err.Error(), tt.fault) {
					t.Fatalf("error %v, want %s", err, tt.fault)
				}
				h.is(first, session.Waiting)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			entries := h.wait(r).Entries
			if tt.output == "" {
				if row := h.info(r); row.Resumes != "" {
					t.Error("the message answers something")
				}
				return
			}
			h.answered(first, r)
			ev, err := entries[len(entries)-1].Decode()
			if err != nil {
				t.Fatal(err)
			}
			if got := string(ev.Extra["output"]); got != tt.output {
				t.Errorf("the output is %s, want %s", got, tt.output)
			}
			if got := h.history(); !strings.Contains(got, "user:response-"+tt.answer.Text()) {
				t.Errorf("the log does not have what the user wrote: %s", got)
			}
		})
	}
}

// A text in a session of a workflow does not read the log, unless a question is open:
// then it reads what followed it. Only an answer reads the log, as every answer does.
func TestTextReadsNoLog(t *testing.T) {
	t.Parallel()
	store := &countingStore{Store: memstore.New(0)}
	h := newFixture(t, store, sometimesAsking())
	say := func(text string, logs, tails int32) *run.Run {
		t.Helper()
		store.logs.Store(0)
		store.tails.Store(0)
		r, err := h.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, text)})
		if err != nil {
			t.Fatal(err)
		}
		if l, n := store.logs.Load(), store.tails.Load(); l != logs || n != tails {
			t.Errorf("%q reads %d logs and %d ends of them, want %d and %d", text, l, n, logs, tails)
		}
		h.wait(r)
		return r
	}
	h.wait(h.start("hello"))
	say("hello", 0, 0)
	first := say("ask", 0, 0)
	h.answered(first, say("an answer", 1, 1))
	say("hello", 0, 0)
}

// sometimesAsking is a workflow that asks if the message says so.
func sometimesAsking() *agent.Agent {
	pick := workflow.Func("pick", func(ctx *workflow.Context, in json.RawMessage) (json.RawMessage, error) {
		ctx.SetRoute(strings.Trim(string(in), `"`))
		return nil, nil
	}, workflow.NodeConfig{})
	return mustWorkflow(append(workflow.Chain(workflow.Start, pick), workflow.Edge{From: pick, To: asking("ask", ""), Routes: []string{"ask"}}))
}

// A text that comes too late for the question begins another run.
func TestTextAfterTheQuestionExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := patient(t, memstore.New(0), mustWorkflow(workflow.Chain(workflow.Start, asking("ask", ""))), patience, 0)
		h.wait(h.start("go"))
		time.Sleep(patience + time.Second)
		r := h.start("hello")
		h.wait(r)
		if row := h.info(r); row.Resumes != "" {
			t.Error("the message answers something")
		}
		h.is(r, session.Waiting)
	})
}

package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/testkit/nodes"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// toolGraph is a workflow that calls a tool without arguments and shows the result.
func toolGraph(t tool.Tool) *agent.Agent {
	args := workflow.Func("args", func(*workflow.Context, any) (json.RawMessage, error) { return json.RawMessage("{}"), nil }, workflow.NodeConfig{})
	return nodes.Workflow("wf", workflow.Chain(workflow.Start, args, workflow.Tool(t, workflow.NodeConfig{Name: "ask"}), nodes.Adds("end")))
}

func TestToolNodeWaits(t *testing.T) {
	t.Parallel()
	pay := tool.Must(tool.New(tool.Declaration{Name: "pay", Effect: tool.Once}, func(*tool.Context, struct{}) (string, error) { return "paid", nil }))
	fails := tool.Must(tool.New(tool.Declaration{Name: "order", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, errors.New("sold out") }))
	for name, tt := range map[string]struct {
		tool   tool.Tool
		answer string // to the question, empty if there is none
		output string
	}{
		"approved":                {tool.Confirm(pay, nil), `{"confirmed":true}`, `{"result":"paid"}+end`},
		"approved with changes":   {tool.Confirm(pay, nil), `{"confirmed":true,"editedArgs":{}}`, `{"result":"paid"}+end`},
		"rejected":                {tool.Confirm(pay, nil), `{"confirmed":false}`, `{"error":"This tool call is rejected."}+end`},
		"long-running":            {later("order", nil), `{"number":3}`, `{"number":3}+end`},
		"with a receipt":          {later("order", map[string]int{"ticket": 1}), `{"result":"3"}`, `{"result":"3"}+end`},
		"long-running that fails": {fails, "", `{"error_message":"sold out","status":"error"}+end`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChat(t, toolGraph(tt.tool))
			events := c.say("go")
			if tt.answer != "" {
				var call *event.FunctionCall
				for _, ev := range events {
					if len(ev.LongRunningToolIDs) > 0 {
						call = ev.FunctionCalls()[0]
					}
				}
				if call == nil {
					t.Fatalf("nothing waits:\n%s", story(events))
				}
				events = c.answer(call.ID, call.Name, tt.answer)
			}
			want, err := json.Marshal(tt.output)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(events[len(events)-1].Extra["output"]); !sameJSON(t, got, string(want)) {
				t.Errorf("the output is %s, want %s", got, want)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	return x == y
}

func TestToolNodeLogsIn(t *testing.T) {
	t.Parallel()
	o := &loginChat{t: t, log: agentrt.NewPrivateLog(nil, nil), desk: &fakeCredentials{keys: map[string]string{}}, root: toolGraph(protected("mail", "k"))}
	events, err := o.run(event.Text(event.RoleUser, "go"), nil)
	if !errors.Is(err, agent.ErrWaiting) || len(events) != 2 || !tool.IsCredentialCall(events[1].FunctionCalls()[0].Name) {
		t.Fatalf("the end is %v:\n%s", err, story(events))
	}
	o.desk.keys["k"] = "token"
	call := events[1].FunctionCalls()[0]
	events, err = o.run(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage("{}")},
	}}}, &agentrt.Resume{Agent: "wf", InvocationID: "run-1"})
	if err != nil || !strings.Contains(story(events), `mail returned {"data":"token","status":"success"}`) || events[len(events)-1].Author != "end" {
		t.Errorf("the end is %v:\n%s", err, story(events))
	}
}

// After a crash in a tool whose effect is Ask, the user says what became of it.
func TestToolNodeAsksAfterACrash(t *testing.T) {
	t.Parallel()
	calls := 0
	pay := tool.Must(tool.New(tool.Declaration{Name: "pay", Effect: tool.Ask}, func(*tool.Context, struct{}) (string, error) {
		calls++
		return "paid", nil
	}))
	s := scene{tree: func(*world) *agent.Agent { return toolGraph(pay) }}
	p := &played{tape: newTape(), message: event.Text(event.RoleUser, "go")}
	if err := p.emit(&event.Event{Author: event.User, Content: p.message}); err != nil {
		t.Fatal(err)
	}
	if err := s.run(t, p, nil, false); err != nil {
		t.Fatal(err)
	}
	asked := false
	for _, at := range p.moments {
		if len(at.notes) == 0 || at.events != 2 {
			continue // the call has not begun, or has ended
		}
		calls = 0
		again := &played{tape: p.cut(t, at), message: p.message}
		err := s.run(t, again, nil, true)
		asked = true
		if !errors.Is(err, agent.ErrWaiting) || calls > 0 {
			t.Fatalf("the end is %v after %d calls", err, calls)
		}
		again.id = "run-2"
		again.message, again.resume = messageOf(t, again.tape, "answer pay")
		if err := again.emit(&event.Event{Author: event.User, Content: again.message}); err != nil {
			t.Fatal(err)
		}
		if err := s.run(t, again, nil, false); err != nil || calls > 0 {
			t.Fatalf("the end is %v after %d calls", err, calls)
		}
		if got := string(again.events[len(again.events)-1].Extra["output"]); got != `"{\"ok\":true}+end"` {
			t.Errorf("the output is %s", got)
		}
	}
	if !asked {
		t.Error("no moment is between the beginning and the end of the call")
	}
}

func TestToolNodeOfAnAgentThatWaits(t *testing.T) {
	t.Parallel()
	inner := mustLLM(agent.LLMConfig{Name: "inner", Model: scripted.New(scripted.Call("order", nil)), Tools: tools(later("order", nil))})
	events := newChat(t, toolGraph(agent.AsTool(inner))).say("go")
	if last := events[len(events)-1]; !strings.Contains(last.ErrorMessage, "use the agent as a node") {
		t.Errorf("the error is %q", last.ErrorMessage)
	}
}

func TestWorkflowInput(t *testing.T) {
	t.Parallel()
	asks := func(rerun bool) *workflow.Node {
		return workflow.Func("ask", func(ctx *workflow.Context, in string) (any, error) {
			answer, err := ctx.RequestInput(workflow.InputRequest{Message: "how many?", Schema: json.RawMessage(`{"type":"integer"}`)})
			return map[string]json.RawMessage{in: answer}, err
		}, workflow.NodeConfig{RerunOnResume: rerun})
	}
	for rerun, want := range map[bool]string{
		false: `wf.b = "7+b"`,
		true:  "wf.ask = {\"hi+a\":7}\n" + `wf.b = "{\"hi+a\":7}+b"`,
	} {
		c := newChat(t, nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("a"), asks(rerun), nodes.Adds("b"))))
		first := c.say("hi")
		nodes.WantOutcome(t, first, `
wf.a = "hi+a"
wf.ask`)
		id := callID(t, first)
		if _, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{
			FunctionResponse: &event.FunctionResponse{ID: id, Name: tool.InputCall, Response: json.RawMessage(`{"result":"many"}`)},
		}}}); err == nil {
			t.Error("an answer that does not fit is accepted")
		}
		nodes.WantOutcome(t, c.answer(id, tool.InputCall, `{"result":7}`), want)
	}
}

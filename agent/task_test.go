package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/internal/testkit/nodes"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func finishWith(args any) scripted.Step { return scripted.Call("finish_task", args) }

func taskNode(m model.Model, schema string) *workflow.Node {
	return workflow.Agent(mustLLM(agent.LLMConfig{Name: "task", Model: m, Task: true, OutputKey: "out", OutputSchema: json.RawMessage(schema)}), workflow.NodeConfig{WaitForOutput: true})
}

func TestTask(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schema string
		steps  []scripted.Step
		want   string
	}{
		"a summary": {"", []scripted.Step{finishWith(map[string]string{"result": "done"})}, `
a: hi+a
task: call finish_task{"result":"done"}
task: finish_task returned {"result":"Task completed."} state{"out":{"result":"done"}}
b: {"result":"done"}+b`},
		"an object": {`{"type":"object","required":["n"]}`, []scripted.Step{finishWith(map[string]int{}), finishWith(map[string]int{"n": 1})}, `
a: hi+a
task: call finish_task{}
task: finish_task returned {"error":"Invoking ` + "`finish_task()`" + ` failed due to missing required parameters: n. You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters with correct types."}
task: call finish_task{"n":1}
task: finish_task returned {"result":"Task completed."} state{"out":{"n":1}}
b: {"n":1}+b`},
		"a list": {`{"type":"array"}`, []scripted.Step{finishWith(map[string][]int{"result": {1, 2}})}, `
a: hi+a
task: call finish_task{"result":[1,2]}
task: finish_task returned {"result":"Task completed."} state{"out":[1,2]}
b: [1,2]+b`},
		"a question to the user": {"", []scripted.Step{scripted.Say("Which one?")}, `
a: hi+a
task: Which one? state{"out":"Which one?"}
task:`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := scripted.New(tt.steps...)
			root := nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("a"), taskNode(m, tt.schema), nodes.Adds("b")))
			wantStory(t, newChat(t, root).say("hi"), tt.want)
			req := m.Requests()[0]
			if !strings.HasSuffix(req.Instruction, "call `finish_task` by itself with no accompanying text output.") || req.Config != nil && req.Config.ResponseSchema != nil {
				t.Errorf("the instruction is %q, and the settings %+v", req.Instruction, req.Config)
			}
			if got := req.Contents()[0].Text(); got != "hi" { // the conversation, not the input
				t.Errorf("the model sees %q first", got)
			}
			if i := slices.IndexFunc(req.Tools, func(d model.Declaration) bool { return d.Name == "finish_task" }); i < 0 || !json.Valid(req.Tools[i].Parameters) {
				t.Errorf("the tools are %v", req.Tools)
			}
		})
	}
}

// Outside of a workflow the tool is one like any other.
func TestTaskOutsideOfAWorkflow(t *testing.T) {
	m := scripted.New(finishWith(map[string]string{"result": "done"}), scripted.Say("That was it."))
	wantStory(t, newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Task: true})).say("hi"), `
a: call finish_task{"result":"done"}
a: finish_task returned {"result":"Task completed."}
a: That was it. (end)`)
}

func TestTakeoverTask(t *testing.T) {
	t.Parallel()
	s := scene{turns: []string{"go"}, tree: func(w *world) *agent.Agent {
		task := mustLLM(agent.LLMConfig{
			Name: "llm_task", Model: w.model(calls("pure"), finishAgent), Task: true, OutputKey: "out", Tools: []tool.Tool{w.tool("pure")},
		})
		return nodes.Workflow("wf", workflow.Chain(workflow.Start, w.adds("a"), workflow.Agent(task, workflow.NodeConfig{WaitForOutput: true}), w.adds("b")))
	}}
	s.play(t)
}

var finishAgent = finishWith(map[string]string{"result": "done"})

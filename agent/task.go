package agent

import (
	"encoding/json"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// finishTool is the name of the tool with which the model of an agent with
// LLMConfig.Task ends the task. The words below are those of the Agent Development
// Kit, so that agents that were written for it behave as they did.
const finishTool = "finish_task"

const finished = `{"result":"Task completed."}`

const finishGuide = "Do NOT call `finish_task` prematurely. Use your available tools to fully complete every aspect of the task first. " +
	"If the task is unclear, ask the user for clarification before proceeding. " +
	"Once the task is fully complete, call `finish_task` by itself with no accompanying text output."

// finish is finishTool.
type finish struct {
	schema   json.RawMessage // of the output; nil for a summary
	required []string
	wrapped  bool // the output is the argument "result"
}

func newFinish(schema json.RawMessage) *finish {
	var s struct {
		Type     string   `json:"type"`
		Required []string `json:"required"`
	}
	if len(schema) == 0 {
		return &finish{required: []string{"result"}}
	}
	_ = json.Unmarshal(schema, &s) // without a type it is wrapped
	f := &finish{schema: schema, required: s.Required, wrapped: !strings.EqualFold(s.Type, "object")}
	if f.wrapped {
		f.required = []string{"result"}
	}
	return f
}

func (f *finish) Declaration() tool.Declaration {
	d := tool.Declaration{
		Name: finishTool, Effect: tool.Pure, Parameters: f.schema,
		Description: "Signal that this agent has completed its delegated task. Call this when you have finished your delegated task.",
	}
	switch {
	case len(f.schema) == 0:
		d.Parameters = json.RawMessage(`{"type":"object","properties":{"result":{"type":"string","description":"A brief summary of what the agent accomplished."}},"required":["result"]}`)
		return d
	case f.wrapped:
		d.Parameters = json.RawMessage(`{"type":"object","properties":{"result":` + string(f.schema) + `},"required":["result"]}`)
	}
	d.Description += " Pass the required output data in the parameters."
	return d
}

func (f *finish) Call(_ *tool.Context, args json.RawMessage) (any, error) {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(args, &given) // what is not an object has no members
	var missing []string
	for _, name := range f.required {
		if value, ok := given[name]; !ok || f.wrapped && string(value) == "null" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return map[string]string{"error": "Invoking `" + finishTool + "()` failed due to missing required parameters: " + strings.Join(missing, ", ") +
			". You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters with correct types."}, nil
	}
	return json.RawMessage(finished), nil
}

// output is what the arguments of a call say.
func (f *finish) output(args json.RawMessage) json.RawMessage {
	if !f.wrapped {
		return args
	}
	var given struct {
		Result json.RawMessage `json:"result"`
	}
	_ = json.Unmarshal(args, &given) // Call has checked it
	return given.Result
}

// finishes returns the output of the task that an event of the agent in a node
// ends, nil if it does not end it. n may be nil.
func (l *llm) finishes(n *nodeRun, ev *event.Event) json.RawMessage {
	if l.finish == nil || n == nil {
		return nil
	}
	for _, r := range ev.FunctionResponses() {
		if r.Name != finishTool || string(r.Response) != finished {
			continue
		}
		log := n.ctx.inv.Log
		for i := log.Len() - 1; i >= 0; i-- {
			said := log.At(i)
			if info, ok := agentrt.NodeOf(said); !ok || info.Scope() != n.scope {
				continue
			}
			if call := callIn(said, r.ID); call != nil {
				return l.finish.output(call.Args)
			}
		}
	}
	return nil
}

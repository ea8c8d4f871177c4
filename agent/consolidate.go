package agent

import (
	"encoding/json"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

const (
	consolidateTool = "consolidate_context"

	// What the tool leaves in the state of the run, where tools of an author's
	// own may leave the same.
	consolidateKey       = "temp:consolidate_context"
	consolidateDetailKey = "temp:consolidate_context_detail"
)

// ConsolidateContext returns a tool with which a model asks for a summary of
// the conversation so far. It needs a Compaction with OnRequest.
func ConsolidateContext() tool.Tool { return consolidateContext{} }

type consolidateContext struct{}

func (consolidateContext) Declaration() tool.Declaration {
	return tool.Declaration{
		Name: consolidateTool, Effect: tool.Pure,
		Description: "Has everything so far summed up, so that there is room for more. Call it when a part of the work is done and its details are not needed any more.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"detail":{"type":"string","description":"What the summary must not leave out."}}}`),
	}
}

func (consolidateContext) Call(ctx *tool.Context, args json.RawMessage) (any, error) {
	var in struct {
		Detail *string `json:"detail"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	if err := ctx.State.Set(consolidateKey, true); err != nil {
		return nil, err
	}
	if err := ctx.State.Set(consolidateDetailKey, in.Detail); err != nil {
		return nil, err
	}
	return map[string]string{"status": "success", "message": "The conversation will be summed up."}, nil
}

// consolidates reports whether a summary was asked for in this run.
func (c *Context) consolidates() bool {
	asked, _ := c.inv.Log.Get(consolidateKey)
	return string(asked) == "true"
}

// consolidateCall is the place of the agent's latest call for a summary, or -1.
func (c *Context) consolidateCall() int {
	log := c.inv.Log
	for i := log.Len() - 1; i >= 0; i-- {
		ev := log.At(i)
		if ev.Author != c.agent.name || ev.Branch != c.branch {
			continue
		}
		for _, call := range ev.FunctionCalls() {
			if call.Name == consolidateTool {
				return i
			}
		}
	}
	return -1
}

// consolidateDetail returns what the model wants to find in the summary.
func (c *Context) consolidateDetail() []*event.Event {
	var detail string
	if v, ok := c.inv.Log.Get(consolidateDetailKey); !ok || json.Unmarshal(v, &detail) != nil || detail == "" {
		return nil
	}
	return []*event.Event{{Author: "system", Content: event.Text(event.RoleUser, "The summary must not leave out: "+detail)}}
}

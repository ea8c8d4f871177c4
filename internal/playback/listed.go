package playback

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/tool"
)

// listedTool is a tool of a toolset that is not asked in a repetition.
type listedTool struct{ declaration tool.Declaration }

func (t listedTool) Declaration() tool.Declaration { return t.declaration }

func (listedTool) Call(*tool.Context, json.RawMessage) (any, error) {
	return nil, errors.New("the toolset was not asked for the tool, since this is a repetition")
}

// Listed implements agentrt.Edges. The tools are those of the next recorded request of
// the agent; if none was recorded, those that the agent has called.
func (p *player) Listed(at agentrt.Place) (list []tool.Tool, ok bool) {
	if p.plan.LiveTools {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var request *replay.Request
	next := false // request is one that was not made yet
	var called []replay.Declaration
	for _, s := range p.recording.Steps {
		switch {
		case s.Agent != at.Agent || s.Branch != at.Branch:
		case s.Kind == replay.ToolCall:
			if !slices.ContainsFunc(called, func(d replay.Declaration) bool { return d.Name == s.Name }) {
				called = append(called, replay.Declaration{Name: s.Name})
			}
		case s.Request != nil && !next:
			request, next = s.Request, !p.used[s]
		}
	}
	declared := called
	if request != nil {
		if err := json.Unmarshal(request.Tools, &declared); err != nil {
			declared = nil // it had none
		}
	}
	for _, d := range declared {
		list = append(list, listedTool{tool.Declaration{Name: d.Name, Description: d.Description, Parameters: d.Parameters, LongRunning: p.long[d.Name]}})
	}
	return list, true
}

// longRunning returns the names of the tools whose calls were long-running.
func longRunning(events []*event.Event) map[string]bool {
	names := map[string]bool{}
	for _, ev := range events {
		for _, call := range ev.FunctionCalls() {
			if slices.Contains(ev.LongRunningToolIDs, call.ID) {
				names[call.Name] = true
			}
		}
	}
	return names
}

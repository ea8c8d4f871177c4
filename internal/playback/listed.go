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

// listedTool is a tool of a toolset that is not asked in a replay.
type listedTool struct{ declaration tool.Declaration }

func (t listedTool) Declaration() tool.Declaration { return t.declaration }

func (listedTool) Call(*tool.Context, json.RawMessage) (any, error) {
	return nil, errors.New("the toolset was not asked for the tool, since this is a replay")
}

// Listed implements agentrt.Edges. The tools are those of the next recorded request of
// the agent; if none was recorded, those that the agent has called. Toolsets are asked
// only if a tool may be called before the request after that.
func (p *player) Listed(at agentrt.Place) (list []tool.Tool, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.callsNext(at) {
		return nil, false
	}
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

// callsNext reports whether a tool may be called after the next request of an agent, and
// before the one after that. p.mu must be held.
func (p *player) callsNext(at agentrt.Place) bool {
	if p.plan.Makes(0, replay.ToolCall) {
		return true
	}
	requests := 0
	for i, s := range p.recording.Steps {
		switch {
		case s.Agent != at.Agent || s.Branch != at.Branch:
		case s.Kind == replay.ModelCall && !p.used[s]:
			if requests++; requests == 2 {
				return false
			}
			from := replay.Plan{From: p.plan.From, Results: p.plan.Results}
			if p.plan.LiveTools && from.Makes(i+1, replay.ModelCall) {
				return true // the model may ask for any of them
			}
		case s.Kind == replay.ToolCall && !p.used[s] && p.plan.Makes(i+1, replay.ToolCall):
			return true
		}
	}
	return requests == 0 && p.plan.LiveTools
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

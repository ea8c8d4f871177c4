package playback

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-run/parley/replay"
)

// asksModels reports whether a replay may call a model.
func asksModels(p *replay.Plan, r *replay.Recording) bool {
	return p.LiveModels || p.From > 0 || len(p.Results) > 0 || slices.ContainsFunc(p.Live, func(n int) bool { return r.Steps[n-1].Kind == replay.ModelCall })
}

// callsTools reports whether a replay may call a tool.
func callsTools(p *replay.Plan, r *replay.Recording) bool {
	return p.LiveTools || slices.ContainsFunc(p.Live, func(n int) bool { return r.Steps[n-1].Kind == replay.ToolCall })
}

// checkPlan refuses plans with parts that would have no effect.
func checkPlan(p *replay.Plan, r *replay.Recording) error {
	live := p.LiveModels || p.From > 0 || len(p.Results) > 0
	for _, n := range p.Live {
		if n < 1 || n > len(r.Steps) {
			return &replay.PlanError{Message: fmt.Sprintf("there is no recorded call with the number %d, which live has", n)}
		}
		if _, replaced := p.Results[n]; replaced {
			return &replay.PlanError{Message: fmt.Sprintf("the call %d is either made or gets another result: leave it out of live or of results", n)}
		}
		live = live || r.Steps[n-1].Kind == replay.ModelCall
	}
	switch {
	case p.From < 0:
		return &replay.PlanError{Message: "from must be the number of a call, beginning with 1"}
	case p.Model != "" && !live:
		return &replay.PlanError{Message: "another model answers only calls that are made: set liveModels, from or results, or name a call of a model in live"}
	case len(p.Instructions) > 0 && !live:
		return &replay.PlanError{Message: "another instruction has an effect only on calls that are made: set liveModels, from or results, or name a call of a model in live"}
	case p.Temperature != nil && !live:
		return &replay.PlanError{Message: "another temperature has an effect only on calls that are made: set liveModels, from or results, or name a call of a model in live"}
	case p.Temperature != nil && !(*p.Temperature >= 0): // also if it is not a number
		return &replay.PlanError{Message: "temperature must be a number that is not negative"}
	}
	for n, result := range p.Results {
		if n < 1 || n > len(r.Steps) || r.Steps[n-1].Kind != replay.ToolCall {
			return &replay.PlanError{Message: fmt.Sprintf("there is no recorded call of a tool with the number %d", n)}
		}
		if !json.Valid(result) {
			return &replay.PlanError{Message: fmt.Sprintf("the result for the call %d is not JSON", n)}
		}
	}
	return nil
}

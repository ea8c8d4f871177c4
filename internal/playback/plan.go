package playback

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/replay"
)

// checkPlan refuses plans with parts that would have no effect.
func checkPlan(p *replay.Plan, r *replay.Recording) error {
	live := p.LiveModels || p.From > 0
	switch {
	case p.From < 0:
		return &replay.PlanError{Message: "from must be the number of a call, beginning with 1"}
	case p.Model != "" && !live:
		return &replay.PlanError{Message: "another model answers only calls that are made: set liveModels or from"}
	case len(p.Instructions) > 0 && !live:
		return &replay.PlanError{Message: "another instruction has an effect only on calls that are made: set liveModels or from"}
	case p.Temperature != nil && !live:
		return &replay.PlanError{Message: "another temperature has an effect only on calls that are made: set liveModels or from"}
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

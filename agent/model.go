package agent

import (
	"iter"

	"github.com/parley-run/parley/model"
)

// Models iterates over the agents of the tree that a model drives, each with
// its model: its own, or that of the nearest agent above it. Agents without one
// are left out.
func (a *Agent) Models() iter.Seq2[*Agent, model.Model] {
	return func(yield func(*Agent, model.Model) bool) { a.models(yield) }
}

func (a *Agent) models(yield func(*Agent, model.Model) bool) bool {
	if a.llm != nil {
		for one := a; one != nil; one = one.parent {
			if one.llm != nil && one.llm.cfg.Model != nil {
				if !yield(a, one.llm.cfg.Model) {
					return false
				}
				break
			}
		}
	}
	for _, sub := range a.SubAgents() {
		if !sub.models(yield) {
			return false
		}
	}
	return true
}

// ModelConfig returns the agent's generation settings, nil for none.
func (a *Agent) ModelConfig() *model.Config {
	if a.llm == nil {
		return nil
	}
	return a.llm.cfg.Config
}

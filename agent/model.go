package agent

import (
	"iter"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
)

func (engine) Models(root agentrt.Agent) iter.Seq2[agentrt.Agent, model.Model] {
	return func(yield func(agentrt.Agent, model.Model) bool) { root.(*Agent).models(yield) }
}

func (a *Agent) models(yield func(agentrt.Agent, model.Model) bool) bool {
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

func (engine) ModelConfig(one agentrt.Agent) *model.Config {
	a := one.(*Agent)
	if a.llm == nil {
		return nil
	}
	return a.llm.cfg.Config
}

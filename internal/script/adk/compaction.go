package adk

import (
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// compaction is a compactor as js/adk/define-llm.js describes it. A summary is
// made by a model, by a function, or not at all.
type compaction struct {
	Tokens       int64            `json:"tokens"`
	Events       int              `json:"events"`
	OnRequest    bool             `json:"onRequest"`
	Lead         int              `json:"lead"`
	Keep         int              `json:"keep"`
	Anchored     bool             `json:"anchored"`
	DropThoughts bool             `json:"dropThoughts"`
	Model        *modelDefinition `json:"model"`
	Prompt       string           `json:"prompt"`
	Summarize    *int             `json:"summarize"`
}

func (a *App) compaction(def *compaction) (*agent.Compaction, error) {
	out := &agent.Compaction{
		Tokens: def.Tokens, Events: def.Events, OnRequest: def.OnRequest, Lead: def.Lead, Keep: def.Keep,
		Anchored: def.Anchored, DropThoughts: def.DropThoughts, Summarize: made(def.Summarize, a.summarize),
	}
	if def.Model != nil {
		m, err := a.model(def.Model)
		if err != nil {
			return nil, err
		}
		out.Summarize = agent.Summarizer(m, def.Prompt)
	}
	return out, nil
}

func (a *App) summarize(fn int) func(*tool.Context, []*event.Event) (*model.Response, error) {
	return func(tc *tool.Context, events []*event.Event) (*model.Response, error) {
		out, err := a.callWith(tc, fn, map[string]any{"events": events})
		if err != nil {
			return nil, err
		}
		return responseOf(out.Value)
	}
}

package adk

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// planner is a planner as js/adk/define-llm.js describes it: PlanReAct, or one of the
// author.
type planner struct {
	React  bool `json:"react"`
	FnAsk  int  `json:"instruct"`
	FnRead int  `json:"read"`
	app    *App
}

func (p *planner) of(a *App) agent.Planner {
	if p.React {
		return agent.PlanReAct()
	}
	p.app = a
	return p
}

func (p *planner) Instruct(ctx *tool.Context, req *model.Request) (text string, err error) {
	out, err := p.app.callWith(ctx, p.FnAsk, map[string]any{"request": requestOf(req)})
	if err != nil {
		return "", err
	}
	return text, json.Unmarshal(out.Value, &text)
}

func (p *planner) Read(ctx *tool.Context, parts []*event.Part) ([]*event.Part, error) {
	out, err := p.app.callWith(ctx, p.FnRead, map[string]any{"parts": parts})
	if err != nil || isNull(out.Value) {
		return nil, err
	}
	c := &event.Content{}
	if err := c.UnmarshalJSON([]byte(`{"parts":` + string(out.Value) + `}`)); err != nil {
		return nil, fmt.Errorf("processPlanningResponse returned something that is not a list of parts: %w", err)
	}
	return c.Parts, nil
}

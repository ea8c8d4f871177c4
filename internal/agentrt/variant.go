package agentrt

import (
	"context"

	"github.com/parley-run/parley/model"
)

// Variant is what is different in calls of models. The zero value changes nothing.
type Variant struct {
	// Model is asked in place of those of the agents.
	Model string `json:"model,omitempty"`
	// Instructions are given to models in place of those of the agents with these names.
	Instructions map[string]string `json:"instructions,omitempty"`
	// Temperature is asked of models in place of that of the agents.
	Temperature *float64 `json:"temperature,omitempty"`
}

// Ask calls a model with what is different. models finds the model by its name.
func (v *Variant) Ask(ctx context.Context, at Place, m model.Model, req *model.Request, models func(string) (model.Model, error), yield func(*model.Response, error) bool) {
	if text, ok := v.Instructions[at.Agent]; ok {
		req.Instruction = text
	}
	if v.Temperature != nil {
		var config model.Config
		if req.Config != nil { // it may be that of the agent
			config = *req.Config
		}
		config.Temperature = v.Temperature
		req.Config = &config
	}
	if v.Model != "" {
		other, err := models(v.Model)
		if err != nil {
			yield(nil, err)
			return
		}
		m = other
	}
	m.Generate(ctx, req)(yield)
}

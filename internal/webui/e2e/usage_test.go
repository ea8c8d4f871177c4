package e2e

import (
	"context"
	"iter"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// spender uses a thousand tokens of the model that the message names.
func spender() *agent.Agent {
	return agent.Must(agent.NewLLM(agent.LLMConfig{Name: "spender", Model: scripted.Func(func(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			r := model.Text("Spent.")
			r.ModelVersion = scripted.LastUserText(req)
			r.Usage = &event.Usage{Prompt: 800, CachedContent: 300, Candidates: 150, Thoughts: 50, Total: 1000}
			yield(r, nil)
		}
	})}))
}

package parley_test

import (
	"context"
	"fmt"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/openai"
)

// An agent whose model is chosen by its name. The server makes the model: here
// the offline one.
func Example_modelByName() {
	root, err := agent.NewLLM(agent.LLMConfig{
		Name:  "helper",
		Model: model.Named("claude-sonnet-4-5"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	say(parley.Config{Agents: map[string]*agent.Agent{"app": root}, Offline: true})
	// Output: true
}

// An agent whose model is an object, and one with two models: the second
// answers when the first cannot.
func Example_modelInCode() {
	local, err := openai.New("qwen3", &openai.Options{
		BaseURL: "http://localhost:8080/v1",
		Limits:  model.Limits{Tries: 2},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	either, err := model.NewRouted(map[string]model.Model{
		"local":  local,
		"hosted": model.Named("gpt-5"),
	}, func(ctx context.Context, req *model.Request, failed *model.Failed) (string, error) {
		if failed == nil {
			return "local", nil
		}
		return "hosted", nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	root, err := agent.NewLLM(agent.LLMConfig{Name: "helper", Model: either})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(root.Name())
	// Output: helper
}

// say has one turn, and tells whether there was an answer.
func say(cfg parley.Config) {
	srv, err := parley.Open(context.Background(), cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close(context.Background())
	for ev, err := range srv.Stream(context.Background(), parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, "Hello")}) {
		fmt.Println(err == nil && ev.Content.Text() != "")
	}
}

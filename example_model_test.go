package parley_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// newParrot registers a provider, and makes an agent with a model of it. A program
// does the former once: a second Register panics.
func newParrot() (*agent.Agent, error) {
	model.Register(model.Provider{
		Prefixes: []string{"mine"}, Names: "mine/…",
		New: func(name string, o model.Options) (model.Model, error) {
			return scripted.Func(scripted.Say("I am " + name + ".")), nil
		},
	})
	root, err := agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: model.Named("mine/parrot")})
	return root, err
}

var parrot = sync.OnceValues(newParrot)

// Agents name a model of an author's own as they name others.
func Example_ownModel() {
	root, err := parrot()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	srv, err := parley.Open(ctx, parley.Config{Agents: map[string]*agent.Agent{"app": root}})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)
	fmt.Println(srv.Ask(ctx, "app", "ann", "first", "Who are you?"))
	// Output: I am parrot. <nil>
}

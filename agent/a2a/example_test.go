package a2a_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/a2a"
	_ "github.com/parley-run/parley/faces" // serves A2A
	"github.com/parley-run/parley/model/scripted"
)

// The agent of one server becomes an agent of another one.
func ExampleNew() {
	ctx := context.Background()
	forecaster := agent.Must(agent.NewLLM(agent.LLMConfig{
		Name: "forecaster", Description: "Knows the weather.", Model: scripted.New(scripted.Say("It is sunny in Oslo.")),
	}))
	there, err := parley.Open(ctx, parley.Config{Agents: map[string]*agent.Agent{"weather": forecaster}})
	if err != nil {
		log.Fatal(err)
	}
	defer there.Close(ctx)
	site := httptest.NewServer(there.Handler())
	defer site.Close()

	remote, err := a2a.New(a2a.Config{Card: site.URL + "/a2a/weather"})
	if err != nil {
		log.Fatal(err)
	}
	weather, err := agent.NewRemote(agent.RemoteConfig{Config: agent.Config{Name: "weather", Description: "Knows the weather."}, Remote: remote})
	if err != nil {
		log.Fatal(err)
	}
	here, err := parley.Open(ctx, parley.Config{Agents: map[string]*agent.Agent{"travel": weather}})
	if err != nil {
		log.Fatal(err)
	}
	defer here.Close(ctx)
	answer, err := here.Ask(ctx, "travel", "ann", "first", "What is the weather in Oslo?")
	fmt.Println(answer, err)
	// Output: It is sunny in Oslo. <nil>
}

// Weather-go serves an agent with one tool. It needs no key and no network:
// the offline model stands in for a real one.
package main

import (
	"context"
	"log"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/offline"
	"github.com/parley-run/parley/tool"
)

type cityArgs struct {
	City string `json:"city" jsonschema:"The city, for example New York."`
}

type report struct {
	Status string `json:"status"`
	Report string `json:"report"`
}

func getWeather(ctx *tool.Context, in cityArgs) (report, error) {
	if err := ctx.State.Set("last_city", in.City); err != nil {
		return report{}, err
	}
	return report{"success", "The weather in " + in.City + " is sunny with a temperature of 25 degrees Celsius (77 degrees Fahrenheit)."}, nil
}

// newServer adds the agent to a configuration.
func newServer(cfg parley.Config) (*parley.Server, error) {
	weather, err := tool.New(tool.Declaration{Name: "get_weather", Description: "Reports the current weather in a city."}, getWeather)
	if err != nil {
		return nil, err
	}
	root, err := agent.NewLLM(agent.LLMConfig{
		Name:        "weather_agent",
		Description: "Answers questions about the weather.",
		Model:       offline.New(),
		Instruction: "Answer questions about the weather with the get_weather tool.",
		Tools:       []tool.Tool{weather},
	})
	if err != nil {
		return nil, err
	}
	cfg.Agents = map[string]*agent.Agent{"weather": root}
	return parley.Open(context.Background(), cfg)
}

func main() {
	srv, err := newServer(parley.Config{Network: parley.NetworkConfig{Port: 8000}})
	if err == nil {
		err = srv.Run(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
}

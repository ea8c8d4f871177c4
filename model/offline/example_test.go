package offline_test

import (
	"context"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/offline"
)

func ExampleNew() {
	req := &model.Request{Tools: []model.Declaration{{
		Name: "get_weather", Description: "Tells the weather in a city.",
		Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}}}
	req.SetContents([]*event.Content{event.Text(event.RoleUser, "What is the weather in Lisbon?")})
	for resp := range offline.New().Generate(context.Background(), req) {
		for _, call := range resp.Content.FunctionCalls() {
			fmt.Printf("%s(%s)\n", call.Name, call.Args)
		}
	}
	// Output: get_weather({"city":"Lisbon"})
}

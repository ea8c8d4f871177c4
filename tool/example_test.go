package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// emptyState is a session without state.
type emptyState struct{}

func (emptyState) Get(string) (json.RawMessage, bool) { return nil, false }

func (emptyState) All() map[string]json.RawMessage { return nil }

// newContext returns what an agent gives to a call, for tests of tools.
func newContext() *tool.Context {
	actions := &event.Actions{}
	return &tool.Context{Context: context.Background(), FunctionCallID: "c-1", Actions: actions, State: tool.NewState(emptyState{}, actions)}
}

func ExampleNew() {
	type city struct {
		Name string `json:"name" jsonschema:"The name of the city."`
	}
	weather, err := tool.New(tool.Declaration{
		Name:        "get_weather",
		Description: "Returns the weather in a city.",
		Effect:      tool.Pure,
	}, func(_ *tool.Context, in city) (string, error) {
		return "It is sunny in " + in.Name + ".", nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(weather.Call(newContext(), json.RawMessage(`{"name":"Lisbon"}`)))
	fmt.Println(weather.Call(newContext(), json.RawMessage(`{"nam":"Lisbon"}`)))
	// Output:
	// It is sunny in Lisbon. <nil>
	// <nil> invalid arguments: missing properties: ["name"]
}

func ExampleState() {
	ctx := newContext()
	if err := ctx.State.Set("user:city", "Lisbon"); err != nil {
		fmt.Println(err)
		return
	}
	if err := ctx.State.Increment("visits", 1); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tool.Value[string](ctx.State, "user:city"))
	fmt.Println(tool.Value[int](ctx.State, "visits"))
	fmt.Println(tool.Value[[]string](ctx.State, "missing"))
	// Output:
	// Lisbon <nil>
	// 1 <nil>
	// [] <nil>
}

func ExampleConfirm() {
	type file struct {
		Path string `json:"path"`
	}
	remove := tool.Confirm(tool.Must(tool.New(tool.Declaration{
		Name: "remove_file", Description: "Removes a file.",
	}, func(_ *tool.Context, in file) (string, error) { return in.Path + " is gone.", nil })), nil)

	ctx := newContext()
	fmt.Println(remove.Call(ctx, json.RawMessage(`{"path":"/tmp/x"}`)))
	ctx.Confirmation = &tool.Confirmation{Confirmed: true} // the user has approved
	fmt.Println(remove.Call(ctx, json.RawMessage(`{"path":"/tmp/x"}`)))
	// Output:
	// map[error:This tool call requires confirmation, please approve or reject.] <nil>
	// /tmp/x is gone. <nil>
}

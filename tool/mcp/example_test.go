package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/mcp"
)

func ExampleNew() {
	// A server of the protocol, with one tool.
	server := sdk.NewServer(&sdk.Implementation{Name: "weather", Version: "1"}, nil)
	type city struct {
		Name string `json:"name"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "get_weather", Description: "Returns the weather in a city."},
		func(_ context.Context, _ *sdk.CallToolRequest, in city) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "It is sunny in " + in.Name + "."}}}, nil, nil
		})
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer srv.Close()

	set, err := mcp.New(mcp.Config{HTTP: &mcp.HTTP{URL: srv.URL}, Prefix: "demo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	ctx := &tool.Context{Context: context.Background(), Actions: &event.Actions{}}
	tools, err := set.Tools(ctx) // an agent does this for the sets in its Toolsets
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range tools {
		fmt.Println(t.Declaration().Name)
		result, err := t.Call(ctx, json.RawMessage(`{"name":"Lisbon"}`))
		fmt.Printf("%s %v\n", result, err)
	}
	// Output:
	// demo_get_weather
	// "It is sunny in Lisbon." <nil>
}

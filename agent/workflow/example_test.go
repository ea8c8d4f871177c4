package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
)

// ask sends one message and prints what the nodes say.
func ask(root *agent.Agent, text string) {
	srv, err := parley.Open(context.Background(), parley.Config{Agents: map[string]*agent.Agent{"app": root}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close(context.Background())

	for ev, err := range srv.Stream(context.Background(), parley.Request{
		App: "app", User: "me", Session: "one", Message: event.Text(event.RoleUser, text),
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Author+":", ev.Content.Text())
	}
}

// A node chooses which one is next with a route.
func Example() {
	classify := workflow.Func("classify", func(ctx *workflow.Context, text string) (string, error) {
		if strings.Contains(text, "broken") {
			ctx.SetRoute("bug")
		}
		return text, nil
	}, workflow.NodeConfig{})
	report := workflow.Func("report", func(_ *workflow.Context, text string) (string, error) {
		return "reported: " + text, nil
	}, workflow.NodeConfig{})
	reply := workflow.Func("reply", func(*workflow.Context, string) (string, error) {
		return "thank you", nil
	}, workflow.NodeConfig{})
	desk, err := workflow.New(workflow.Config{
		Name:  "desk",
		Edges: workflow.Chain(workflow.Start, classify, workflow.Routes{"bug": report, workflow.DefaultRoute: reply}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(desk, "it is broken")
	// Output:
	// classify: it is broken
	// report: reported: it is broken
}

// With an Entry, a function runs the nodes, and Go says in which order.
func ExampleConfig_entry() {
	shout := workflow.Func("shout", func(_ *workflow.Context, text string) (string, error) {
		return strings.ToUpper(text), nil
	}, workflow.NodeConfig{})
	echo, err := workflow.New(workflow.Config{
		Name: "echo",
		Entry: workflow.Func("echo", func(ctx *workflow.Context, text string) (json.RawMessage, error) {
			if !strings.HasSuffix(text, "!") {
				text += "!"
			}
			return ctx.RunNode(shout, text, nil)
		}, workflow.NodeConfig{RerunOnResume: true}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(echo, "hey")
	// Output:
	// shout: HEY!
	// echo: HEY!
}

// Package nodes has what tests of workflows share.
package nodes

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// Adds is a node that puts its name behind its input, and chooses routes.
func Adds(name string, routes ...string) *workflow.Node {
	return workflow.Func(name, func(ctx *workflow.Context, in any) (string, error) {
		ctx.SetRoute(routes...)
		text, ok := in.(string)
		if !ok {
			doc, err := json.Marshal(in)
			if err != nil {
				return "", err
			}
			text = string(doc)
		}
		return text + "+" + name, nil
	}, workflow.NodeConfig{})
}

// Workflow returns a workflow with these edges.
func Workflow(name string, edges ...[]workflow.Edge) *agent.Agent {
	return agent.Must(workflow.New(workflow.Config{Name: name, Edges: slices.Concat(edges...)}))
}

// Run runs a tree for the message "hi", without a server, and returns the events.
func Run(t *testing.T, root *agent.Agent) ([]*event.Event, error) {
	t.Helper()
	log := agentrt.NewPrivateLog(nil, nil)
	inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: "run-1", UserContent: event.Text(event.RoleUser, "hi"), Log: log}
	emit := func(ev *event.Event) error {
		ev.InvocationID = inv.ID
		return log.Emit(ev)
	}
	if err := emit(&event.Event{Author: event.User, Content: inv.UserContent}); err != nil {
		t.Fatal(err)
	}
	err := inv.Start(t.Context(), root, emit)
	return log.Events()[1:], err
}

// Outcome is what the nodes of a run said, one line an event.
func Outcome(t *testing.T, events []*event.Event) string {
	t.Helper()
	var lines []string
	for _, ev := range events {
		info, _ := agentrt.NodeOf(ev)
		line := info.Path
		if info.RunID != "1" {
			line += "#" + info.RunID
		}
		if out := ev.Extra["output"]; out != nil {
			line += " = " + string(out)
		}
		if route := ev.Actions.Extra["route"]; route != nil {
			line += " -> " + string(route)
		}
		if ev.ErrorCode != "" {
			line += " " + ev.ErrorCode + ": " + ev.ErrorMessage
		}
		if ev.Branch != "" {
			line += " @" + ev.Branch
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// WantOutcome compares the Outcome of events.
func WantOutcome(t *testing.T, events []*event.Event, want string) {
	t.Helper()
	if got := Outcome(t, events); got != strings.TrimSpace(want) {
		t.Errorf("events:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

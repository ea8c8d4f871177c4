package script

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// caller is a model that calls the tool that the user names, and says done.
func caller(string, json.RawMessage, func(string) string) (model.Model, error) {
	return scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if len(scripted.LastResponses(req)) > 0 {
			return scripted.Say("done")(ctx, req)
		}
		return scripted.Call(scripted.LastUserText(req), nil)(ctx, req)
	}), nil
}

// onEngines runs a test on each engine. on chooses the engine.
func onEngines(t *testing.T, test func(t *testing.T, on func(*Options))) {
	t.Helper()
	t.Run("quickjs", func(t *testing.T) { test(t, func(*Options) {}) })
	t.Run("node", func(t *testing.T) {
		nodejs.Node(t)
		test(t, onNode)
	})
}

// onNode has Node.js run applications.
func onNode(o *Options) { o.Engine = "node" }

// isNode reports whether on chooses Node.js.
func isNode(on func(*Options)) bool {
	var o Options
	on(&o)
	return o.Engine == "node"
}

// loadApps loads applications that end with the test.
func loadApps(t *testing.T, dir string, change ...func(*Options)) *Apps {
	t.Helper()
	opts := Options{Dir: dir, Models: caller, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, f := range change {
		f(&opts)
	}
	a, err := Load(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// rootOf is the root agent of an application that works.
func rootOf(t *testing.T, a *Apps, app string) *agent.Agent {
	t.Helper()
	root, ok, err := a.Agent(app)
	if !ok || err != nil {
		t.Fatalf("application %s: %v, %v", app, ok, err)
	}
	return root
}

// ask runs an agent on one message, in a conversation of its own.
func ask(ctx context.Context, root *agent.Agent, text string) ([]*event.Event, error) {
	message := event.Text(event.RoleUser, text)
	log := agentrt.NewPrivateLog(nil, nil)
	inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: "e-1", UserContent: message, Log: log, MaxModelCalls: 20}
	var events []*event.Event
	emit := func(ev *event.Event) error {
		events = append(events, ev)
		return log.Emit(ev)
	}
	_ = log.Emit(&event.Event{Author: event.User, Content: message})
	return events, inv.Start(ctx, root, emit)
}

// result is what the tool of that name gave.
func result(t *testing.T, root *agent.Agent, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	events, err := ask(ctx, root, name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, ev := range events {
		for _, r := range ev.FunctionResponses() {
			return string(r.Response)
		}
	}
	t.Fatalf("%s: no response in %d events", name, len(events))
	return ""
}

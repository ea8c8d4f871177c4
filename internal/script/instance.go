package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/script/bundle"
	"github.com/parley-run/parley/model"
)

// instance is one version of an application's code, and the guests that run it:
// one, unless the application was given more engines. A guest that dies of its
// code is replaced by a new one from the same bundle; the agents do not notice,
// but for the calls that were in flight.
type instance struct {
	name    string
	bundle  *bundle.Bundle
	library []byte // bytecode of the runtime, which runs before
	limits  Limits
	log     *slog.Logger // which leaves secrets out
	host    *host
	models  func(name string, options json.RawMessage) (model.Model, error)

	choices   choices
	engines   int
	processes bool          // the code may start processes
	restarts  *atomic.Int64 // nil when nobody counts
	habits    habits
	sets      toolsets
	secrets   *secrets

	mu          sync.Mutex
	guests      []*guest
	births      map[int]*birth  // of guests that take the place of those
	turn        int             // whose turn it is to take a call
	description json.RawMessage // of the application, as its first guest gave it
	closed      bool
}

// start runs the code and builds the agents that it describes.
func (in *instance) start(ctx context.Context) (*agent.Agent, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for range max(in.engines, 1) {
		g, err := in.spawn(ctx)
		if err != nil {
			return nil, err
		}
		in.guests = append(in.guests, g)
	}
	var app application
	if err := json.Unmarshal(in.description, &app); err != nil {
		return nil, fmt.Errorf("read the description of the application: %w", err)
	}
	app.CredentialCall = cmp.Or(app.CredentialCall, in.choices.CredentialCall)
	return in.application(app)
}

// run calls a function of the application. What that has begun, and not waited
// for, has no part in the scope any more when it has returned.
func (in *instance) run(ctx context.Context, fn int, params string, sc *scope) (reply, error) {
	g, err := in.alive(ctx)
	if err != nil {
		return reply{}, err
	}
	defer in.secrets.enter(sc)()
	r, err := g.Call(ctx, fn, params, sc)
	sc.leave()
	return r, in.failed(ctx, err)
}

// stream calls a generator of the application.
func (in *instance) stream(ctx context.Context, fn int, params string, sc *scope, yield func(json.RawMessage) error) error {
	g, err := in.alive(ctx)
	if err != nil {
		return err
	}
	defer in.secrets.enter(sc)()
	return in.failed(ctx, g.Stream(ctx, fn, params, sc, yield))
}

// failed logs where in the author's files an error was thrown. Arguments that a
// model got wrong are no error of the code, and the model is told.
func (in *instance) failed(ctx context.Context, err error) error {
	if thrown, ok := errors.AsType[*Error](err); ok {
		text := thrown.Error()
		if thrown.Tool != "" {
			in.log.InfoContext(ctx, "a tool was called with invalid arguments", "app", in.name, "tool", thrown.Tool, "err", text)
			return err
		}
		in.log.WarnContext(ctx, "the application's code threw an error", "app", in.name, "err", text, "stack", in.bundle.MapStack(thrown.Stack))
	}
	return err
}

func (in *instance) close() {
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return
	}
	in.closed = true
	births := slices.Collect(maps.Values(in.births))
	in.mu.Unlock()
	for _, b := range births {
		b.cancel()
		<-b.done
	}
	for _, g := range in.guests {
		g.close()
	}
	in.sets.close()
}

// runChild runs an agent of the tree on behalf of a custom agent.
func runChild(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct{ Agent string }
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	sc, _ := ctx.Value(scopeKey{}).(*scope)
	if sc == nil || sc.agent == nil {
		return fmt.Errorf("the agent %s can be run by a custom agent only, with the context that it was given", p.Agent)
	}
	root := sc.agent.Agent()
	for root.Parent() != nil {
		root = root.Parent()
	}
	child := root.Find(p.Agent)
	if child == nil {
		return fmt.Errorf("the agent %s is not a part of the application: list it in subAgents", p.Agent)
	}
	return child.Run(sc.agent.WithContext(ctx), func(ev *event.Event) error { return yield(ev) })
}

// generate lets JavaScript call a model that Go talks to.
func (in *instance) generate(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct {
		Model   string          `json:"model"`
		Options json.RawMessage `json:"options"`
		Request json.RawMessage `json:"request"`
		Stream  bool            `json:"stream"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	m, err := in.models(p.Model, p.Options)
	if err != nil {
		return err
	}
	req := &model.Request{Stream: p.Stream}
	if err := changeRequest(req, p.Request); err != nil {
		return err
	}
	for resp, err := range m.Generate(ctx, req) {
		if err != nil {
			return err
		}
		if err := yield(wireResponse(resp)); err != nil {
			return err
		}
	}
	return nil
}

// runPrivately runs agents for the Runner of the author's own code, in a
// conversation that the server does not know.
func (in *instance) runPrivately(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct {
		ID string `json:"id"`
		application
		App     string                     `json:"app"`
		User    string                     `json:"user"`
		Session string                     `json:"session"`
		State   map[string]json.RawMessage `json:"state"`
		Events  []*event.Event             `json:"events"`
		Message *event.Content             `json:"message"`
		Stream  bool                       `json:"stream"`
		// Service calls the services of the Runner, of which it has these.
		Service   int  `json:"service"`
		Artifacts bool `json:"artifacts"`
		Memory    bool `json:"memory"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	root, err := in.application(p.application)
	if err != nil {
		return err
	}
	inv := &agentrt.Invocation{
		App: p.App, User: p.User, Session: p.Session, ID: p.ID, UserContent: p.Message,
		Stream: p.Stream, MaxModelCalls: 100,
	}
	services := lent{in, p.Service, p.ID}
	if p.Artifacts {
		inv.Artifacts = &lentArtifacts{services}
	}
	if p.Memory {
		inv.Memory = &lentMemory{services}
	}
	log := agentrt.NewPrivateLog(p.State, p.Events)
	inv.Log = log
	if inv.UserContent, _, err = inv.Receive(ctx, root); err != nil {
		return err
	}
	if err := log.Emit(&event.Event{Author: event.User, InvocationID: inv.ID, Content: inv.UserContent}); err != nil {
		return err
	}
	var mu sync.Mutex
	err = inv.Start(ctx, root, func(ev *event.Event) error {
		mu.Lock()
		defer mu.Unlock()
		ev.InvocationID, ev.Timestamp = inv.ID, event.Seconds(time.Now())
		if err := log.Emit(ev); err != nil {
			return err
		}
		return yield(ev)
	})
	if errors.Is(err, agent.ErrWaiting) {
		return nil
	}
	return err
}

package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/model"
)

// runChild runs an agent of the tree on behalf of a custom agent.
func runChild(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct{ Agent string }
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	sc, _ := engine.Scope(ctx).(*scope)
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

// generate calls a model for JavaScript.
func (a *App) generate(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct {
		Model   string          `json:"model"`
		Options json.RawMessage `json:"options"`
		Request json.RawMessage `json:"request"`
		Stream  bool            `json:"stream"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	m, err := a.Models(p.Model, p.Options)
	if err != nil {
		return err
	}
	req := &model.Request{Stream: p.Stream}
	if err := changeRequest(req, p.Request); err != nil {
		return err
	}
	for resp, err := range agentrt.Ask(ctx, agentrt.Place{}, m, req) {
		if err != nil {
			return err
		}
		if err := yield(wireResponse(resp)); err != nil {
			return err
		}
	}
	return nil
}

// runPrivately runs agents for a Runner that the author's code has made, in a
// conversation that the server does not store.
func (a *App) runPrivately(ctx context.Context, params json.RawMessage, yield func(any) error) error {
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
	root, err := a.application(p.application)
	if err != nil {
		return err
	}
	inv := &agentrt.Invocation{
		App: p.App, User: p.User, Session: p.Session, ID: p.ID, UserContent: p.Message,
		Stream: p.Stream, MaxModelCalls: 100,
	}
	services := runnerServices{a, p.Service, p.ID}
	if p.Artifacts {
		inv.Artifacts = &runnerArtifacts{services}
	}
	if p.Memory {
		inv.Memory = &runnerMemory{services}
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

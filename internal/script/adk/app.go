// Package adk turns what the code of an application describes into agents: the
// definitions that js/adk sends become Go agents, tools, toolsets, models and
// callbacks, which call the functions of the code.
package adk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/skill"
)

// Engines calls the functions of an application, in any of its engines.
type Engines interface {
	Call(ctx context.Context, c engine.Call) (engine.Reply, error)
	Stream(ctx context.Context, c engine.Call, yield func(json.RawMessage) error) error
}

// Options of an application.
type Options struct {
	Name    string
	Engines Engines
	Single  bool // there is only one engine
	Log     *slog.Logger
	Secrets *Secrets
	// Models makes the models that agents name.
	Models func(name string, options json.RawMessage) (model.Model, error)
	// CredentialCall is the name of the call that asks for a login, unless the
	// code chooses another one; empty for the default.
	CredentialCall string
	// Processes allows the code to start processes, with the environment Env.
	Processes bool
	Env       map[string]string
	Dir       string                            // of the application, absolute
	Locate    func(name string) (string, error) // finds a file in Dir
	// Skills loads the skills beside the code; nil if there is no such place.
	Skills func() ([]*skill.Skill, error)
}

// App builds the agents of an application. Its agents share their toolsets, which
// Close closes.
type App struct {
	Options
	recent    recentLogins
	sets      toolsets
	executors executors
}

// New makes an App.
func New(o Options) *App { return &App{Options: o} }

// Close closes the toolsets.
func (a *App) Close() { a.sets.close() }

// Build makes the agents that the code describes.
func (a *App) Build(description json.RawMessage) (*agent.Agent, error) {
	var app application
	if err := json.Unmarshal(description, &app); err != nil {
		return nil, fmt.Errorf("read the description of the application: %w", err)
	}
	app.CredentialCall = cmp.Or(app.CredentialCall, a.CredentialCall)
	if err := a.offerSkills(app.Root); err != nil {
		return nil, err
	}
	return a.application(app)
}

// Engine returns what the application provides to its engines.
func (a *App) Engine() engine.Host {
	return engine.Host{
		Functions: map[string]engine.Function{"skill": engine.Answer(parseSkill), "skillArchive": engine.Answer(unpackSkill)},
		CallFunctions: map[string]engine.CallFunction{
			"state": stateOf, "secret": secretOf, "events": eventsOf, "message": messageOf,
			"credential": engine.AnswerCall(findCredential), "dropCredential": engine.AnswerCall(dropCredential),
		},
		Operations: map[string]engine.Operation{
			"runAgent": runChild, "generate": a.generate, "runner": a.runPrivately, "service": useService,
			"loadCredential": loadCredential, "toolset": a.openToolset, "callTool": a.callTool, "resources": a.resources,
			"emitNode": emitNode, "runNode": a.runNode, "executeCode": a.executeCode,
		},
	}
}

// run calls a function of the code. When it has returned, the work that it has
// begun and not awaited cannot use the scope any more.
func (a *App) run(ctx context.Context, fn int, params string, sc *scope) (engine.Reply, error) {
	secrets := a.Secrets.enter(sc)
	defer a.Secrets.leave(secrets)
	r, err := a.Engines.Call(ctx, sc.call(fn, params))
	sc.end()
	return r, err
}

// stream calls a generator of the code.
func (a *App) stream(ctx context.Context, fn int, params string, sc *scope, yield func(json.RawMessage) error) error {
	secrets := a.Secrets.enter(sc)
	defer a.Secrets.leave(secrets)
	return a.Engines.Stream(ctx, sc.call(fn, params), yield)
}

// call is a call within the scope, which may be nil.
func (s *scope) call(fn int, params string) engine.Call {
	c := engine.Call{Function: fn, Params: params}
	if s != nil {
		c.Scope, c.About, c.Bounded = s, s.about, s.result
	}
	return c
}

// scopeOf is the scope that a function of Go is called in.
func scopeOf(v any) (*scope, error) {
	if sc, ok := v.(*scope); ok {
		return sc, nil
	}
	return nil, engine.ErrCallOver
}

func stateOf(v any, _ string) (string, error) {
	sc, err := scopeOf(v)
	if err != nil {
		return "", err
	}
	values := outerState{sc}.All
	if sc.tool == nil {
		values = sc.agent.State().All
	}
	text, err := json.Marshal(values())
	return string(text), err
}

// secretOf returns a value of the state that only tools can read.
func secretOf(v any, key string) (string, error) {
	sc, err := scopeOf(v)
	if err != nil || sc.tool == nil || !tool.IsSecret(key) {
		return "null", err
	}
	value, ok := outerState{sc}.Get(key)
	if !ok {
		return "null", nil
	}
	return string(value), nil
}

// messageOf returns the message that has started the run.
func messageOf(v any, _ string) (string, error) {
	sc, err := scopeOf(v)
	if err != nil || sc.message == nil {
		return "null", err
	}
	text, err := sc.message.MarshalJSON()
	return string(text), err
}

func eventsOf(v any, _ string) (string, error) {
	sc, err := scopeOf(v)
	if err != nil {
		return "", err
	}
	list := []*event.Event{}
	if sc.agent != nil {
		list = slices.AppendSeq(list, sc.agent.Events())
	}
	text, err := json.Marshal(list)
	return string(text), err
}

package adk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/tool"
)

// A toolset that an author declares may be implemented in Go. JavaScript then has
// only its configuration, and refers to a tool by the name of the set and its own;
// see js/adk/toolsets.js.

// makeToolset makes a set of its configuration. Each kind of toolset is a case here,
// and a class in JavaScript. ctx is used only while making it.
func (a *App) makeToolset(ctx context.Context, kind string, config json.RawMessage) (*toolset, error) {
	switch kind {
	case "openapi":
		tools, err := a.openAPI(ctx, config)
		return &toolset{tools: tools}, err
	case "mcp":
		set, err := a.mcp(config)
		if err != nil {
			return nil, err
		}
		return &toolset{source: set, end: set.Close}, nil
	}
	return nil, fmt.Errorf("there are no toolsets of the kind %q", kind)
}

// toolsets are the sets of an application. All of its engines share them.
type toolsets struct {
	mu     sync.Mutex
	open   map[string]*toolset // by a digest of the configuration
	closed bool
}

type toolset struct {
	source tool.Toolset // that may have other tools every time; nil if there is none
	end    func() error // releases what the tools hold; nil if that is nothing

	mu    sync.Mutex
	tools []tool.Tool
}

// list returns the tools as they were when first listed, so that all engines get
// the same ones.
func (s *toolset) list(ctx context.Context) ([]tool.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools != nil || s.source == nil {
		return s.tools, nil
	}
	var err error
	s.tools, err = s.source.Tools(&tool.Context{Context: ctx})
	return s.tools, err
}

// declared is a tool in the form of JavaScript.
type declared struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	LongRunning bool            `json:"longRunning,omitempty"`
	Effect      tool.Effect     `json:"effect,omitempty"`
	NeedsLogin  bool            `json:"needsLogin,omitempty"`
}

// openToolset opens a set, unless it is open, and returns its tools. The same
// configuration is the same set, in every engine and after every restart of one.
func (a *App) openToolset(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct {
		Kind   string          `json:"kind"`
		Config json.RawMessage `json:"config"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	id, set, err := a.set(ctx, p.Kind, p.Config)
	if err != nil {
		return err
	}
	tools, err := set.list(ctx)
	if err != nil {
		return err
	}
	return yield(map[string]any{"id": id, "tools": declarationsOf(tools)})
}

// set returns the set of a configuration, which it makes if there is none yet.
func (a *App) set(ctx context.Context, kind string, config json.RawMessage) (id string, set *toolset, err error) {
	sum := sha256.Sum256(config)
	id = kind + "-" + hex.EncodeToString(sum[:12])
	if set = a.sets.find(id); set != nil {
		return id, set, nil
	}
	made, err := a.makeToolset(ctx, kind, config)
	if err == nil {
		set, err = a.sets.add(id, made)
	}
	return id, set, err
}

func declarationsOf(tools []tool.Tool) []declared {
	list := make([]declared, len(tools))
	for i, t := range tools {
		d := t.Declaration()
		list[i] = declared{d.Name, d.Description, d.Parameters, d.LongRunning, d.Effect, d.NeedsLogin}
	}
	return list
}

func (s *toolsets) find(id string) *toolset {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// add keeps a set, unless there is one already.
func (s *toolsets) add(id string, set *toolset) (*toolset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.open[id]
	if first != nil || s.closed {
		set.close()
		if first == nil {
			return nil, engine.ErrClosed
		}
		return first, nil
	}
	if s.open == nil {
		s.open = map[string]*toolset{}
	}
	s.open[id] = set
	return set, nil
}

func (s *toolsets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, set := range s.open {
		set.close()
	}
	clear(s.open)
}

func (s *toolset) close() {
	if s.end != nil {
		_ = s.end() // nothing can handle the error
	}
}

// hosted is a tool of a set.
func (a *App) hosted(set, name string) (tool.Tool, error) {
	if s := a.sets.find(set); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if at := slices.IndexFunc(s.tools, func(t tool.Tool) bool { return t.Declaration().Name == name }); at >= 0 {
			return s.tools[at], nil
		}
	}
	return nil, fmt.Errorf("the toolset of the tool %s is not open", name)
}

// renamed is a tool under another name or description.
type renamed struct {
	tool.Tool
	name, description string
}

func (t *renamed) Declaration() tool.Declaration {
	d := t.Tool.Declaration()
	d.Name, d.Description = t.name, t.description
	return d
}

// Call calls the tool. Its error has the form of the packages.
func (t *renamed) Call(ctx *tool.Context, args json.RawMessage) (any, error) {
	result, err := t.Tool.Call(ctx, args)
	if err != nil {
		return nil, toolError(err, err.Error())
	}
	return result, nil
}

// callTool calls a tool of a set on behalf of a function of the author.
func (a *App) callTool(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct {
		Set  string          `json:"set"`
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	t, err := a.hosted(p.Set, p.Tool)
	if err != nil {
		return err
	}
	sc, _ := engine.Scope(ctx).(*scope)
	if sc == nil || sc.tool == nil {
		return fmt.Errorf("the tool %s can be called by tools and callbacks only, with the context that they were given", p.Tool)
	}
	tc, actions := sc.within(ctx)
	value, err := t.Call(tc, p.Args)
	if err != nil {
		return err
	}
	result, err := toolresult.Of(value)
	if err != nil {
		return err
	}
	if err := sc.addActions(actions); err != nil {
		return err
	}
	return yield(result)
}

// within returns a context for work beside the function of the scope, with its own
// actions.
func (s *scope) within(ctx context.Context) (*tool.Context, *event.Actions) {
	actions := &event.Actions{}
	tc := *s.tool
	tc.Context, tc.Actions = ctx, actions
	tc.State = tool.NewState(outerState{s}, actions)
	return &tc, actions
}

var errTooLate = errors.New("the function that called the tool has returned already: await the tool")

// addActions adds to the actions of the function, until it has returned.
func (s *scope) addActions(actions *event.Actions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errTooLate
	}
	s.tool.Actions.Merge(actions)
	return nil
}

// end is called when the function has returned.
func (s *scope) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// outerState is the state of a scope, for work within it. It is empty when the
// function has returned: the state belongs to the caller again, and changes.
type outerState struct{ *scope }

// Get returns the value of a key and whether there is one.
func (s outerState) Get(key string) (json.RawMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, false
	}
	return s.tool.State.Raw(key)
}

// All returns a copy of everything.
func (s outerState) All() map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return map[string]json.RawMessage{}
	}
	return s.tool.State.All()
}

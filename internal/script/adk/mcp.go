package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/mcp"
)

// mcpConfig is the configuration of an MCPToolset.
type mcpConfig struct {
	Connection json.RawMessage `json:"connection"`
	Names      []string        `json:"names"` // of the tools, without the prefix; none for all
	Prefix     string          `json:"prefix"`
}

// mcp makes the toolset of a server. It does not connect before the tools are
// used: an application must load even if the server is not available.
func (a *App) mcp(doc json.RawMessage) (*mcp.Toolset, error) {
	var c mcpConfig
	if err := json.Unmarshal(doc, &c); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	cfg, err := mcp.ParseConfig(c.Connection)
	if err != nil {
		return nil, err
	}
	cfg.Prefix, cfg.Log = c.Prefix, a.Log.With("app", a.Name)
	if len(c.Names) > 0 {
		cfg.Filter = mcp.Only(c.Names...)
	}
	if p := cfg.Stdio; p != nil {
		if !a.Processes {
			return nil, fmt.Errorf("mcp: the agent would start the process %q, and the server does not allow agents to start processes: "+
				"the operator allows it with --allow_processes (Config.Scripts.AllowProcesses in Go), or the agent connects to an MCP server at a URL", p.Command)
		}
		p.Environ = []string{} // nil would be that of the server
		for name, value := range a.Env {
			p.Environ = append(p.Environ, name+"="+value)
		}
		// As the author sees it, everything is relative to the agent.
		given := p.Dir
		if !filepath.IsAbs(p.Dir) {
			p.Dir = filepath.Join(a.Dir, p.Dir)
		}
		if p.Dir, err = filepath.Abs(p.Dir); err != nil {
			return nil, fmt.Errorf("mcp: %w", err)
		}
		if info, err := os.Stat(p.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("mcp: the cwd %q of the server is not a directory", given)
		}
	}
	return mcp.New(cfg)
}

// toolsetDefinition is a toolset that is listed before every model call: one that is
// implemented in Go, or one of the author.
type toolsetDefinition struct {
	Kind   string          `json:"kind"`
	Config json.RawMessage `json:"config"`
	Filter *int            `json:"filter"` // a function
	List   *int            `json:"list"`   // a function that lists the tools of one of the author
}

// openTimeout bounds the time for making a toolset, which may fetch a document.
const openTimeout = time.Minute

// live makes the toolset of a definition, or finds it.
func (a *App) live(def toolsetDefinition) (tool.Toolset, error) {
	if def.List != nil {
		return &ownSet{app: a, list: *def.List}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	_, set, err := a.set(ctx, def.Kind, def.Config) // no server is called yet; a document may be
	if err != nil {
		return nil, err
	}
	source := set.source
	if source == nil { // they are always the same to choose from
		source = unchanging(set.tools)
	}
	return &live{app: a, source: source, filter: def.Filter}, nil
}

// unchanging is a toolset whose tools never change.
type unchanging []tool.Tool

func (u unchanging) Tools(*tool.Context) ([]tool.Tool, error) { return u, nil }

// live is a toolset that belongs to the App, which closes it. Agents do not close it,
// because several toolsets of the author may share it.
type live struct {
	app    *App
	source tool.Toolset
	filter *int

	mu     sync.Mutex
	all    []tool.Tool // that were last chosen from
	names  []string
	chosen []tool.Tool
}

// Tools are the tools of the moment; see tool.Toolset.
func (l *live) Tools(ctx *tool.Context) ([]tool.Tool, error) {
	all, err := l.source.Tools(ctx)
	if err != nil || l.filter == nil || len(all) == 0 {
		return all, err
	}
	out, err := l.app.callWith(ctx, *l.filter, map[string]any{"tools": declarationsOf(all)})
	if err != nil {
		return nil, err
	}
	var names []string
	if err := json.Unmarshal(out.Value, &names); err != nil {
		return nil, fmt.Errorf("read what the filter chose: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) != len(all) || &l.all[0] != &all[0] || !slices.Equal(l.names, names) {
		l.all, l.names, l.chosen = all, names, nil
		for _, t := range all {
			if slices.Contains(names, t.Declaration().Name) {
				l.chosen = append(l.chosen, t)
			}
		}
	}
	return l.chosen, nil
}

// resources returns the names of the resources of a server, or the contents of one
// of them.
func (a *App) resources(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct {
		Config json.RawMessage `json:"config"`
		Name   *string         `json:"name"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	_, set, err := a.set(ctx, "mcp", p.Config)
	if err != nil {
		return err
	}
	server, ok := set.source.(*mcp.Toolset)
	if !ok {
		return errors.New("only MCP servers have resources")
	}
	tc := &tool.Context{Context: ctx}
	if sc, _ := engine.Scope(ctx).(*scope); sc != nil && sc.tool != nil {
		tc, _ = sc.within(ctx)
	}
	if p.Name != nil {
		contents, err := server.ReadResource(tc, *p.Name)
		if err != nil {
			return err
		}
		return yield(contents)
	}
	list, err := server.Resources(tc)
	if err != nil {
		return err
	}
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = one.Name
	}
	return yield(names)
}

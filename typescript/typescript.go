// Package typescript lets a program serve agents that are written in TypeScript.
// Import it for its side effect; parley.Config.Scripts says where they are.
//
//	import _ "github.com/parley-run/parley/typescript"
package typescript

import (
	"context"

	"github.com/parley-run/parley/internal/link"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/script"
)

func init() {
	registry.Register[link.LoadScripts]("", load)
	registry.Register[link.YAML]("", script.YAML)
}

func load(ctx context.Context, o link.ScriptOptions) (link.Scripts, error) {
	loaded, err := script.Load(ctx, script.Options{
		Dir: o.Dir, AppName: o.AppName, Environ: o.Environ, Processes: o.Processes, Models: o.Models, Log: o.Log,
		CacheDir: o.CacheDir, Reload: o.Reload, Engine: o.Engine, Engines: o.Engines, Memory: o.Memory, Scratch: o.Scratch, Hosts: o.Hosts, MaxResponse: o.MaxResponse,
	})
	if err != nil {
		return nil, err
	}
	return scripts{loaded}, nil
}

// scripts are applications as the server sees them.
type scripts struct{ *script.Apps }

func (s scripts) Engines() []link.Engines {
	var list []link.Engines
	for _, e := range s.Apps.Engines() {
		list = append(list, link.Engines{App: e.App, Count: e.Count, Restarts: e.Restarts, MemoryLimit: e.MemoryLimit})
	}
	return list
}

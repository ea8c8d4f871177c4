package script

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/script/adk"
	"github.com/parley-run/parley/internal/script/bundle"
	"github.com/parley-run/parley/internal/script/engine"
)

// instance is one version of an application's code, and the engines that run it. An
// engine that ends because of its code is replaced by a new one with the same
// bundle; only the calls that it had in flight fail.
type instance struct {
	name    string
	bundle  *bundle.Bundle
	library []byte // see bundle.Library
	thread  engine.Start
	limits  engine.Limits
	log     *slog.Logger // without secrets
	host    engine.Host  // what engines get, besides what app provides
	app     *adk.App

	count    int           // of engines
	restarts *atomic.Int64 // nil if they are not counted

	mu          sync.Mutex
	engines     []*engine.Engine
	restarting  map[int]*restart // by index in engines
	next        int              // index of the engine that gets the next call
	description json.RawMessage  // of the application, by its first engine
	closed      bool
}

// start runs the code and builds the agents that it describes.
func (in *instance) start(ctx context.Context) (*agent.Agent, error) {
	for range in.count {
		e, err := in.spawn(ctx)
		if err != nil {
			return nil, err
		}
		in.engines = append(in.engines, e)
	}
	return in.app.Build(in.description)
}

// Call calls a function of the code; see adk.Engines.
func (in *instance) Call(ctx context.Context, c engine.Call) (engine.Reply, error) {
	e, err := in.pick(ctx)
	if err != nil {
		return engine.Reply{}, err
	}
	r, err := e.Call(ctx, c)
	return r, in.failed(ctx, err)
}

// Stream calls a generator of the code; see adk.Engines.
func (in *instance) Stream(ctx context.Context, c engine.Call, yield func(json.RawMessage) error) error {
	e, err := in.pick(ctx)
	if err != nil {
		return err
	}
	return in.failed(ctx, e.Stream(ctx, c, yield))
}

// failed logs where in the author's files an error was thrown. Invalid arguments of
// a model are not an error of the code, and the model gets the error.
func (in *instance) failed(ctx context.Context, err error) error {
	if thrown, ok := errors.AsType[*engine.Error](err); ok {
		text := thrown.Error()
		if thrown.Tool != "" {
			in.log.InfoContext(ctx, "a tool was called with invalid arguments", "app", in.name, "tool", thrown.Tool, "err", text)
			return err
		}
		attrs := []any{"app", in.name, "err", text, "stack", in.bundle.MapStack(thrown.Stack)}
		if strings.Contains(text, "in this runtime") || strings.Contains(text, "WebAssembly") {
			if advice := in.bundle.Advice(thrown.Stack); advice != "" {
				attrs = append(attrs, "advice", advice)
			}
		}
		in.log.WarnContext(ctx, "the application's code threw an error", attrs...)
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
	restarts := slices.Collect(maps.Values(in.restarting))
	in.mu.Unlock()
	for _, r := range restarts {
		r.cancel()
		<-r.done
	}
	for _, e := range in.engines {
		e.Close()
	}
	in.app.Close()
}

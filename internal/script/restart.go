package script

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/parley-run/parley/internal/script/bundle"
	"github.com/parley-run/parley/internal/script/engine"
)

// spawn makes an engine with the code in it. The first one determines the
// description of the application.
func (in *instance) spawn(ctx context.Context) (*engine.Engine, error) {
	var e *engine.Engine
	// An operation may call functions of the application in turn: those of the same
	// engine, also while that is still loading.
	provided := in.app.Engine()
	for name, operation := range provided.Operations {
		provided.Operations[name] = func(ctx context.Context, params json.RawMessage, yield func(any) error) error {
			return operation(context.WithValue(ctx, engineKey{}, e), params, yield)
		}
	}
	provided.Add(in.host)
	e, err := engine.New(in.thread, in.limits, in.log, provided)
	if err != nil {
		return nil, err
	}
	description, err := e.Load(ctx, in.library, bundle.Name, in.bundle.Code)
	if err == nil && in.description != nil && !sameShape(description, in.description) {
		err = errors.New("the code describes other agents each time it is loaded")
	}
	if err != nil {
		e.Close()
		if thrown, ok := errors.AsType[*engine.Error](err); ok {
			err = in.bundle.Locate(err, thrown.Stack)
		}
		return nil, err
	}
	if in.description == nil {
		in.description = description
	}
	return e, nil
}

// sameShape reports whether two descriptions of an application have the same
// functions, by number, for the same agents and tools. Texts such as instructions
// may differ, because they may contain the time for example.
func sameShape(a, b json.RawMessage) bool {
	var one, other any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return false
	}
	return reflect.DeepEqual(shapeOf(one), shapeOf(other))
}

// shapeOf returns the part of a description that has functions, and what they
// belong to.
func shapeOf(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = shapeOf(one)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, one := range v {
			switch key {
			case "kind", "name":
				out[key] = one
			case "model":
				if m, ok := one.(map[string]any); ok {
					out[key] = m["fn"]
				}
			case "config", "options", "parameters", "inputSchema", "outputSchema", "authConfig":
			default:
				out[key] = shapeOf(one)
			}
		}
		return out
	case float64:
		return v
	}
	return nil
}

// engineKey is the key of the engine on whose behalf an operation works.
type engineKey struct{}

// restart is the replacement of an engine.
type restart struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when engine or err is set
	engine *engine.Engine
	err    error
}

// pick returns the engine for a call: the one on whose behalf an operation works
// or else the next in turn. If that has ended, pick waits for its replacement.
func (in *instance) pick(ctx context.Context) (*engine.Engine, error) {
	if e, ok := ctx.Value(engineKey{}).(*engine.Engine); ok {
		return e, nil
	}
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return nil, engine.ErrClosed
	}
	in.next = (in.next + 1) % len(in.engines)
	e := in.engines[in.next]
	if e.Err() == nil {
		in.mu.Unlock()
		return e, nil
	}
	r := in.restarting[in.next]
	if r == nil {
		r = in.replace(context.WithoutCancel(ctx), in.next)
	}
	in.mu.Unlock()
	select {
	case <-r.done:
		return r.engine, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// replace starts the replacement of an engine that has ended. in.mu must be held.
func (in *instance) replace(ctx context.Context, index int) *restart {
	old := in.engines[index]
	in.log.WarnContext(ctx, "restarting the application's engine", "app", in.name, "err", old.Err())
	r := &restart{done: make(chan struct{})}
	ctx, r.cancel = context.WithCancel(ctx)
	if in.restarting == nil {
		in.restarting = map[int]*restart{}
	}
	in.restarting[index] = r
	go func() {
		defer close(r.done)
		defer r.cancel()
		r.engine, r.err = in.spawn(ctx)
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(in.restarting, index) // if it has failed, the next call tries again
		switch {
		case r.err != nil && !in.closed:
			in.log.ErrorContext(ctx, "the application's engine could not be restarted", "app", in.name, "err", r.err)
		case r.err == nil:
			in.engines[index] = r.engine // close closes it if the instance is closed
			if in.restarts != nil {
				in.restarts.Add(1)
			}
			go old.Close() // which may take a while
		}
	}()
	return r
}

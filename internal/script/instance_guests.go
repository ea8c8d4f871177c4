package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/parley-run/parley/internal/script/bundle"
)

// spawn makes a guest. The first gives the description of the application, and
// wants in.mu held.
func (in *instance) spawn(ctx context.Context) (*guest, error) {
	var g *guest
	// What a guest asks for may call functions of the application in turn: its
	// own, also while it is still loading, and not those of another guest.
	within := func(fn op) op {
		return func(ctx context.Context, params json.RawMessage, yield func(any) error) error {
			return fn(context.WithValue(ctx, guestKey{}, g), params, yield)
		}
	}
	ops := map[string]op{
		"runAgent": within(runChild), "generate": within(in.generate), "runner": within(in.runPrivately),
		"service": within(useService), "loadCredential": loadCredential, "toolset": within(in.openToolset), "callTool": within(in.callTool), "resources": within(in.resources),
	}
	maps.Copy(ops, in.host.ops())
	g, err := newGuest(in.limits, in.log, ops, in.host.sync())
	if err != nil {
		return nil, err
	}
	limit := in.limits.load()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("loading the application took more than %v, and was given up", limit))
	defer cancel()
	var description json.RawMessage
	if err = g.load(ctx, in.library, bundle.Name, in.bundle.Code); err == nil {
		description, err = g.describe(ctx)
	}
	if err == nil && in.description != nil && !sameShape(description, in.description) {
		err = errors.New("the code describes other agents each time it is loaded")
	}
	if err != nil {
		g.close()
		if thrown, ok := errors.AsType[*Error](err); ok {
			err = in.bundle.Locate(err, thrown.Stack)
		}
		return nil, err
	}
	if in.description == nil {
		in.description = description
	}
	return g, nil
}

// sameShape reports whether two descriptions of an application give its
// functions the same numbers, and to the same agents and tools. What these are
// told may well be another text each time, the time of day for example.
func sameShape(a, b json.RawMessage) bool {
	var one, other any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return false
	}
	return reflect.DeepEqual(shapeOf(one), shapeOf(other))
}

// shapeOf is the part of a description in which functions, and those that they
// belong to, are named.
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

// guestKey leads to the guest on whose behalf Go works.
type guestKey struct{}

// birth is a guest that is being made.
type birth struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when there is a guest, or none
	guest  *guest
	err    error
}

// alive is the guest that asked for what needs one or, when none did, the one
// whose turn it is; a new one if that has died. All who need that one wait for
// it, each as long as it can.
func (in *instance) alive(ctx context.Context) (*guest, error) {
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		return g, nil
	}
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return nil, errDead
	}
	in.turn = (in.turn + 1) % len(in.guests)
	g := in.guests[in.turn]
	select {
	case <-g.engine.dead:
	default:
		in.mu.Unlock()
		return g, nil
	}
	b := in.births[in.turn]
	if b == nil {
		b = in.replace(context.WithoutCancel(ctx), in.turn)
	}
	in.mu.Unlock()
	select {
	case <-b.done:
		return b.guest, b.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// replace begins to make a new guest in the place of one that has died. It wants
// in.mu held.
func (in *instance) replace(ctx context.Context, place int) *birth {
	old := in.guests[place]
	in.log.WarnContext(ctx, "restarting the application's engine", "app", in.name, "cause", old.engine.cause)
	b := &birth{done: make(chan struct{})}
	ctx, b.cancel = context.WithCancel(ctx)
	if in.births == nil {
		in.births = map[int]*birth{}
	}
	in.births[place] = b
	go func() {
		defer close(b.done)
		defer b.cancel()
		b.guest, b.err = in.spawn(ctx)
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(in.births, place) // if it has failed, the next call tries again
		switch {
		case b.err != nil && !in.closed:
			in.log.ErrorContext(ctx, "the application's engine could not be restarted", "app", in.name, "err", b.err)
		case b.err == nil:
			in.guests[place] = b.guest // which ends with the others if they are ending
			if in.restarts != nil {
				in.restarts.Add(1)
			}
			go old.close() // which may take a while
		}
	}()
	return b
}

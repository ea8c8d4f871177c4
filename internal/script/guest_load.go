package script

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// load runs bytecode and then the code of an application, up to where it can be
// called.
func (g *guest) load(ctx context.Context, library []byte, name, code string) error {
	failed, err := expect(ctx, g, g.engine.load(library, name, code))
	if err != nil {
		return err
	}
	return failed
}

// describe asks the code what there is: its first function knows.
func (g *guest) describe(ctx context.Context) (json.RawMessage, error) {
	id, c := g.begin(ctx, 0, "", nil, false)
	defer g.forget(id)
	r, err := expect(ctx, g, c.replies)
	if err != nil {
		return nil, err
	}
	return r.value, r.err
}

var errNever = errors.New("the module waits for something that never happens")

// expect waits for an answer of code that nobody calls yet. If nothing is under
// way that could make the code go on, there will be none.
func expect[T any](ctx context.Context, g *guest, answer <-chan T) (T, error) {
	var none T
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		var err error
		select {
		case v := <-answer:
			return v, nil
		case <-ctx.Done():
			return none, context.Cause(ctx)
		case <-g.engine.dead:
			err = g.engine.cause
		case <-look.C:
			if !g.idle() {
				continue
			}
			err = errNever
		}
		select {
		case v := <-answer: // which came just before
			return v, nil
		default:
			return none, err
		}
	}
}

// idle reports whether the code does nothing, and nothing is under way that it
// may wait for.
func (g *guest) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.timers) == 0 && len(g.requests) == 0 && g.engine.quiet()
}

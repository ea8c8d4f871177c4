package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Load runs the library and then the code of an application, as a module of a name
// that stack traces show. It returns the description of the application: the
// answer of function 0, which the code provides for that.
func (e *Engine) Load(ctx context.Context, library []byte, name, code string) (json.RawMessage, error) {
	limit := e.limits.Load
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("loading the application took more than %v, and was given up", limit))
	defer cancel()
	if err := e.load(ctx, library, name, code); err != nil {
		return nil, err
	}
	return e.describe(ctx)
}

func (e *Engine) load(ctx context.Context, library []byte, name, code string) error {
	failed, err := expect(ctx, e, e.thread.Load(library, name, code))
	if err != nil {
		return err
	}
	if thrown, ok := errors.AsType[*Error](failed); ok {
		if cause := e.thread.Fatal(failed); cause != nil { // it says which limit was exceeded, and stack where
			return &Error{Message: cause.Error(), Stack: thrown.Stack}
		}
	}
	return failed
}

func (e *Engine) describe(ctx context.Context) (json.RawMessage, error) {
	c := newCall(ctx, Call{})
	defer e.forget(e.begin(c, false))
	r, err := expect(ctx, e, c.replies)
	if err != nil {
		return nil, err
	}
	return r.Value, r.err
}

var errNever = errors.New("the module waits for something that never happens")

// expect waits for an answer while the code is loading. It fails if the engine is
// idle, because nothing can make the code continue then.
func expect[T any](ctx context.Context, e *Engine, answer <-chan T) (T, error) {
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
		case <-e.thread.Done():
			err = e.thread.Err()
		case <-look.C:
			if !e.Idle() {
				continue
			}
			if err = errNever; e.thread.Full() {
				err = e.thread.Exhausted() // what the code waits for was lost for lack of memory
			}
		}
		select {
		case v := <-answer: // it was sent just before
			return v, nil
		default:
			return none, err
		}
	}
}

// Idle reports whether the code does not run, and nothing is in flight that it may
// wait for.
func (e *Engine) Idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.requests) == 0 && e.thread.Idle()
}

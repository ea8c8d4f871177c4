package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/internal/workflowrt"
	"github.com/parley-run/parley/tool"
)

// attempts runs the node until it does not fail, or not again.
func (r *nodeRun) attempts() error {
	inv := r.ctx.inv
	first := 1
	if r.node.Agent == nil {
		if err := r.logIn(); err != nil {
			return err
		}
		if err := r.begin(); err != nil {
			return err
		}
		if note, ok := inv.noted(attemptNote(r.scope)); ok {
			if _, err := fmt.Sscan(string(note), &first, &r.emitted); err != nil {
				return fmt.Errorf("read the attempts of node %s: %w", r.info.Path, err)
			}
			first++
		}
	}
	for attempt := first; ; attempt++ {
		if attempt > 1 {
			if err := r.retried(attempt); err != nil {
				return err
			}
		}
		if attempt > first && r.node.Agent == nil {
			// The attempt before may have found out that the login is no longer valid.
			if err := r.logIn(); err != nil {
				return err
			}
		}
		r.output, r.routes, r.closed, r.reported, r.asked, r.counts, r.begun, r.concluded = nil, nil, false, nil, 0, nil, nil, false
		err := r.once(attempt)
		if err == nil || !r.repeatable(err) {
			return err
		}
		pause, again := r.node.Again(attempt, err)
		if !again {
			return err
		}
		inv.note(attemptNote(r.scope), fmt.Append(nil, attempt, " ", r.emitted))
		if err := retry.Sleep(r.ctx, pause); err != nil {
			return err
		}
	}
}

// retried puts the number of an attempt into the events of the node. Readers get
// it when the attempt begins; it is stored with the first event.
func (r *nodeRun) retried(attempt int) error {
	r.info.Attempt = attempt
	r.stamp = rawJSON(r.info)
	return r.emit(&event.Event{Partial: true})
}

// attemptNote is about the attempts of a node that have failed: how many they are,
// and how many events they have emitted.
func attemptNote(scope string) string { return "attempt/" + scope }

// begin notes that the function begins, if it must not begin twice.
func (r *nodeRun) begin() error {
	inv := r.ctx.inv
	if e := r.node.Effect; inv.Journal == nil || e != tool.Once && e != tool.Ask {
		return nil
	}
	if _, ok := inv.noted(begunNote(r.scope)); ok {
		return workflowrt.NodeError(r.info.Path, errors.New("it was interrupted before it finished; it may or may not have taken effect"))
	}
	inv.note(begunNote(r.scope), []byte("1"))
	if err := inv.Journal.Flush(); err != nil {
		return fmt.Errorf("note that node %s begins: %w", r.info.Path, err)
	}
	return nil
}

// repeatable reports whether a failure is one that another attempt may avoid.
func (r *nodeRun) repeatable(err error) bool {
	if _, _, inner := workflowrt.FindNodeError(err); inner || errors.Is(err, ErrWaiting) || errors.Is(err, ErrCannotResume) || r.ctx.Err() != nil {
		return false
	}
	if other := (*agentrt.NodeFailure)(nil); errors.As(err, &other) {
		return !other.Final
	}
	switch failure, crashed := (*agentrt.Failure)(nil), (*agentrt.Panic)(nil); {
	case errors.As(err, &crashed):
		return false
	case errors.As(err, &failure):
		return !isLimit(failure.Code)
	}
	return true
}

// once makes one attempt.
func (r *nodeRun) once(attempt int) (err error) {
	defer agentrt.Recover(&err, "node", r.info.Path)
	ctx := r.ctx
	if limit := r.node.Timeout; limit > 0 {
		within, cancel := context.WithTimeoutCause(ctx.Context, limit, &workflowrt.TimeoutError{Limit: limit})
		defer cancel()
		ctx = ctx.WithContext(within)
		defer func() {
			if late := (*workflowrt.TimeoutError)(nil); err != nil && errors.As(context.Cause(within), &late) {
				err = late
			}
		}()
	}
	if r.input, err = r.check(workflowrt.InputData, r.given); err != nil {
		return err
	}
	if r.node.Agent != nil {
		return r.runAgent(ctx)
	}
	c := &nodeContext{ctx: ctx, run: r, attempt: attempt}
	c.actions.Merge(&r.hooked)
	c.tool = ctx.toolContext(&c.actions)
	c.tool.FunctionCallID = r.callID()
	var out json.RawMessage
	if t := r.node.Tool; t != nil {
		err = c.call(t, r.input)
	} else {
		out, err = r.node.Body(c, r.input)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	return r.finish(out, c)
}

// runAgent runs the agent of the node.
func (r *nodeRun) runAgent(ctx *Context) error {
	a := r.agent()
	if err := a.Run(ctx, r.emit); err != nil {
		return err
	}
	if f := r.reported; f != nil && r.output == nil && r.routes == nil {
		return &agentrt.Failure{Code: f.ErrorCode, Message: fmt.Sprintf("node %s: %s: %s", r.info.Path, f.ErrorCode, f.ErrorMessage)}
	}
	end := &event.Event{}
	if err := r.replace(end); err != nil {
		return err
	}
	if end.Extra == nil {
		if a.graph != nil || a.llm != nil && r.output != nil {
			return nil
		}
		end.Actions.EndOfAgent = true
	}
	return r.emit(end)
}

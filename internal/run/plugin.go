package run

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/parley-run/parley/internal/agentrt"
)

// PluginError means that a plugin of the application failed on a message, which
// was not accepted. Like other errors of agents, its text is for clients.
type PluginError struct{ Cause error }

func (e *PluginError) Error() string { return e.Cause.Error() }
func (e *PluginError) Unwrap() error { return e.Cause }

// runPlugins passes the message to the plugins of the application, which may
// replace it.
func (a *admission) runPlugins(ctx context.Context) error {
	e, req := a.engine, a.req
	if !agentrt.ReceivesMessages(a.root) {
		return nil
	}
	log, err := a.log(ctx)
	if err != nil {
		return err
	}
	inv := &agentrt.Invocation{
		App: req.Key.App, User: req.Key.User, Session: req.Key.ID,
		UserContent: req.Message, Log: log,
	}
	message, actions, err := inv.Receive(ctx, a.root)
	switch panicked, ok := errors.AsType[*agentrt.Panic](err); {
	case ok:
		e.cfg.Log.ErrorContext(ctx, "a plugin panicked on a message", "app", req.Key.App, "err", agentrt.ScrubText(a.creds, panicked.String()))
		return err
	case err != nil:
		return &PluginError{Cause: scrubbed(a.creds, err)}
	}
	req.Message = message
	if len(actions.StateDelta) > 0 {
		delta := maps.Clone(actions.StateDelta)
		maps.DeleteFunc(delta, func(key string, _ json.RawMessage) bool {
			_, ok := req.StateDelta[key]
			return ok // the client's values take precedence
		})
		// The request is stored before the run begins.
		if delta, err = sealed(ctx, a.creds, delta, nil); err != nil {
			return err
		}
		delta = maps.Clone(delta)
		maps.Copy(delta, req.StateDelta)
		req.StateDelta = delta
	}
	return checkMessage(message)
}

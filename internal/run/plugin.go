package run

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// PluginError means that a plugin of the application failed on a message, which
// was not accepted. Like other errors of agents, its text is for clients.
type PluginError struct{ Cause error }

func (e *PluginError) Error() string { return e.Cause.Error() }
func (e *PluginError) Unwrap() error { return e.Cause }

// show lets the plugins of an application look at a message before it is
// stored, and change it.
func (e *Engine) show(ctx context.Context, req *Request, root *agent.Agent, wallet Wallet) error {
	if !root.WatchesMessages() {
		return nil
	}
	s, err := e.store.Get(ctx, req.Key, session.Read{})
	if err != nil {
		return storeError("read the session", err)
	}
	inv := &agent.Invocation{
		App: req.Key.App, User: req.Key.User, Session: req.Key.ID,
		UserContent: req.Message, Log: newLog(s),
	}
	message, actions, err := inv.Receive(ctx, root)
	switch panicked, ok := errors.AsType[*agent.Panic](err); {
	case ok:
		e.log.ErrorContext(ctx, "a plugin panicked on a message", "app", req.Key.App, "err", tool.ScrubText(wallet, panicked.String()))
		return err
	case err != nil:
		return &PluginError{Cause: scrubbed(wallet, err)}
	}
	req.Message = message
	if len(actions.StateDelta) > 0 {
		delta := maps.Clone(actions.StateDelta)
		maps.DeleteFunc(delta, func(key string, _ json.RawMessage) bool {
			_, ok := req.StateDelta[key]
			return ok // what the client says comes last
		})
		// The request is stored before the run begins.
		if delta, err = sealed(ctx, wallet, delta, nil); err != nil {
			return err
		}
		delta = maps.Clone(delta)
		maps.Copy(delta, req.StateDelta)
		req.StateDelta = delta
	}
	return checkMessage(message)
}

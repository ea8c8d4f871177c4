package run

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// checkState refuses keys that only tools may write. The error is a *wire.Error
// with the path of the key.
func checkState(member string, state map[string]json.RawMessage) error {
	if len(state) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if tool.IsSecret(key) {
			return &wire.Error{
				Type: "value_error", Path: []any{member, key},
				Msg: "Keys that begin with " + tool.SecretPrefix + " are for tools alone: clients can neither read nor write them",
			}
		}
	}
	return nil
}

// credentials returns the credentials for a run of a session; nil if logins are not
// supported.
func (e *Engine) credentials(key session.Key) Credentials {
	if e.cfg.Logins == nil {
		return nil
	}
	return e.cfg.Logins.For(key)
}

// sealed returns a client's change of a session's state without its credentials,
// which it stores separately. It deletes credentials that the change replaces,
// unless before is nil.
func sealed(ctx context.Context, creds Credentials, delta map[string]json.RawMessage, before tool.Lookup) (map[string]json.RawMessage, error) {
	if creds == nil || len(delta) == 0 {
		return delta, nil
	}
	return creds.Seal(ctx, delta, before)
}

// current is a state in which Seal looks up existing values.
type current session.State

func (c current) Get(key string) (json.RawMessage, bool) {
	v, ok := c[key]
	return v, ok
}

func (c current) All() map[string]json.RawMessage { return maps.Clone(c) }

// checkMarkers checks the state of a request.
func (a *admission) checkMarkers(ctx context.Context) error {
	if a.creds == nil || !slices.ContainsFunc(slices.Collect(maps.Values(a.req.StateDelta)), isMarker) {
		return nil
	}
	s, err := a.session(ctx)
	if err != nil {
		return err
	}
	return checkMarkers(a.req.StateDelta, s.State)
}

// sealState stores the credentials in the state of a request separately, before
// anything of it is stored.
func (a *admission) sealState(ctx context.Context) (err error) {
	a.req.StateDelta, err = sealed(ctx, a.creds, a.req.StateDelta, nil)
	return err
}

// checkMarkers refuses a client's change of the state with a marker of a sealed
// credential if the key has no sealed credential. A client that sends back what it
// has read changes nothing.
func checkMarkers(delta, state map[string]json.RawMessage) error {
	for _, key := range slices.Sorted(maps.Keys(delta)) {
		if isMarker(delta[key]) && string(state[key]) != redact.Sealed {
			return &wire.Error{
				Type: "value_error", Path: []any{"stateDelta", key},
				Msg: "The value " + redact.Sealed + " stands for a credential that is kept sealed, and none is kept under this key",
			}
		}
	}
	return nil
}

// isMarker reports whether a value is redact.Sealed in any JSON spelling.
func isMarker(value json.RawMessage) bool {
	var text, marker string
	return json.Unmarshal(value, &text) == nil && json.Unmarshal([]byte(redact.Sealed), &marker) == nil && text == marker
}

// scrubbed returns an error without the secrets that a run has received. It returns
// err itself if it contains none.
func scrubbed(creds Credentials, err error) error {
	if clean := agentrt.ScrubText(creds, err.Error()); clean != err.Error() {
		return errors.New(clean)
	}
	return err
}

// create creates a session. It stores the credentials in its state separately after
// that; they are never part of the session.
func (e *Engine) create(ctx context.Context, made session.NewSession) (*session.Session, error) {
	if e.cfg.Logins == nil {
		return e.cfg.Store.Create(ctx, made)
	}
	held := session.State{}
	made.State = withhold(sessionrt.WithoutTemp(made.State), held)
	for i, entry := range made.Log {
		ev, err := entry.Decode()
		if err != nil || len(ev.Actions.StateDelta) == 0 {
			continue
		}
		changed := *ev
		changed.Actions.StateDelta = withhold(ev.Actions.StateDelta, held)
		if maps.EqualFunc(changed.Actions.StateDelta, ev.Actions.StateDelta, slices.Equal[json.RawMessage]) {
			continue
		}
		if made.Log[i], err = session.NewEntry(&changed); err != nil {
			return nil, err
		}
	}
	s, err := e.cfg.Store.Create(ctx, made)
	if err != nil || len(held) == 0 {
		return s, err
	}
	if _, err := e.cfg.Logins.For(made.Key).Seal(ctx, held, nil); err != nil {
		if gone := e.cfg.Store.Delete(context.WithoutCancel(ctx), made.Key); gone != nil {
			e.cfg.Log.Error("could not delete a session whose credentials could not be stored", "app", made.Key.App, "session_id", made.Key.ID, "err", gone)
		}
		return nil, err
	}
	return s, nil
}

// withhold moves values that look like credentials from state to held.
func withhold(state, held session.State) session.State {
	out, ours := state, false
	for key, value := range state {
		if !redact.HoldsCredential(value) {
			continue
		}
		if !ours {
			out, ours = maps.Clone(state), true
		}
		out[key], held[key] = json.RawMessage(redact.Sealed), value
	}
	return out
}

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/session"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// checkState refuses what a client cannot write: keys that are for tools alone.
// The error is a *wire.Error that leads to the key.
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

// sealed is a change of a session's state by a client, without the credentials
// in it: those are put away.
func (e *Engine) sealed(ctx context.Context, key session.Key, delta map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if e.logins == nil || len(delta) == 0 {
		return delta, nil
	}
	return e.logins.For(key).Seal(ctx, delta, nil)
}

// create makes a session. Credentials in its state are put away when it is
// there; they never stand in it.
func (e *Engine) create(ctx context.Context, made session.NewSession) (*session.Session, error) {
	if e.logins == nil {
		return e.store.Create(ctx, made)
	}
	held := session.State{}
	made.State = withhold(made.State, held)
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
	s, err := e.store.Create(ctx, made)
	if err != nil || len(held) == 0 {
		return s, err
	}
	if _, err := e.logins.For(made.Key).Seal(ctx, held, nil); err != nil {
		if gone := e.store.Delete(context.WithoutCancel(ctx), made.Key); gone != nil {
			e.log.Error("a session is left whose credentials could not be kept", "app", made.Key.App, "session_id", made.Key.ID, "err", gone)
		}
		return nil, err
	}
	return s, nil
}

// withhold is state with what looks like a credential taken out, into held.
func withhold(state, held session.State) session.State {
	out, ours := state, false
	for key, value := range state {
		if !credential.HoldsCredential(value) {
			continue
		}
		if !ours {
			out, ours = maps.Clone(state), true
		}
		out[key], held[key] = json.RawMessage(tool.Sealed), value
	}
	return out
}

// hide puts away what is secret in the state that an event changes. It wants
// t.mu held.
func (t *task) hide(ev *event.Event) error {
	if t.wallet == nil || len(ev.Actions.StateDelta) == 0 {
		return nil
	}
	delta, err := t.wallet.Seal(t.detached, ev.Actions.StateDelta, t.log)
	if refused, ok := errors.AsType[*broker.AnswerError](err); ok {
		return refused
	}
	if err != nil {
		return storeError("keep a credential", err)
	}
	ev.Actions.StateDelta = delta
	return nil
}

// scrub takes out of an entry what tools were given and nobody else may see. The
// event that it was made of changes with it: that is what models are shown.
func (t *task) scrub(entry *session.Entry) error {
	if t.wallet == nil {
		return nil
	}
	clean := t.wallet.Scrub(entry.JSON)
	if bytes.Equal(clean, entry.JSON) {
		return nil
	}
	entry.JSON = clean
	*entry.Event = event.Event{}
	return entry.Event.UnmarshalJSON(clean)
}

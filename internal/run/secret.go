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
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
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

// wallet is what a run of a session has to do with credentials, nil when there
// can be none.
func (e *Engine) wallet(key session.Key) Wallet {
	if e.logins == nil {
		return nil
	}
	return e.logins.For(key)
}

// sealed is a change of a session's state by a client, without the credentials
// in it: those are put away. What was put away before, and is replaced, is
// forgotten; before is nil when that is for later.
func sealed(ctx context.Context, wallet Wallet, delta map[string]json.RawMessage, before tool.Lookup) (map[string]json.RawMessage, error) {
	if wallet == nil || len(delta) == 0 {
		return delta, nil
	}
	return wallet.Seal(ctx, delta, before)
}

// current is a state in which Seal looks up what there is.
type current session.State

func (c current) Get(key string) (json.RawMessage, bool) {
	v, ok := c[key]
	return v, ok
}

func (c current) All() map[string]json.RawMessage { return maps.Clone(c) }

// checkMarkers is the check of that name for the state of a request.
func (a *admission) checkMarkers(ctx context.Context) error {
	if a.wallet == nil || !slices.ContainsFunc(slices.Collect(maps.Values(a.req.StateDelta)), isMarker) {
		return nil
	}
	s, err := a.session(ctx)
	if err != nil {
		return err
	}
	return checkMarkers(a.req.StateDelta, s.State)
}

// sealState puts the credentials in the state of a request away before anything
// of it is stored.
func (a *admission) sealState(ctx context.Context) (err error) {
	a.req.StateDelta, err = sealed(ctx, a.wallet, a.req.StateDelta, nil)
	return err
}

// checkMarkers refuses a change of the state by a client that says of a key that
// a credential is put away under it, if there is none. A client that sends back
// what it has read changes nothing.
func checkMarkers(delta, state map[string]json.RawMessage) error {
	for _, key := range slices.Sorted(maps.Keys(delta)) {
		if isMarker(delta[key]) && string(state[key]) != tool.Sealed {
			return &wire.Error{
				Type: "value_error", Path: []any{"stateDelta", key},
				Msg: "The value " + tool.Sealed + " stands for a credential that is kept sealed, and none is kept under this key",
			}
		}
	}
	return nil
}

// isMarker reports whether a value is tool.Sealed, however it is spelled.
func isMarker(value json.RawMessage) bool {
	var text, marker string
	return json.Unmarshal(value, &text) == nil && json.Unmarshal([]byte(tool.Sealed), &marker) == nil && text == marker
}

// replaced forgets what was put away for keys to which the message of the run
// gives other values. It wants t.mu held.
func (t *task) replaced(delta session.State) {
	if _, err := sealed(t.detached, t.wallet, delta, t.log); err != nil {
		t.logger().Error("a credential is left that a client has taken away", "err", err)
	}
}

// dropTemp forgets what was put away in the state that ends with the run. It
// wants t.mu held.
func (t *task) dropTemp() {
	gone := t.log.temp()
	maps.DeleteFunc(gone, func(_ string, v json.RawMessage) bool { return string(v) != tool.Sealed })
	for key := range gone {
		gone[key] = json.RawMessage("null")
	}
	if _, err := sealed(t.detached, t.wallet, gone, t.log); err != nil {
		t.logger().Error("a credential is left that was for one run", "err", err)
	}
}

// scrubbed is an error without the secrets that a run was given. It is err
// itself when there are none in it.
func scrubbed(wallet Wallet, err error) error {
	if clean := tool.ScrubText(wallet, err.Error()); clean != err.Error() {
		return errors.New(clean)
	}
	return err
}

// create makes a session. Credentials in its state are put away when it is
// there; they never stand in it.
func (e *Engine) create(ctx context.Context, made session.NewSession) (*session.Session, error) {
	if e.logins == nil {
		return e.store.Create(ctx, made)
	}
	held := session.State{}
	made.State = withhold(session.WithoutTemp(made.State), held)
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

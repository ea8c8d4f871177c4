package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/run/stream"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// recorder writes the events of one run, in order, to the store, to
// the log that the agents see, and to the ledger.
//
// A writer holds the slot, during calls to the store too: code that must answer
// immediately does not need it. The methods and fields below require the slot,
// unless they say otherwise.
type recorder struct {
	engine   *Engine
	ctx      context.Context //nolint:containedctx // of the run, without the end of its request
	key      session.Key
	run      string
	metadata map[string]json.RawMessage // added to every event
	creds    Credentials
	ledger   *ledger
	owner    interface{ fenced() } // told when the session has another owner

	slot
	deferral

	epoch    int64 // 0 until the run has begun
	log      *log
	journal  journal // safe for concurrent use
	redactor stream.Redactor
	latest   float64 // timestamp of the latest event
	closed   bool    // nothing is recorded any more

	ids   string                      // of the next events; see newID
	alone [usualEvents]*session.Entry // see only
	used  int                         // of alone

	doubt atomic.Bool // something may be stored that is not known here; does not require the slot
}

// begin sets what the store has assigned to the run.
func (r *recorder) begin(begun *session.Begun) {
	r.epoch = begun.Run.Epoch
	r.log = newLog(begun.Session)
	r.journal.begin(begun.Journal)
}

// refuses returns the reason why nothing can be recorded, or nil.
func (r *recorder) refuses() error {
	switch {
	case r.closed:
		return errOver
	case r.doubt.Load():
		return errDoubt
	}
	return nil
}

// stamp sets the members of an event that only the run knows.
func (r *recorder) stamp(ev *event.Event) {
	ev.InvocationID = r.run
	// Clocks may go back; timestamps in the log must not.
	r.latest = max(r.latest, event.Seconds(r.engine.cfg.Now()))
	ev.Timestamp = r.latest
	if len(r.metadata) > 0 {
		all := maps.Clone(r.metadata)
		maps.Copy(all, ev.CustomMetadata)
		ev.CustomMetadata = all
	}
}

// entry encodes an event of the run.
func (r *recorder) entry(ev *event.Event) (*session.Entry, error) {
	r.stamp(ev)
	if ev.ID == "" {
		ev.ID = r.newID()
	}
	ev.Actions.StateDelta = sessionrt.WithoutTemp(ev.Actions.StateDelta)
	entry, err := session.NewEntry(ev)
	if err != nil {
		return nil, err
	}
	return entry, r.scrub(entry)
}

// newID returns an id for an event. The ids of most runs are one allocation
// (BenchmarkRun in package bench).
func (r *recorder) newID() string {
	if r.ids == "" {
		r.ids = ident.Events(usualEvents)
	}
	id := r.ids[:ident.EventSize]
	r.ids = r.ids[ident.EventSize:]
	return id
}

// only returns a list of one entry. The lists of most runs are a part of the turn,
// which saves allocations (BenchmarkRun in package bench): a store that keeps a list
// keeps the turn.
func (r *recorder) only(entry *session.Entry) []*session.Entry {
	if r.used == len(r.alone) {
		return []*session.Entry{entry}
	}
	i := r.used
	r.alone[i] = entry
	r.used++
	return r.alone[i:r.used:r.used]
}

// prepare encodes an event that changes the state. It returns the changes with those
// of the temp: state, which is not stored.
func (r *recorder) prepare(ev *event.Event) (*session.Entry, session.State, error) {
	// The run is the only writer of the session, so the result of the changes now
	// is the result when the event is stored.
	if err := ev.Actions.Resolve(r.log.Get); err != nil {
		return nil, nil, &agentrt.Failure{Code: "STATE_CONFLICT", Message: "The run was ended because the state could not be changed: " + err.Error() + "."}
	}
	if err := r.seal(ev); err != nil {
		return nil, nil, err
	}
	delta := ev.Actions.StateDelta
	entry, err := r.entry(ev)
	if err != nil {
		return nil, nil, err
	}
	r.journal.temp(r.log, delta)
	return entry, delta, nil
}

// append encodes an event, stores it after those that are pending, and adds it to
// the log of the agents.
func (r *recorder) append(ev *event.Event) (*session.Entry, error) {
	entry, delta, err := r.prepare(ev)
	if err != nil {
		return nil, err
	}
	if err := r.flush(r.only(entry)...); err != nil {
		return nil, err
	}
	r.log.append(ev, delta)
	r.ledger.add(ev)
	return entry, nil
}

// store writes entries and the pending notes of the journal. It stores the end of a
// run even if the run was cancelled.
func (r *recorder) store(notes session.Journal, entries ...*session.Entry) error {
	if len(notes) == 0 && len(entries) == 0 {
		return nil
	}
	err := r.write(notes, entries)
	if err == nil {
		return nil
	}
	r.journal.putBack(notes)
	if errors.Is(err, session.ErrFenced) {
		r.owner.fenced()
		return errLost
	}
	r.doubt.Store(true)
	return storeError("append an event", err)
}

func (r *recorder) write(notes session.Journal, entries []*session.Entry) error {
	store, o := r.engine.cfg.Store, r.engine.appends
	if o == nil {
		return store.Append(r.ctx, r.key, r.epoch, notes, entries...)
	}
	began := time.Now()
	err := store.Append(r.ctx, r.key, r.epoch, notes, entries...)
	o.Appended(time.Since(began), err)
	return err
}

// piece returns a partial event as it may be shown before the whole event is
// stored; nil if nothing of it may.
func (r *recorder) piece(ev *event.Event) (*event.Event, error) {
	r.stamp(ev)
	if len(ev.Actions.StateDelta) > 0 { // the whole event is sealed
		shown := *ev
		shown.Actions.StateDelta = maps.Clone(withhold(redact.State(ev.Actions.StateDelta), session.State{}))
		ev = &shown
	}
	return r.redactor.Piece(ev)
}

// seal stores the secrets in the state delta of an event separately.
func (r *recorder) seal(ev *event.Event) error {
	if r.creds == nil || len(ev.Actions.StateDelta) == 0 {
		return nil
	}
	delta, err := r.creds.Seal(r.ctx, ev.Actions.StateDelta, r.log)
	if refused, ok := errors.AsType[*broker.AnswerError](err); ok {
		return refused
	}
	if err != nil {
		return storeError("keep a credential", err)
	}
	ev.Actions.StateDelta = delta
	return nil
}

// scrub removes from an entry the secrets that tools have received. It also changes
// the event, because models see that.
func (r *recorder) scrub(entry *session.Entry) error {
	if r.creds == nil {
		return nil
	}
	clean := r.creds.Scrub(entry.JSON)
	if bytes.Equal(clean, entry.JSON) {
		return nil
	}
	entry.JSON = clean
	*entry.Event = event.Event{}
	return entry.Event.UnmarshalJSON(clean)
}

// dropReplaced deletes the credentials of keys that the message of the run has
// overwritten.
func (r *recorder) dropReplaced(delta session.State) error {
	_, err := sealed(r.ctx, r.creds, delta, r.log)
	return err
}

// dropTemp deletes the credentials in the state that ends with the run.
func (r *recorder) dropTemp() error {
	gone := r.log.temp()
	maps.DeleteFunc(gone, func(_ string, v json.RawMessage) bool { return string(v) != redact.Sealed })
	for key := range gone {
		gone[key] = json.RawMessage("null")
	}
	_, err := sealed(r.ctx, r.creds, gone, r.log)
	return err
}

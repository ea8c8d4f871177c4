package run

import (
	"errors"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run/stream"
	"github.com/parley-run/parley/session"
)

// deferral holds the events of a run that agents see and nothing depends on yet, so
// that the run need not wait until they are stored.
//
// An event must be stored before a reader sees it, before a tool is called because of
// it, and before the end of the run is reported. What follows most other events is a call
// of a model, which depends on none of that. Such events are pending: they are stored
// together with the next event that has to be, with the end of the run, or by a
// goroutine of their own after storeDelay, whatever comes first. They are always
// stored in their order, and with all notes of the journal so far.
//
// The fields require the recorder's slot, unless they say otherwise.
type deferral struct {
	feed    *stream.Feed
	pending []*unstored
	shown   bool        // readers have seen pieces of a pending event
	late    bool        // the timer is set, or its goroutine works
	timer   *time.Timer // starts that goroutine

	// writing is held during a call of Append that does not hold the slot. It is
	// acquired with the slot held. It guards writes.
	writing chan struct{}
	writes  []*unstored // by that call, or by one that failed
}

// unstored is an event that is not known to be stored.
type unstored struct {
	entry *session.Entry
	rest  *event.Event // the last piece that readers see before it; nil for none
}

// storeDelay is how long an event waits for others that are stored with it. A model
// that takes longer does not wait for it, and readers do not notice.
const storeDelay = 5 * time.Millisecond

// precedesEffects reports whether something other than a model call may follow an
// event.
func precedesEffects(ev *event.Event) bool {
	if ev.ErrorCode != "" || len(ev.LongRunningToolIDs) > 0 || len(ev.Actions.RequestedAuthConfigs) > 0 {
		return true
	}
	if ev.Content == nil {
		return false
	}
	for _, p := range ev.Content.Parts {
		if p.FunctionCall != nil {
			return true
		}
	}
	return false
}

// appendLater adds an event to the log of the agents, and stores it soon. The
// recorder's slot must be held.
func (t *turn) appendLater(ev *event.Event) error {
	r := &t.recorder
	entry, delta, err := r.prepare(ev)
	if err != nil {
		return err
	}
	r.log.append(ev, delta)
	r.ledger.add(ev)
	r.shown = r.shown || t.feed.EventID(ev) != ""
	r.pending = append(r.pending, &unstored{entry: entry, rest: t.rest(ev)})
	if !r.late {
		r.late = true
		r.timer = time.AfterFunc(storeDelay, t.storePending)
	}
	return nil
}

// rest returns the last piece of an event that has been withheld so far.
func (t *turn) rest(ev *event.Event) *event.Event {
	rest, err := t.recorder.redactor.Rest(ev.Author, ev.Branch)
	if err != nil {
		t.logger().Warn("could not show the end of a message before the message", "err", err)
		return nil
	}
	return rest
}

// storePending stores pending events while the agents continue. What they emit in
// the meantime is stored next.
func (t *turn) storePending() {
	for r := &t.recorder; ; {
		if r.acquire(t.ctx) != nil {
			return // the end of the run stores them
		}
		if r.closed || r.doubt.Load() || len(r.pending) == 0 {
			r.late = false
			r.unlock()
			return
		}
		r.writing <- struct{}{}
		r.take()
		notes := r.journal.take() // a later one may be about an event that is not taken
		r.unlock()
		err := r.storeTaken(notes)
		<-r.writing
		if err != nil {
			t.stop(err) // the agents may be waiting for a model
			return
		}
	}
}

// take moves the pending events to writes.
func (d *deferral) take() { d.writes, d.pending, d.shown = d.pending, nil, false }

// quiesce waits for a call of Append that does not hold the slot. No other one begins
// while the slot is held.
func (d *deferral) quiesce() {
	switch {
	case !d.late:
	case d.timer.Stop():
		d.late = false
	default: // the goroutine stores something, or waits for the slot
		d.writing <- struct{}{}
		<-d.writing
	}
}

// settle stores the pending events.
func (r *recorder) settle() error {
	if r.quiesce(); r.doubt.Load() {
		return errDoubt
	}
	if len(r.pending) == 0 {
		return nil
	}
	return r.flush()
}

// flush stores the pending events, then others, and the notes of the journal.
func (r *recorder) flush(others ...*session.Entry) error {
	if r.quiesce(); r.doubt.Load() {
		return errDoubt
	}
	r.take()
	return r.storeTaken(r.journal.take(), others...)
}

// storeTaken stores writes, others and notes, and shows writes to the readers.
func (r *recorder) storeTaken(notes session.Journal, others ...*session.Entry) error {
	if len(r.writes) == 0 {
		return r.store(notes, others...)
	}
	if err := r.store(notes, append(entriesOf(r.writes), others...)...); err != nil {
		return err
	}
	r.show(r.writes)
	r.writes = nil
	return nil
}

func entriesOf(list []*unstored) []*session.Entry {
	entries := make([]*session.Entry, len(list), len(list)+1)
	for i, u := range list {
		entries[i] = u.entry
	}
	return entries
}

// show adds events that are stored to the feed.
func (d *deferral) show(stored []*unstored) {
	for _, u := range stored {
		d.publish(u.entry, u.rest)
	}
}

// publish adds an event that is stored to the feed, after the last piece of it. The
// event is shown even if that piece cannot be.
func (d *deferral) publish(entry *session.Entry, rest *event.Event) {
	if rest != nil {
		_ = d.feed.Piece(rest)
	}
	d.feed.Store(entry)
}

// dropUnstored removes the events from the log of the agents that are not known to
// be stored.
func (r *recorder) dropUnstored() {
	r.log.drop(len(r.writes) + len(r.pending))
	r.writes, r.pending, r.shown = nil, nil, false
}

// joinsEnd reports whether the pending events are stored with the end of a run that
// has ended with err. After a failure they are not: what is stored then depends on
// them.
func (t *turn) joinsEnd(err error) bool {
	return err == nil && t.ledger.failure() == nil || errors.Is(err, agent.ErrWaiting)
}

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
)

// A wait begins with a run that needs an answer from outside, and includes all runs
// that answers have started since. It expires if no event is added to it during the
// time to live of waits: an answer is then refused, and the next check, by an
// answer or by the upkeep of any process, closes its calls and ends its runs. The
// log is the only record of a wait; no process has to remember it.

// waitBatch limits how many waits upkeep reads together.
const waitBatch = 1000

// WaitExpired is the failure type of a run whose wait has expired.
const WaitExpired = "expired"

func expired(id string) error {
	return fmt.Errorf("%w: %s. Send a message, and you are asked again if it is still needed", ErrExpired, id)
}

// wait is one of the waits in a log.
type wait struct {
	runs   []string   // in their order
	latest float64    // time of its last event
	open   []openCall // calls without an answer
	from   int        // index in runs of the first one with an open call
}

// waits are the waits of a log. They are read from its events in order, so that those of
// a longer log follow from what is new in it.
type waits struct {
	all []*wait
	of  map[string]*wait // by the ids of their runs

	calls map[string]*askedCall // that have no final answer
	made  int                   // calls
}

// waitsIn finds the waits in a log. Most are over and have no open calls. Runs
// without calls, which are most of a long log, are left out (BenchmarkAnswer).
func waitsIn(l *log) *waits {
	found := newWaits()
	for i := range l.Len() {
		found.add(l.At(i))
	}
	found.list()
	return found
}

func newWaits() *waits { return &waits{of: map[string]*wait{}, calls: map[string]*askedCall{}} }

// add reads the next event.
func (found *waits) add(ev *event.Event) {
	w := found.of[ev.InvocationID]
	for _, r := range ev.FunctionResponses() {
		call := found.calls[r.ID]
		if call == nil {
			continue
		}
		if w == nil && ev.Author == event.User {
			w = found.of[call.run]
			w.runs = append(w.runs, ev.InvocationID)
			found.of[ev.InvocationID] = w
		}
		call.long = call.long || slices.Contains(ev.LongRunningToolIDs, r.ID)
		if call.unmade = agentrt.Unmade(ev, r); !call.unmade && (!call.long || isFinal(ev, r)) {
			delete(found.calls, r.ID)
		}
	}
	asked := ev.FunctionCalls()
	if w == nil && len(asked) > 0 {
		w = &wait{runs: []string{ev.InvocationID}}
		found.all = append(found.all, w)
		found.of[ev.InvocationID] = w
	}
	if w != nil {
		w.latest = max(w.latest, ev.Timestamp)
	}
	for _, call := range asked {
		found.made++
		found.calls[call.ID] = &askedCall{run: ev.InvocationID, number: found.made, openCall: openCall{
			id: call.ID, name: call.Name, author: ev.Author, branch: ev.Branch, long: slices.Contains(ev.LongRunningToolIDs, call.ID),
		}}
	}
}

// list sets the open calls of the waits.
func (found *waits) list() {
	for _, w := range found.all {
		w.open, w.from = nil, 0
	}
	for _, call := range slices.SortedFunc(maps.Values(found.calls), func(a, b *askedCall) int { return a.number - b.number }) {
		if !call.long && !call.unmade {
			continue
		}
		w := found.of[call.run]
		if len(w.open) == 0 {
			w.from = slices.Index(w.runs, call.run)
		}
		w.open = append(w.open, call.openCall)
	}
}

// askedCall is a call that may wait for an answer from outside.
type askedCall struct {
	openCall
	run    string
	number int
	unmade bool // it is made when another one is answered
}

// tooOld reports whether a wait with its last event at a time has expired.
func (e *Engine) tooOld(latest float64) bool {
	return e.cfg.WaitTTL > 0 && event.Seconds(e.cfg.Now())-latest > e.cfg.WaitTTL.Seconds()
}

// checkDeadline refuses a message with an answer that is too late. Later steps
// check everything else.
func (a *admission) checkDeadline(ctx context.Context) error {
	e, answers := a.engine, a.req.Message.FunctionResponses()
	if e.cfg.WaitTTL <= 0 || len(answers) == 0 {
		return nil
	}
	l, err := a.log(ctx)
	if err != nil {
		return err
	}
	var all *waits // finding them reads the whole log
	for _, r := range answers {
		asked, err := waitingCall(l, r)
		if err != nil || !e.tooOld(asked.Timestamp) { // its wait is as young as the question, or younger
			continue
		}
		if all == nil {
			all = waitsIn(l)
		}
		if !e.tooOld(all.of[asked.InvocationID].latest) {
			continue
		}
		if _, _, err := e.expire(ctx, a.snapshot.read); err != nil {
			e.cfg.Log.Warn("could not end an expired wait", "app", a.req.Key.App, "session_id", a.req.Key.ID, "err", err)
		}
		return expired(r.ID)
	}
	return nil
}

// endWaits ends expired waits. Those whose sessions are busy are tried again later.
func (u *upkeep) endWaits(ctx context.Context) {
	e := u.engine
	after, again, count := u.lastWait, false, 0
	for ctx.Err() == nil {
		runs, err := e.cfg.Store.Waits(ctx, e.cfg.WaitTTL, after, waitBatch)
		if err != nil {
			if ctx.Err() == nil {
				e.cfg.Log.Warn("could not look for expired waits", "err", err)
			}
			return
		}
		for _, r := range runs {
			ended, left, err := e.expireIn(ctx, r.Key)
			if err != nil && ctx.Err() == nil {
				e.cfg.Log.Warn("could not end a wait", "app", r.Key.App, "session_id", r.Key.ID, "err", err)
			}
			count, again, after = count+ended, again || left || err != nil, r
			if !again {
				u.lastWait = r
			}
		}
		if len(runs) < waitBatch {
			break
		}
	}
	if count > 0 {
		e.cfg.Log.Info("ended runs that were not answered in time", "count", count)
	}
}

// expireIn is like expire for a session that is not read yet.
func (e *Engine) expireIn(ctx context.Context, key session.Key) (ended int, left bool, err error) {
	s, err := e.cfg.Store.Get(ctx, key, session.Read{})
	if errors.Is(err, session.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return e.expire(ctx, s)
}

// expire ends the expired waits of a session, and returns how many runs waited in
// them. left means that there are other waits, or that the session is busy.
func (e *Engine) expire(ctx context.Context, s *session.Session) (ended int, left bool, err error) {
	var runs []string
	var entries []*session.Entry
	for _, w := range waitsIn(newLog(s)).all {
		switch {
		case len(w.open) == 0:
			continue
		case !e.tooOld(w.latest):
			left = true
			continue
		}
		waiting, err := e.waiting(ctx, s.Key, w.runs[w.from:])
		if err != nil {
			return 0, false, err
		}
		if len(waiting) == 0 {
			continue
		}
		runs = append(runs, waiting...)
		closed, err := e.closingEntries(w, waiting[len(waiting)-1], "expired", agentrt.Expired, e.expiredMessage())
		if err != nil {
			return 0, false, err
		}
		entries = append(entries, closed...)
	}
	if len(runs) == 0 {
		return 0, left, nil
	}
	failure := &session.Failure{Type: WaitExpired, Message: e.expiredMessage(), Reported: true}
	err = e.cfg.Store.Expire(ctx, s.Key, s.Seq, runs, failure, entries...)
	if errors.Is(err, session.ErrFenced) {
		return 0, true, nil
	}
	return len(runs), left, err
}

// unanswered returns the runs of waits with open calls, in order.
func (w *waits) unanswered() []string {
	var runs []string
	for _, one := range w.all {
		if len(one.open) > 0 {
			runs = append(runs, one.runs[one.from:]...)
		}
	}
	return runs
}

// openWaits are the waits of a session that may have open calls. They are kept with its
// log, so that an answer costs what was added to the log since the last one.
type openWaits struct {
	mu    sync.Mutex
	waits *waits
	read  int          // the first events of the log that were read
	last  *event.Event // the last one of them
}

// answeredBy returns the waits that a run has ended: those with open calls before its
// first event, which is at a place in the log, and without now.
func (o *openWaits) answeredBy(run string, l *log, first int) []session.Settled {
	o.mu.Lock()
	defer o.mu.Unlock()
	// A rewind removes events, and a store may have decoded them again.
	if o.read == 0 || o.read > first || l.At(o.read-1) != o.last {
		o.waits, o.read = newWaits(), 0
	}
	before := o.unanswered(l, first)
	open := o.unanswered(l, l.Len())
	o.waits.prune()
	var settled []session.Settled
	for _, id := range before {
		if !slices.Contains(open, id) {
			settled = append(settled, session.Settled{Run: id, Status: session.Completed, By: run})
		}
	}
	return settled
}

// unanswered reads the events before end, and returns waits.unanswered after them.
func (o *openWaits) unanswered(l *log, end int) []string {
	for ; o.read < end; o.read++ {
		o.last = l.At(o.read)
		o.waits.add(o.last)
	}
	o.waits.list()
	return o.waits.unanswered()
}

// prune removes the waits without open calls, whose runs have all ended: nothing opens
// them again.
func (w *waits) prune() {
	open := map[*wait]bool{}
	for _, call := range w.calls {
		open[w.of[call.run]] = true
	}
	over := func(one *wait) bool { return !open[one] }
	w.all = slices.DeleteFunc(w.all, over)
	maps.DeleteFunc(w.of, func(_ string, one *wait) bool { return over(one) })
}

// settled returns the waits that the run has ended. An undone run has answered
// nothing. The recorder's slot must be held.
func (t *turn) settled(status session.Status, undo bool) []session.Settled {
	now := t.recorder.log
	if t.row.Resumes == "" || t.row.First == 0 || now == nil || undo && status == session.Cancelled {
		return nil
	}
	n, _ := slices.BinarySearchFunc(now.before, t.row.First, func(e *session.Entry, first int64) int { return cmp.Compare(e.Seq, first) })
	return now.derived().waits.answeredBy(t.id, now, n)
}

// rewound returns the waits that a rewind from one log to a shorter one changes:
// runs that it removes no longer wait, and runs whose answers it removes wait
// again.
func rewound(from, to *log) []session.Settled {
	before, now := waitsIn(from).unanswered(), waitsIn(to).unanswered()
	var settled []session.Settled
	for _, id := range before {
		if !slices.Contains(now, id) {
			settled = append(settled, session.Settled{Run: id, Status: session.Cancelled})
		}
	}
	for _, id := range now {
		if !slices.Contains(before, id) {
			settled = append(settled, session.Settled{Run: id, Status: session.Waiting})
		}
	}
	return settled
}

// waiting selects the runs that wait, including runs that the store has deleted.
func (e *Engine) waiting(ctx context.Context, key session.Key, runs []string) ([]string, error) {
	var found []string
	for _, id := range runs {
		row, err := e.cfg.Store.Run(ctx, key, id)
		if err != nil && !errors.Is(err, session.ErrRunNotFound) {
			return nil, err
		}
		if err != nil || row.Status == session.Waiting {
			found = append(found, id)
		}
	}
	return found, nil
}

// cancelAttempts is how often CancelWait reads a session that others change.
const cancelAttempts = 10

// CancelWait cancels a run that waits: its open calls, and those of the runs that have
// answered some of them, can no longer be answered. It returns the current row. A run
// that does not wait is not changed. It fails with a *session.BusyError if another run
// of the session is active.
func (e *Engine) CancelWait(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	for range cancelAttempts {
		err := e.cancelWait(ctx, key, id)
		if errors.Is(err, session.ErrFenced) {
			continue
		}
		if err != nil {
			return nil, storeError("cancel the run", err)
		}
		e.turns.wake(key.Hint())
		return e.Run(ctx, key, id)
	}
	return nil, &session.BusyError{Run: id}
}

func (e *Engine) cancelWait(ctx context.Context, key session.Key, id string) error {
	s, err := e.cfg.Store.Get(ctx, key, session.Read{})
	if err != nil {
		return err
	}
	w := waitsIn(newLog(s)).of[id]
	if w == nil || len(w.open) == 0 {
		return nil
	}
	waiting, err := e.waiting(ctx, key, w.runs[w.from:])
	if err != nil || len(waiting) == 0 {
		return err
	}
	failure := &session.Failure{Type: session.FailureCancelled, Message: ErrCancelled.Error()}
	entries, err := e.closingEntries(w, waiting[len(waiting)-1], "cancelled", agentrt.Cancelled, failure.Message)
	if err != nil {
		return err
	}
	return e.cfg.Store.Expire(ctx, key, s.Seq, waiting, failure, entries...)
}

// closingEntries returns entries of a run that answer the open calls of a wait.
func (e *Engine) closingEntries(w *wait, run, word, response, message string) ([]*session.Entry, error) {
	var entries []*session.Entry
	for _, ev := range answered(w.open, word) {
		ev.ID, ev.InvocationID, ev.Timestamp, ev.ErrorMessage = event.NewID(), run, event.Seconds(e.cfg.Now()), message
		for _, p := range ev.Content.Parts {
			p.FunctionResponse.Response = []byte(response)
		}
		entry, err := session.NewEntry(ev)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// expiredMessage returns the reason why waiting runs have ended.
func (e *Engine) expiredMessage() string {
	return fmt.Sprintf("The run was ended because there was no answer for %v. Send a message to go on.", e.cfg.WaitTTL)
}

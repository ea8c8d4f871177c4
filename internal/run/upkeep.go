package run

import (
	"context"
	"errors"
	"time"

	"github.com/parley-run/parley/session"
)

// How often upkeep looks at the store.
const (
	maxPoll    = 500 * time.Millisecond // for runs that nobody works on
	sweepEvery = time.Minute            // for sessions and waits that are too old
	filesEvery = time.Hour              // for files that were never completed
	claimBatch = 32                     // runs that are taken at once
)

// MaxAttempts is how often a run is worked on. One that has had so many without
// an end takes its processes down with it, or has an end that cannot be stored.
const MaxAttempts = 10

// MaxDeaths is how many processes may die while they work on a run. It fails
// then: it is likely to be what they died of.
const MaxDeaths = 2

// startUpkeep starts what the engine does besides runs: with a shared store,
// renewing leases, claiming runs whose owner is gone, and listening to other
// processes; with a time to live, deleting old sessions; and ending waits.
func (e *Engine) startUpkeep() {
	if e.lease != 0 {
		renew, poll := e.lease/3, min(e.lease/3, maxPoll)
		e.kept.Go(func() { e.every(max(renew, time.Millisecond), e.renew) })
		e.kept.Go(func() { e.every(max(poll, time.Millisecond), e.claimIdle) })
		e.kept.Go(func() { e.store.Watch(e.upkeep, e.changed) })
	}
	if e.lease != 0 || e.ttl != 0 {
		e.startSweep()
	}
	if e.waitTTL > 0 {
		e.kept.Go(func() { e.every(sweepEvery, e.endWaits) })
	}
	if e.artifacts != nil {
		e.kept.Go(func() {
			e.sweepFiles(e.upkeep)
			e.every(filesEvery, e.sweepFiles)
		})
	}
}

// startSweep begins to delete old sessions. There may be some from the first
// session on that has a time to live of its own.
func (e *Engine) startSweep() {
	e.sweeping.Do(func() {
		e.kept.Go(func() { e.every(sweepEvery, e.sweep) })
	})
}

func (e *Engine) every(pause time.Duration, do func(context.Context)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do(e.upkeep)
		case <-e.upkeep.Done():
			return
		}
	}
}

// renew keeps the leases, and hears what has been asked of the runs.
func (e *Engine) renew(ctx context.Context) {
	before := map[*task]int64{} // with the epochs that they have now
	for _, t := range e.active() {
		before[t] = t.holds()
	}
	ctx, cancel := context.WithTimeout(ctx, e.lease)
	defer cancel()
	held, err := e.store.Renew(ctx)
	if err != nil {
		if e.upkeep.Err() == nil {
			e.log.Warn("could not renew the leases on runs", "err", err)
		}
		return
	}
	known := make(map[string]session.Held, len(held))
	for _, h := range held {
		known[h.Run] = h
	}
	for t, epoch := range before {
		h, ok := known[t.id]
		switch {
		case epoch == 0 || t.holds() != epoch: // it was beginning, or has ended meanwhile
		case !ok || h.Epoch != epoch:
			e.do(func() { t.stop(errLost) }) // which may have to wait for it
		case h.Stop != session.StopNot:
			e.do(func() { t.halt(h.Stop) })
		}
	}
	for _, h := range held {
		e.abandon(ctx, h)
	}
}

// abandon gives up a run that nobody works on here although the lease says so:
// its end could not be stored.
func (e *Engine) abandon(ctx context.Context, h session.Held) {
	e.mu.Lock()
	_, here := e.tasks[h.Run]
	soon := e.claims[h.Key] > 0
	e.mu.Unlock()
	if here || soon {
		return
	}
	row, err := e.store.Run(ctx, h.Key, h.Run)
	if err != nil || row.Status.Ended() || row.Epoch != h.Epoch {
		return // it ended while the leases were renewed
	}
	if err := e.store.HandOver(ctx, h.Key, h.Epoch); err != nil && e.upkeep.Err() == nil {
		e.log.Warn("could not give up a run", "run_id", h.Run, "err", err)
	}
}

// claimIdle takes runs that nobody works on.
func (e *Engine) claimIdle(ctx context.Context) {
	if e.Closing() {
		return
	}
	keys, err := e.store.Idle(ctx, claimBatch)
	if err != nil {
		if e.upkeep.Err() == nil {
			e.log.Warn("could not look for runs to take over", "err", err)
		}
		return
	}
	for _, key := range keys {
		e.claim(key)
	}
}

// claim takes the run of a session that is next, and works on it.
func (e *Engine) claim(key session.Key) {
	e.mu.Lock()
	if e.closing {
		e.mu.Unlock()
		return // whoever shares the store takes it
	}
	e.wg.Add(1) // for the time until there is a task
	e.claims[key]++
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		if e.claims[key]--; e.claims[key] == 0 {
			delete(e.claims, key)
		}
		e.mu.Unlock()
		e.wg.Done()
	}()
	begun, err := e.store.Claim(e.claiming, key, session.Read{})
	if err != nil {
		if !errors.Is(err, session.ErrIdle) && !errors.Is(err, session.ErrNotFound) && e.claiming.Err() == nil {
			e.log.Error("could not take the next run of a session", "app", key.App, "user", key.User, "session_id", key.ID, "err", err)
		}
		return
	}
	req, err := decodeRequest(key, begun.Run.Request)
	root, appErr := e.agent(key.App)
	switch {
	case begun.Run.Attempt > MaxAttempts:
		err = errAttempts
	case begun.Deaths >= MaxDeaths:
		err = errCrashed
	}
	t := e.newTask(context.WithoutCancel(e.upkeep), begun.Run.ID, req, root, e.wallet(key))
	e.mu.Lock()
	over := e.over
	e.wg.Add(1)
	e.tasks[t.id] = t
	for r := range e.readers {
		if r.id == t.id {
			r.offer(t.feed.follow(0))
		}
	}
	e.mu.Unlock()
	e.do(func() {
		if over != nil { // the time was over before anybody could know of the run
			t.refuse(begun, over)
			return
		}
		if err := errors.Join(err, appErr); err != nil {
			t.refuse(begun, err)
			return
		}
		t.resume(begun)
	})
}

// changed hears of a session that another process has changed.
func (e *Engine) changed(hint uint64) {
	e.wakeReaders(hint)
	for _, t := range e.active() {
		if hint != 0 && t.hint != hint {
			continue
		}
		e.do(func() { e.askStop(t) })
	}
}

// askStop looks whether somebody wants a run to end.
func (e *Engine) askStop(t *task) {
	row, err := e.store.Run(e.upkeep, t.req.Key, t.id)
	if err == nil && row.Stop != session.StopNot && !row.Status.Ended() {
		t.halt(row.Stop)
	}
}

// sweep deletes sessions whose time is over.
func (e *Engine) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		deleted, done, err := e.store.Sweep(ctx, e.ttl)
		e.forgotten(deleted...)
		e.discard(ctx, deleted)
		if err != nil {
			if e.upkeep.Err() == nil {
				e.log.Warn("could not delete old sessions", "err", err)
			}
			return
		}
		if len(deleted) > 0 {
			e.log.Info("deleted old sessions", "count", len(deleted))
		}
		if done {
			return
		}
	}
}

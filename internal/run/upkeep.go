package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// Intervals of upkeep.
const (
	maxPoll    = 500 * time.Millisecond // for runs that no process works on
	sweepEvery = time.Minute            // for old sessions and expired waits
	filesEvery = time.Hour              // for incomplete files
	indexEvery = time.Second            // for what was said
	indexPause = time.Minute            // at most, after much of it
	claimBatch = 32                     // runs that are claimed together
)

// MaxAttempts limits how many times processes work on a run. One that has not ended
// by then ends its processes, or its end cannot be stored.
const MaxAttempts = 10

// MaxDeaths limits how many processes may die while they work on a run. Then it
// fails, because it is likely to be the cause.
const MaxDeaths = 2

// upkeep does the periodic work of the engine. With a shared store, it renews
// leases, claims runs whose owner has died, and receives notifications of changes
// by other processes, and has the store index what was said. With a time to live, it
// deletes old sessions. It also ends expired waits.
type upkeep struct {
	engine *Engine

	ctx          context.Context //nolint:containedctx // ends with the engine
	cancel       context.CancelFunc
	claiming     context.Context //nolint:containedctx // ends when no run can begin any more
	stopClaiming context.CancelFunc

	wg       sync.WaitGroup
	sweeping sync.Once

	nextIndex time.Time     // the earliest time of the next call of index
	lastWait  *session.Run  // the last one that endWaits has processed
	leftFiles []session.Key // deleted sessions that still have files
}

func newUpkeep(e *Engine) *upkeep {
	u := &upkeep{engine: e}
	u.ctx, u.cancel = context.WithCancel(session.Insist(context.Background()))
	u.claiming, u.stopClaiming = context.WithCancel(u.ctx)
	return u
}

func (u *upkeep) start() {
	e := u.engine
	if e.cfg.Lease != 0 {
		renew, poll := e.cfg.Lease/3, min(e.cfg.Lease/3, maxPoll)
		u.wg.Go(func() { u.every(max(renew, time.Millisecond), u.renew) })
		if !e.cfg.Passive {
			u.wg.Go(func() { u.every(max(poll, time.Millisecond), u.claimIdle) })
		}
		u.wg.Go(func() { e.cfg.Store.Watch(u.ctx, u.changed) })
	}
	if e.cfg.Passive {
		return
	}
	if e.cfg.Lease != 0 || e.cfg.TTL != 0 {
		u.startSweep()
	}
	if e.cfg.Lease != 0 && e.cfg.Store.Searcher != nil {
		u.wg.Go(func() { u.every(indexEvery, u.index) })
	}
	if e.cfg.WaitTTL > 0 {
		u.wg.Go(func() { u.every(sweepEvery, u.endWaits) })
	}
	if e.cfg.Artifacts != nil {
		u.wg.Go(func() {
			u.sweepFiles(u.ctx)
			u.every(filesEvery, u.sweepFiles)
		})
	}
}

// stop ends upkeep, and waits for it.
func (u *upkeep) stop() {
	u.cancel()
	u.wg.Wait()
}

// startSweep starts the deletion of old sessions. It is called at the latest when
// the first session with its own time to live is created.
func (u *upkeep) startSweep() {
	u.sweeping.Do(func() {
		u.wg.Go(func() { u.every(sweepEvery, u.sweep) })
	})
}

func (u *upkeep) every(pause time.Duration, do func(context.Context)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do(u.ctx)
		case <-u.ctx.Done():
			return
		}
	}
}

// renew renews the leases, and learns which runs were asked to end.
func (u *upkeep) renew(ctx context.Context) {
	e := u.engine
	before := map[*turn]int64{} // with their current epochs
	for _, t := range e.turns.all() {
		before[t] = t.holds()
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Lease)
	defer cancel()
	held, err := e.cfg.Store.Renew(ctx)
	if err != nil && u.ctx.Err() == nil {
		e.cfg.Log.Warn("could not renew the leases on runs", "err", err)
	}
	known := make(map[string]session.Held, len(held))
	for _, h := range held {
		known[h.Run] = h
	}
	for t, epoch := range before {
		h, ok := known[t.id]
		switch {
		case epoch == 0 || t.holds() != epoch: // it was beginning, or has ended in the meantime
		case !ok && err != nil: // it is not known
		case !ok || h.Epoch != epoch:
			t.stop(errLost)
		case h.Stop != session.StopNot:
			t.halt(h.Stop)
		}
	}
	for _, h := range held {
		u.handOverOrphan(ctx, h)
	}
}

// handOverOrphan hands over a run that is not active here although the store says so,
// because its end could not be stored.
func (u *upkeep) handOverOrphan(ctx context.Context, h session.Held) {
	e := u.engine
	if e.turns.has(h.Run, h.Key) {
		return
	}
	row, err := e.cfg.Store.Run(ctx, h.Key, h.Run)
	if err != nil || row.Status.Ended() || row.Epoch != h.Epoch {
		return // it ended while the leases were renewed
	}
	if err := e.cfg.Store.HandOver(ctx, h.Key, h.Epoch); err != nil && u.ctx.Err() == nil {
		e.cfg.Log.Warn("could not give up a run", "run_id", h.Run, "err", err)
	}
}

// claimIdle claims runs without an active server.
func (u *upkeep) claimIdle(ctx context.Context) {
	e := u.engine
	if e.Closing() {
		return
	}
	keys, err := e.cfg.Store.Idle(ctx, claimBatch)
	if err != nil {
		if u.ctx.Err() == nil {
			e.cfg.Log.Warn("could not look for runs to take over", "err", err)
		}
		return
	}
	for _, key := range keys {
		e.claim(key)
	}
}

// claim claims the next run of a session, and executes it.
func (e *Engine) claim(key session.Key) {
	if !e.turns.beginClaim(key) {
		return // another process that shares the store claims it
	}
	defer e.turns.endClaim(key)
	begun, err := e.cfg.Store.Claim(e.upkeep.claiming, key, session.Read{})
	if err != nil {
		if !errors.Is(err, session.ErrIdle) && !errors.Is(err, session.ErrNotFound) && e.upkeep.claiming.Err() == nil {
			e.cfg.Log.Error("could not claim the next run of a session", "app", key.App, "user", key.User, "session_id", key.ID, "err", err)
		}
		return
	}
	req, err := decodeRequest(key, begun.Run.Request)
	root, appErr := e.cfg.Agent(key.App)
	switch {
	case begun.Run.Attempt > MaxAttempts:
		err = errAttempts
	case begun.Deaths >= MaxDeaths:
		err = errCrashed
	}
	t := e.newTurn(context.WithoutCancel(e.upkeep.ctx), begun.Run.ID, &req, root, e.credentials(key))
	// The engine may not have seen this turn when it ended its turns.
	if over := e.turns.claimed(t); over != nil {
		err = over
	} else {
		err = errors.Join(err, appErr)
	}
	e.workers.do(jobFunc(func() {
		if err != nil {
			t.refuse(begun, err)
			return
		}
		e.upkeep.checkStop(t) // a request may have come between the claim and the registration
		t.resume(begun)
	}))
}

// changed is called when another process has changed a session.
func (u *upkeep) changed(hint uint64) {
	e := u.engine
	e.turns.wake(hint)
	for _, t := range e.turns.ofSession(hint) {
		e.workers.do(jobFunc(func() { u.checkStop(t) }))
	}
}

// checkStop checks whether a run was asked to end.
func (u *upkeep) checkStop(t *turn) {
	row, err := u.engine.cfg.Store.Run(u.ctx, t.req.Key, t.id)
	if err == nil && row.Stop != session.StopNot && !row.Status.Ended() {
		t.halt(row.Stop)
	}
}

// index makes findable what was said since the last time. It works for a tenth of the
// time at most, so that under load the later turns of a session are indexed together.
func (u *upkeep) index(ctx context.Context) {
	began := time.Now()
	if began.Before(u.nextIndex) {
		return
	}
	defer func() { u.nextIndex = time.Now().Add(min(9*time.Since(began), indexPause)) }()
	for ctx.Err() == nil {
		done, err := u.engine.cfg.Store.Searcher.Index(ctx)
		if err != nil && u.ctx.Err() == nil {
			u.engine.cfg.Log.Warn("could not index what was said", "err", err)
		}
		if done || err != nil {
			return
		}
	}
}

// sweep deletes sessions whose time to live is over.
func (u *upkeep) sweep(ctx context.Context) {
	e := u.engine
	for ctx.Err() == nil {
		deleted, done, err := e.cfg.Store.Sweep(ctx, e.cfg.TTL)
		e.forgotten(deleted...)
		u.removeFiles(ctx, deleted)
		if err != nil {
			if u.ctx.Err() == nil {
				e.cfg.Log.Warn("could not delete old sessions", "err", err)
			}
			return
		}
		if len(deleted) > 0 {
			e.cfg.Log.Info("deleted old sessions", "count", len(deleted))
		}
		if done {
			return
		}
	}
}

package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/internal/share"
	"github.com/parley-run/parley/session"
)

const (
	// poll is how often due schedules are looked for.
	poll = time.Second
	// lease is when another process may start the run of a schedule, and timeout bounds
	// the start.
	lease   = 30 * time.Second
	timeout = 20 * time.Second
	// spread is the least time between two starts, so that many schedules of the same
	// minute leave most of the machine to other runs. In the DefaultGrace a server
	// starts 15,000.
	spread = 40 * time.Millisecond
	// batch is how many are claimed at once: they are started long before the lease ends.
	batch = 64
	// maxUserRuns bounds the runs of one user that were started here and have not
	// ended, so that they do not delay those of others.
	maxUserRuns = 4
	// The mean pauses before a start is repeated.
	firstPause = time.Second
	lastPause  = time.Minute
)

// The outcomes of a firing.
const (
	Started = "started" // a run was started
	Changed = "changed" // the state was changed
	Passed  = "missed"  // the time has passed before a server could start a run
	Failed  = "failed"  // the run could not be started
)

// Firing is what has come of a time at which a schedule was due. It is stored as JSON.
type Firing struct {
	Outcome string `json:"outcome"`
	// At is when a server has done it, by the clock of the store.
	At time.Time `json:"at,omitzero"`
	// Manual means that a caller has started it.
	Manual  bool   `json:"manual,omitempty"`
	Session string `json:"session,omitempty"`
	Run     string `json:"run,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Start is a request to start what a schedule starts.
type Start struct {
	Key  session.Key
	Spec *Spec
	// Schedule is the id of the schedule, and Time is when it was due. Together they
	// identify the run: a repeated request starts no other one.
	Schedule string
	Time     time.Time
}

// Starter starts runs.
type Starter interface {
	// Start starts the run of a schedule, or returns the one that was started before.
	// wait returns when the run has ended; it is nil if there is nothing to wait for.
	Start(ctx context.Context, s Start) (run string, wait func(context.Context), err error)
	// Started returns the run that was started before; empty if there is none.
	Started(ctx context.Context, s Start) (run string, err error)
}

// Observer is notified of firings, for traces and metrics. It must be safe for
// concurrent use, and must not block.
type Observer interface {
	// Firing is called when a schedule was claimed that was due at a time, and returns
	// the context for what is done. fired is called with the outcome when that is
	// stored, or with an empty one if it is left to another attempt.
	Firing(ctx context.Context, key session.Key, schedule string, due, now time.Time) (_ context.Context, fired func(outcome string))
}

// Options of a Runner.
type Options struct {
	Store   session.Schedules
	Starter Starter
	// Runs bounds the runs that were started here and have not ended.
	Runs int
	Log  *slog.Logger
	// Missed is called before it is stored that nothing was started for a time, perhaps
	// more than once; it may be nil.
	Missed func(ctx context.Context, d *session.DueSchedule) error
	// Observer may be nil.
	Observer Observer
}

// Runner starts the runs of schedules that are due. A nil Runner can be closed.
type Runner struct {
	Options

	life context.Context //nolint:containedctx // it ends with Close
	end  context.CancelFunc
	work sync.WaitGroup
	last time.Time // when the latest run was started; for the goroutine that claims

	slots chan struct{} // one for each run that was started here and has not ended

	users share.Shares[user] // of runs that have not ended
}

type user struct{ app, id string }

// Run creates a Runner, which works until it is closed.
func Run(o Options) *Runner {
	r := &Runner{Options: o, slots: make(chan struct{}, o.Runs)}
	r.life, r.end = context.WithCancel(context.Background())
	r.work.Go(r.run)
	return r
}

// Free returns how many more runs may be started now. A nil Runner starts none.
func (r *Runner) Free() int {
	if r == nil {
		return 0
	}
	return cap(r.slots) - len(r.slots)
}

// Close ends the starting of runs. It does not end runs.
func (r *Runner) Close() {
	if r == nil {
		return
	}
	r.end()
	r.work.Wait()
}

func (r *Runner) run() {
	freed := make(chan struct{}, 1)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		more := r.claim(freed)
		if more && r.life.Err() == nil {
			continue
		}
		select {
		case <-tick.C:
		case <-freed:
		case <-r.life.Done():
			return
		}
	}
}

// claim starts the runs of schedules that are due. It reports whether there may be more
// that can be started now.
func (r *Runner) claim(freed chan struct{}) (more bool) {
	free := min(r.Free(), batch)
	if free == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(r.life, timeout)
	defer cancel()
	list, err := r.Store.ClaimSchedules(ctx, lease, free)
	if err != nil {
		if r.life.Err() == nil {
			r.Log.Warn("could not look for schedules that are due", "err", err)
		}
		return false
	}
	started := false
	for i, d := range list {
		owner := user{d.App, d.User}
		if !r.users.Take(owner, maxUserRuns) {
			r.retry(r.life, d, poll)
			continue
		}
		if !r.paced() {
			r.users.Return(owner)
			for _, left := range list[i:] {
				r.retry(r.life, left, 0)
			}
			return false
		}
		started = true
		r.slots <- struct{}{}
		r.work.Go(func() {
			r.fire(d)
			r.users.Return(owner)
			<-r.slots
			select {
			case freed <- struct{}{}:
			default: // it has one
			}
		})
	}
	return started && len(list) == free
}

// paced waits until another run may be started. It reports whether there is time for it.
func (r *Runner) paced() bool {
	wait := time.NewTimer(time.Until(r.last.Add(spread)))
	defer wait.Stop()
	select {
	case <-wait.C:
		r.last = time.Now()
		return true
	case <-r.life.Done():
		return false
	}
}

// retry lets the schedule be claimed again.
func (r *Runner) retry(ctx context.Context, d *session.DueSchedule, after time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if err := r.Store.RetrySchedule(ctx, d, after); err != nil {
		r.Log.Warn("could not delay a schedule", "app", d.App, "schedule", d.ID, "err", err)
	}
}

// fire does what a schedule is for, stores what came of it, and waits for the end of
// the run.
func (r *Runner) fire(d *session.DueSchedule) {
	log := r.Log.With("app", d.App, "schedule", d.ID, "time", d.Next)
	defer func() {
		if p := recover(); p != nil { // no request would be there to fail
			log.Error("the start of a schedule panicked", "panic", fmt.Sprint(p))
		}
	}()
	if wait := r.observed(log, d); wait != nil {
		wait(r.life)
	}
}

// observed is attempt, of which the Observer is notified.
func (r *Runner) observed(log *slog.Logger, d *session.DueSchedule) func(context.Context) {
	if r.Observer == nil {
		_, wait := r.attempt(r.life, log, d)
		return wait
	}
	ctx, fired := r.Observer.Firing(r.life, d.Key(), d.ID, d.Next, d.Now)
	outcome := ""
	defer func() { fired(outcome) }()
	outcome, wait := r.attempt(ctx, log, d)
	return wait
}

// attempt returns the outcome that it has stored, if any, and what waits for the end of
// the run that it has started.
func (r *Runner) attempt(ctx context.Context, log *slog.Logger, d *session.DueSchedule) (outcome string, wait func(context.Context)) {
	var spec Spec
	if err := json.Unmarshal(d.JSON, &spec); err != nil {
		return r.store(ctx, log, d, time.Time{}, Firing{Outcome: Failed, Error: "the schedule cannot be read; store it again"}), nil
	}
	what := spec.decide(d.Next, d.Now)
	start := Start{Key: session.Key{App: d.App, User: d.User, ID: SessionOf(d.ID, &spec, d.Next)}, Spec: &spec, Schedule: d.ID, Time: d.Next}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if what.late && d.Attempt > 1 && spec.Message != nil {
		// An attempt that was in time may have started the run, and then its process ended.
		run, err := r.Starter.Started(ctx, start)
		if err != nil {
			r.again(ctx, log, d, err)
			return "", nil
		}
		if run != "" {
			return r.store(ctx, log, d, spec.After(d.Next), Firing{Outcome: Started, Session: start.Key.ID, Run: run}), nil
		}
	}
	if what.missed {
		if r.Missed != nil {
			if err := r.Missed(ctx, d); err != nil {
				r.again(ctx, log, d, err)
				return "", nil
			}
		}
		log.Info("a schedule was due while no server could start its run", "next", what.next)
		return r.store(ctx, log, d, what.next, Firing{Outcome: Passed}), nil
	}
	if err := ctx.Err(); err != nil { // this process stood still: the lease may be over
		r.again(ctx, log, d, err)
		return "", nil
	}
	run, wait, err := r.Starter.Start(ctx, start)
	f := Firing{Outcome: Started, Session: start.Key.ID, Run: run}
	switch {
	case err == nil && spec.Message == nil:
		f.Outcome = Changed
	case err == nil:
	case r.life.Err() != nil || passes(err):
		r.again(ctx, log, d, err)
		return "", nil
	default:
		log.Warn("the run of a schedule could not be started", "err", err)
		f.Outcome, f.Error = Failed, retry.Reason(err)
	}
	return r.store(ctx, log, d, what.next, f), wait
}

// again lets the start be repeated after an error that passes.
func (r *Runner) again(ctx context.Context, log *slog.Logger, d *session.DueSchedule, err error) {
	if r.life.Err() != nil { // another process does it, or this one when it is back
		r.retry(ctx, d, 0)
		return
	}
	log.Warn("the run of a schedule could not be started; trying again", "attempt", d.Attempt, "err", err)
	r.retry(ctx, d, retry.Pause(d.Attempt, firstPause, lastPause))
}

// passes reports whether a start may succeed later. It is tried as long as the time is
// not missed.
func passes(err error) bool {
	var down *session.UnavailableError
	return errors.As(err, &down) || errors.Is(err, context.DeadlineExceeded)
}

// store stores what came of a firing, and returns its outcome, or nothing if others
// store it.
func (r *Runner) store(ctx context.Context, log *slog.Logger, d *session.DueSchedule, next time.Time, f Firing) (outcome string) {
	f.At = d.Now
	doc, err := json.Marshal(f)
	if err != nil {
		doc = []byte(`{}`)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease-timeout)
	defer cancel()
	err = r.Store.Fire(ctx, d, next, &session.Firing{Time: d.Next, JSON: doc})
	switch {
	case errors.Is(err, session.ErrFenced): // it was changed, or another process was faster
		log.Debug("the firing of a schedule is stored by another one")
	case err != nil: // it is done again when the lease has expired, and starts nothing new
		log.Warn("could not store the firing of a schedule", "err", err)
	default:
		return f.Outcome
	}
	return ""
}

// SessionOf returns the session of a firing.
func SessionOf(schedule string, spec *Spec, at time.Time) string {
	if spec.Session != "" {
		return spec.Session
	}
	return schedule + "-" + at.UTC().Format("20060102T150405Z")
}

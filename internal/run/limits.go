package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
)

// Limits keep one caller, or one run, from taking what others need. Zero means
// no limit.
type Limits struct {
	// Runs is how many runs of one caller and application are worked on here at
	// once. More are refused.
	Runs int
	// Queue is how many runs may stand in line for a session.
	Queue int
	// Duration is how long a run may be worked on.
	Duration time.Duration
	// Tokens ends a run before the model call after those that have used so many.
	Tokens int64
	// DayTokens is how many tokens a user of an application may use in a day, in
	// UTC, on all servers that share the store.
	DayTokens int64
}

// The error codes of the events with which limits end runs.
const (
	MaxRunDuration = "MAX_RUN_DURATION"
	MaxRunTokens   = "MAX_RUN_TOKENS" //nolint:gosec // tokens of models
	MaxDayTokens   = "MAX_DAY_TOKENS" //nolint:gosec // as above
)

// LimitError refuses a run now. It may be taken later.
type LimitError struct {
	Message string
	After   time.Duration
}

func (e *LimitError) Error() string { return e.Message }

// errTooLong ends a run that has had its time. Unlike the other limits, it comes
// from outside of the agents.
var errTooLong = errors.New("the run took too long")

// crowded refuses a run of a caller who has too many under way. It wants
// e.mu held.
func (e *Engine) crowded(t *task) error {
	most := e.limits.Runs
	if most <= 0 || t.req.Caller == "" {
		return nil
	}
	at := 0
	for _, other := range e.tasks {
		if other.req.Caller == t.req.Caller && other.req.Key.App == t.req.Key.App {
			at++
		}
	}
	if at < most {
		return nil
	}
	return &LimitError{Message: fmt.Sprintf("Too many runs at once: at most %d may be under way", most), After: time.Second}
}

// ledger remembers for a moment what users have used today.
type ledger struct {
	mu    sync.Mutex
	known map[owner]reading
}

type owner struct{ app, user string }

type reading struct {
	day    string
	tokens int64
	at     time.Time
}

const (
	// fresh is how long what other servers do may go unseen.
	fresh = 5 * time.Second
	// maxKnown bounds what is remembered of users who start nothing.
	maxKnown = 10_000
)

// forget makes the next question go to the store: a run of the user has ended.
func (l *ledger) forget(key session.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, owner{key.App, key.User})
}

// today is how many tokens a user has used: what the store knows of, and what
// the runs have used that are under way here.
func (e *Engine) today(ctx context.Context, key session.Key) (int64, error) {
	who, now := owner{key.App, key.User}, time.Now()
	day := session.DayOf(now)
	e.ledger.mu.Lock()
	r, ok := e.ledger.known[who]
	e.ledger.mu.Unlock()
	if !ok || r.day != day || now.Sub(r.at) > fresh {
		list, _, err := e.store.Usage(ctx, session.UsageQuery{App: key.App, User: key.User, From: day, To: day}, session.Page{})
		if err != nil {
			return 0, storeError("read what was used", err)
		}
		r = reading{day: day, at: now}
		for _, u := range list {
			r.tokens += u.Tokens.Total
		}
		e.ledger.mu.Lock()
		if len(e.ledger.known) >= maxKnown || e.ledger.known == nil {
			e.ledger.known = map[owner]reading{}
		}
		e.ledger.known[who] = r
		e.ledger.mu.Unlock()
	}
	sum := r.tokens
	for _, t := range e.active() {
		if t.req.Key.App == key.App && t.req.Key.User == key.User {
			sum += t.tokens.Load()
		}
	}
	return sum, nil
}

// checkQuota refuses a run of a user who has used up the day's tokens.
func (a *admission) checkQuota(ctx context.Context) error {
	most := a.engine.limits.DayTokens
	if most <= 0 {
		return nil
	}
	used, err := a.engine.today(ctx, a.req.Key)
	if err != nil || used < most {
		return err
	}
	now := time.Now().UTC()
	return &LimitError{
		Message: dayMessage(used, most),
		After:   now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now),
	}
}

func dayMessage(used, most int64) string {
	return fmt.Sprintf("The tokens of today are used up: %d of %d. The day ends at midnight UTC.", used, most)
}

// budget says whether the run may call a model once more.
func (t *task) budget() *agentrt.Failure {
	limits := &t.engine.limits
	if used := t.tokens.Load(); limits.Tokens > 0 && used >= limits.Tokens {
		return &agentrt.Failure{Code: MaxRunTokens, Message: fmt.Sprintf("The run was ended because it has used %d tokens, and may use %d.", used, limits.Tokens)}
	}
	if limits.DayTokens <= 0 {
		return nil
	}
	used, err := t.engine.today(t.ctx, t.req.Key)
	if err != nil {
		t.logger().Warn("could not read what was used today", "err", err)
		return nil // a store that does not answer ends the run soon enough
	}
	if used >= limits.DayTokens {
		return &agentrt.Failure{Code: MaxDayTokens, Message: dayMessage(used, limits.DayTokens)}
	}
	return nil
}

// limit gives a run its time. The caller stops the timer.
func (t *task) limit() (stop func()) {
	if t.engine.limits.Duration <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(t.engine.limits.Duration, func() { t.stop(errTooLong) })
	return func() { timer.Stop() }
}

// unseen counts tokens of a model call whose answer is not in the log: one that
// an agent made which is used as a tool.
func (t *task) unseen(u *event.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.private.Add(u)
	t.tokens.Add(u.Total)
	t.journal.usage(t.private)
}

// usage is what the run has used. It wants t.mu held.
func (t *task) usage() event.Usage {
	sum := t.row.Usage
	sum.Add(&t.private)
	return sum
}

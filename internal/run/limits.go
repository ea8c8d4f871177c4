package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
)

// Limits bounds the resources of one caller and of one run. Zero means no limit.
type Limits struct {
	// Runs limits the concurrent runs of one caller and application on this server.
	// More are refused.
	Runs int
	// Queue limits the queued runs of a session.
	Queue int
	// Duration limits the time of a run.
	Duration time.Duration
	// Tokens ends a run before the next model call when it has used so many tokens.
	Tokens int64
	// DayTokens limits the tokens that a user of an application may use per day, in
	// UTC, on all servers that share the store.
	DayTokens int64
}

// The error codes of the events that end runs because of a limit.
const (
	MaxRunDuration = "MAX_RUN_DURATION"
	MaxRunTokens   = "MAX_RUN_TOKENS" //nolint:gosec // tokens of models
	MaxDayTokens   = "MAX_DAY_TOKENS" //nolint:gosec // as above
)

// LimitError refuses a run that may be accepted later.
type LimitError struct {
	Message string
	After   time.Duration
}

func (e *LimitError) Error() string { return e.Message }

// errTooLong ends a run that has taken too long. Unlike the other limits, it does
// not come from the agents.
var errTooLong = errors.New("the run took too long")

// quota caches the usage of today's users for a short time.
type quota struct {
	mu    sync.Mutex
	known map[owner]reading
}

type reading struct {
	day    string
	tokens int64
	at     time.Time
}

const (
	// fresh is how long usage on other servers may be missed.
	fresh = 5 * time.Second
	// maxKnown bounds the number of cached users.
	maxKnown = 10_000
)

// forget removes a user from the cache, because a run of the user has ended.
func (q *quota) forget(user owner) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.known, user)
}

func (q *quota) get(user owner) (reading, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, ok := q.known[user]
	return r, ok
}

func (q *quota) put(user owner, r reading) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.known) >= maxKnown || q.known == nil {
		q.known = map[owner]reading{}
	}
	q.known[user] = r
}

// usedToday returns how many tokens a user has used: those in the store, and those
// of the active runs here.
func (e *Engine) usedToday(ctx context.Context, user owner) (int64, error) {
	now := time.Now()
	day := session.DayOf(now)
	r, ok := e.quota.get(user)
	if !ok || r.day != day || now.Sub(r.at) > fresh {
		list, _, err := e.cfg.Store.Usage(ctx, session.UsageQuery{App: user.app, User: user.name, From: day, To: day}, session.Page{})
		if err != nil {
			return 0, storeError("read what was used", err)
		}
		r = reading{day: day, at: now}
		for _, u := range list {
			r.tokens += u.Tokens.Total
		}
		e.quota.put(user, r)
	}
	return r.tokens + e.turns.tokens(user), nil
}

// checkQuota refuses a run of a user who has used the tokens of the day.
func (a *admission) checkQuota(ctx context.Context) error {
	most := a.engine.cfg.Limits.DayTokens
	if most <= 0 {
		return nil
	}
	used, err := a.engine.usedToday(ctx, owner{a.req.Key.App, a.req.Key.User})
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

// budget checks whether the run may call a model again.
func (t *turn) budget() *agentrt.Failure {
	limits := &t.engine.cfg.Limits
	if used := t.ledger.tokens.Load(); limits.Tokens > 0 && used >= limits.Tokens {
		return &agentrt.Failure{Code: MaxRunTokens, Message: fmt.Sprintf("The run was ended because it has used %d tokens, and may use %d.", used, limits.Tokens)}
	}
	if limits.DayTokens <= 0 {
		return nil
	}
	used, err := t.engine.usedToday(t.ctx, t.user())
	if err != nil {
		t.logger().Warn("could not read what was used today", "err", err)
		return nil // if the store stays unavailable, the next append ends the run
	}
	if used >= limits.DayTokens {
		return &agentrt.Failure{Code: MaxDayTokens, Message: dayMessage(used, limits.DayTokens)}
	}
	return nil
}

// limit starts the timer for the duration of a run. The caller must stop it.
func (t *turn) limit() (stop func()) {
	if t.engine.cfg.Limits.Duration <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(t.engine.cfg.Limits.Duration, func() { t.stop(errTooLong) })
	return func() { timer.Stop() }
}

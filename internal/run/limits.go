package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/price"
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
	// Cost and DayCost are like Tokens and DayTokens, in billionths of a US dollar.
	// Models without a price cost nothing.
	Cost, DayCost int64
	// WarnDayCost is the cost of a day above which a warning is logged.
	WarnDayCost int64
}

// hasBudget reports whether a run may have to end before it calls a model.
func (l *Limits) hasBudget() bool { return l.Tokens > 0 || l.Cost > 0 || l.ofDay() }

// ofDay reports whether the usage of a day is limited.
func (l *Limits) ofDay() bool { return l.DayTokens > 0 || l.DayCost > 0 }

// countsCost reports whether costs matter.
func (l *Limits) countsCost() bool { return l.Cost > 0 || l.DayCost > 0 || l.WarnDayCost > 0 }

// The error codes of the events that end runs because of a limit.
const (
	MaxRunDuration = "MAX_RUN_DURATION"
	MaxRunTokens   = "MAX_RUN_TOKENS" //nolint:gosec // tokens of models
	MaxDayTokens   = "MAX_DAY_TOKENS" //nolint:gosec // as above
	MaxRunCost     = "MAX_RUN_COST"
	MaxDayCost     = "MAX_DAY_COST"
)

// WarnDayCost is the code of the cost of which there is a warning.
const WarnDayCost = "WARN_DAY_COST"

// LimitError refuses a run that may be accepted later.
type LimitError struct {
	Code    string // MaxDayTokens or MaxDayCost; empty for a limit of another kind
	Message string
	After   time.Duration
}

func (e *LimitError) Error() string { return e.Message }

// errTooLong ends a run that has taken too long. Unlike the other limits, it does
// not come from the agents.
var errTooLong = errors.New("the run took too long")

// quota caches the usage of today's users for a short time.
type quota struct {
	mu       sync.Mutex
	known    map[owner]reading
	warnings map[any]string // what was warned of, a user or a model, and the day
}

// warned reports whether first has returned true for that day.
func (q *quota) warned(of any, day string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	last, ok := q.warnings[of]
	return ok && last == day
}

// first reports whether a warning is the first of that day.
func (q *quota) first(of any, day string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last, ok := q.warnings[of]; ok && last == day {
		return false
	}
	if len(q.warnings) >= maxKnown || q.warnings == nil {
		q.warnings = map[any]string{}
	}
	q.warnings[of] = day
	return true
}

type reading struct {
	day           string
	tokens, nanos int64
	at            time.Time
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

// usedToday returns how many tokens a user has used, and their cost: those in the
// store, and those of the active runs here.
func (e *Engine) usedToday(ctx context.Context, user owner) (tokens, nanos int64, err error) {
	now := time.Now()
	day := session.DayOf(now)
	r, ok := e.quota.get(user)
	if !ok || r.day != day || now.Sub(r.at) > fresh {
		if r, err = e.stored(ctx, user, now); err != nil {
			return 0, 0, err
		}
		e.quota.put(user, r)
	}
	tokens, nanos = e.turns.used(user)
	return r.tokens + tokens, r.nanos + nanos, nil
}

// stored reads what a user has used today in runs that have ended.
func (e *Engine) stored(ctx context.Context, user owner, now time.Time) (reading, error) {
	r := reading{day: session.DayOf(now), at: now}
	list, _, err := e.cfg.Store.Usage(ctx, session.UsageQuery{App: user.app, User: user.name, From: r.day, To: r.day}, session.Page{})
	if err != nil {
		return r, storeError("read what was used", err)
	}
	for i := range list {
		r.tokens += list[i].Tokens.Total
		r.nanos += list[i].Cost().Nanos
	}
	return r, nil
}

// checkQuota refuses a run of a user who has used the tokens or the money of the day.
func (a *admission) checkQuota(ctx context.Context) error {
	return a.engine.MaySpend(ctx, a.req.Key)
}

// MaySpend returns a *LimitError if the user of a session has used the tokens or the
// money of the day.
func (e *Engine) MaySpend(ctx context.Context, key session.Key) error {
	limits := &e.cfg.Limits
	if !limits.ofDay() {
		return nil
	}
	tokens, nanos, err := e.usedToday(ctx, owner{key.App, key.User})
	if err != nil {
		return err
	}
	failure := limits.exceeded(tokens, nanos)
	if failure == nil {
		return nil
	}
	e.reached(ctx, owner{key.App, key.User}, failure.Code, failure.Message)
	now := time.Now().UTC()
	return &LimitError{
		Code: failure.Code, Message: failure.Message,
		After: now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now),
	}
}

// exceeded returns which limit of a day is reached, or nil.
func (l *Limits) exceeded(tokens, nanos int64) *agentrt.Failure {
	const until = "The day ends at midnight UTC."
	switch {
	case l.DayTokens > 0 && tokens >= l.DayTokens:
		return &agentrt.Failure{Code: MaxDayTokens, Message: fmt.Sprintf("The tokens of today are used up: %d of %d. %s", tokens, l.DayTokens, until)}
	case l.DayCost > 0 && nanos >= l.DayCost:
		return &agentrt.Failure{Code: MaxDayCost, Message: fmt.Sprintf("The budget of today is used up: %s of %s US dollars. %s", price.USD(nanos), price.USD(l.DayCost), until)}
	}
	return nil
}

// budget checks whether the run may call a model again.
func (t *turn) budget() *agentrt.Failure {
	limits := &t.engine.cfg.Limits
	if used := t.ledger.tokens.Load(); limits.Tokens > 0 && used >= limits.Tokens {
		return &agentrt.Failure{Code: MaxRunTokens, Message: fmt.Sprintf("The run was ended because it has used %d tokens, and may use %d.", used, limits.Tokens)}
	}
	if nanos := t.ledger.nanos.Load(); limits.Cost > 0 && nanos >= limits.Cost {
		return &agentrt.Failure{Code: MaxRunCost, Message: fmt.Sprintf("The run was ended because it has cost %s US dollars, and may cost %s.", price.USD(nanos), price.USD(limits.Cost))}
	}
	if !limits.ofDay() {
		return nil
	}
	tokens, nanos, err := t.engine.usedToday(t.ctx, t.user())
	if err != nil {
		t.logger().Warn("could not read what was used today", "err", err)
		return nil // if the store stays unavailable, the next append ends the run
	}
	failure := limits.exceeded(tokens, nanos)
	if failure != nil {
		t.engine.reached(t.ctx, t.user(), failure.Code, failure.Message)
	}
	return failure
}

// Reached is that a user has reached a budget of a day.
type Reached struct {
	App, User string
	// Budget is the code of the limit, or WarnDayCost, and Day its day in UTC.
	Budget, Day string
	Message     string
}

// reached reports a budget that is reached, once a day.
func (e *Engine) reached(ctx context.Context, user owner, code, message string) {
	type budget struct {
		owner
		code string
	}
	of, day := budget{user, code}, session.DayOf(time.Now())
	if e.cfg.Reached == nil || e.quota.warned(of, day) {
		return
	}
	if err := e.cfg.Reached(ctx, Reached{App: user.app, User: user.name, Budget: code, Day: day, Message: message}); err != nil {
		e.cfg.Log.Warn("could not publish that a budget is reached", "app", user.app, "err", err)
		return
	}
	e.quota.first(of, day)
}

// warnOfCost logs what a budget cannot count, and that a user has reached the cost of
// which there is a warning. The end of the run is stored.
func (t *turn) warnOfCost(models []session.ModelUsage) {
	if t.engine.cfg.Limits.countsCost() {
		t.engine.warnOfCost(t.recorder.ctx, t.user(), models, t.logger())
	}
}

func (e *Engine) warnOfCost(ctx context.Context, user owner, models []session.ModelUsage, log *slog.Logger) {
	limits := &e.cfg.Limits
	if !limits.countsCost() {
		return
	}
	q, cost := &e.quota, session.Cost{}
	for i := range models {
		cost.Add(models[i].Cost)
		if models[i].Unpriced > 0 && q.first(models[i].Model, "") {
			log.Warn("budgets of cost cannot count a model without a price", "model", models[i].Model)
		}
	}
	now := time.Now()
	if limits.WarnDayCost > 0 && cost.Nanos > 0 && !q.warned(user, session.DayOf(now)) {
		r, err := e.stored(ctx, user, now)
		if err != nil {
			log.Warn("could not read what was used today", "err", err)
			return
		}
		if r.nanos >= limits.WarnDayCost && q.first(user, r.day) {
			e.reached(ctx, user, WarnDayCost, fmt.Sprintf("The user has cost %s US dollars today, and there is a warning at %s.",
				price.USD(r.nanos), price.USD(limits.WarnDayCost)))
			log.Warn("a user has reached the cost of a day of which there is a warning", "usd", price.USD(r.nanos), "warn_usd", price.USD(limits.WarnDayCost))
			if o := e.cfg.Observer; o != nil {
				o.CostWarning(user.app)
			}
		}
	}
}

// Spend counts the usage of a call of a model that was made for a session, and not in one
// of its runs: it is stored at once. version is the ModelVersion of the response.
func (e *Engine) Spend(ctx context.Context, key session.Key, version string, u *event.Usage) error {
	if e.cfg.Store.Spender == nil {
		return nil
	}
	l := ledger{prices: e.cfg.Prices}
	l.addPrivate(version, u, func(event.Usage, []session.ModelUsage) {})
	_, models := l.usage()
	if err := e.cfg.Store.Spender.Spend(ctx, key, models...); err != nil {
		return storeError("store what was used", err)
	}
	user := owner{key.App, key.User}
	e.quota.forget(user)
	e.warnOfCost(ctx, user, models, e.cfg.Log.With("app", key.App, "user", key.User, "session_id", key.ID))
	if o := e.cfg.Observer; o != nil {
		o.Spent(key.App, models)
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

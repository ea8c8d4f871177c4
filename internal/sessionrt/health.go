package sessionrt

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/session"
)

// Health tracks whether a store is available. A store in a database may have one,
// and reports to it each call that failed because the database cannot be reached.
// The first failure starts an Outage, and one goroutine probes the database until it
// works again; until then the store fails or waits without trying (see session.Insists).
type Health struct {
	what  string // for the log
	probe func(context.Context) error
	log   *slog.Logger

	life  context.Context //nolint:containedctx // it ends with Close
	end   context.CancelFunc
	ended sync.WaitGroup

	outage atomic.Pointer[Outage]

	mu     sync.Mutex
	worked time.Time     // when a probe last succeeded
	trying chan struct{} // closed when the current probe of Check ends; nil if there is none
}

// Outage is a period in which a store is unavailable.
type Outage struct {
	Err   error
	Since time.Time
	Over  <-chan struct{} // closed when it is available again

	over chan struct{}
}

const (
	// The mean intervals between probes of an unavailable store. They are
	// randomized, so that processes do not all return at the same time.
	minProbePause = 100 * time.Millisecond
	maxProbePause = time.Second
	// probeTimeout bounds one probe.
	probeTimeout = 5 * time.Second
	// freshFor is how long the result of a successful probe is reused.
	freshFor = 10 * time.Second
	// checkTimeout bounds how long Check waits for a probe.
	checkTimeout = 2 * time.Second
)

var errNoAnswer = errors.New("it does not answer in time")

// NewHealth returns a Health that probes the store with a given function, which
// should do the smallest possible form of the operations whose failures are
// reported.
func NewHealth(what string, log *slog.Logger, probe func(context.Context) error) *Health {
	h := &Health{what: what, probe: probe, log: log}
	if log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

// Close stops the probing.
func (h *Health) Close() {
	h.mu.Lock() // no goroutine starts any more
	h.end()
	h.mu.Unlock()
	h.ended.Wait()
}

// Outage returns the current outage, or nil.
func (h *Health) Outage() *Outage { return h.outage.Load() }

// Failed reports that the store is unavailable because of err.
func (h *Health) Failed(err error) {
	if h.outage.Load() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.outage.Load() != nil || h.life.Err() != nil {
		return
	}
	o := &Outage{Err: err, Since: time.Now(), over: make(chan struct{})}
	o.Over = o.over
	h.worked = time.Time{}
	h.outage.Store(o)
	h.log.Error("the session store cannot be used; trying again until it can", "part", h.what, "err", err)
	h.ended.Go(func() { h.recover(o) })
}

// recover probes until the outage is over.
func (h *Health) recover(o *Outage) {
	for pauses := (retry.Backoff{Wait: minProbePause, Max: maxProbePause}); ; {
		if retry.Sleep(h.life, pauses.Next()) != nil {
			return
		}
		if h.try() != nil {
			continue
		}
		h.mu.Lock()
		h.worked = time.Now()
		h.mu.Unlock()
		h.outage.Store(nil)
		close(o.over)
		h.log.Info("the session store can be used again", "part", h.what, "after", time.Since(o.Since).Round(time.Millisecond))
		return
	}
}

func (h *Health) try() error {
	ctx, cancel := context.WithTimeout(h.life, probeTimeout)
	defer cancel()
	return h.probe(ctx)
}

// Check returns the reason why the store is unavailable, or nil. If that is not
// known, it probes the store, once for all concurrent callers.
func (h *Health) Check(ctx context.Context) error {
	trying := h.check() //nolint:contextcheck // the probe is shared, and outlives the caller
	if trying != nil {
		late := time.NewTimer(checkTimeout)
		defer late.Stop()
		select {
		case <-trying:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return &session.UnavailableError{Cause: errNoAnswer}
		}
	}
	if o := h.Outage(); o != nil {
		return &session.UnavailableError{Cause: o.Err}
	}
	return nil
}

// check starts a probe unless the answer is known. The returned channel is closed
// when there is an answer.
func (h *Health) check() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trying != nil || h.outage.Load() != nil || time.Since(h.worked) < freshFor || h.life.Err() != nil {
		return h.trying
	}
	trying := make(chan struct{})
	h.trying = trying
	h.ended.Go(func() {
		err := h.try()
		if err != nil {
			h.Failed(err)
		}
		h.mu.Lock()
		if err == nil {
			h.worked = time.Now()
		}
		h.trying = nil
		h.mu.Unlock()
		close(trying)
	})
	return trying
}

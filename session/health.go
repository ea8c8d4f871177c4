package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/internal/retry"
)

// UnavailableError means that a store cannot be used now. The caller may try
// again later.
type UnavailableError struct {
	Cause error
	// Doubt means that what was asked for may have been done all the same.
	Doubt bool
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the session store cannot be used: %v", e.Cause)
}
func (e *UnavailableError) Unwrap() error { return e.Cause }

// insisting is the key of Insist.
type insisting struct{}

// Insist marks the calls of a run that is under way: while the store cannot be
// used they wait for it, where those of a new request fail at once.
func Insist(ctx context.Context) context.Context {
	return context.WithValue(ctx, insisting{}, true)
}

// Insists reports whether Insist has marked ctx.
func Insists(ctx context.Context) bool { return ctx.Value(insisting{}) != nil }

// Health knows whether a store can be used. Callers of the store report
// failures. From the first one on there is an Outage, and one goroutine probes
// the store until it works again.
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
	trying chan struct{} // closed when the probe of Check that is under way ends; nil for none
}

// Outage is a time in which a store cannot be used.
type Outage struct {
	Err   error
	Since time.Time
	Over  <-chan struct{} // closed when it can be used again

	over chan struct{}
}

const (
	// The mean pauses between probes of a store that cannot be used. They are
	// spread, so that not all processes come at once when it can be again.
	minProbePause = 100 * time.Millisecond
	maxProbePause = time.Second
	// probeTimeout is for one probe.
	probeTimeout = 5 * time.Second
	// freshFor is how long a probe that succeeded is taken for an answer.
	freshFor = 10 * time.Second
	// checkTimeout is how long Check waits for a probe.
	checkTimeout = 2 * time.Second
)

var errNoAnswer = errors.New("it does not answer in time")

// NewHealth takes what to do to find out whether the store works, which is what
// the reported failures are about in the smallest possible form.
func NewHealth(what string, log *slog.Logger, probe func(context.Context) error) *Health {
	h := &Health{what: what, probe: probe, log: log}
	if log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

// Close ends the probing.
func (h *Health) Close() {
	h.mu.Lock() // no goroutine starts any more
	h.end()
	h.mu.Unlock()
	h.ended.Wait()
}

// Outage is the current one, nil for none.
func (h *Health) Outage() *Outage { return h.outage.Load() }

// Failed reports that the store cannot be used because of err.
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

// Check reports why the store cannot be used, nil if it can. When that is not
// known it probes, once for all who ask at the same time.
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
			return &UnavailableError{Cause: errNoAnswer}
		}
	}
	if o := h.Outage(); o != nil {
		return &UnavailableError{Cause: o.Err}
	}
	return nil
}

// check begins a probe unless the answer is known. What it returns is closed
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

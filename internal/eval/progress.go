package eval

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
)

// Progress is how far the latest evaluation of an application is.
type Progress struct {
	Status  string         `json:"status"` // none, running, completed, cancelled or failed
	Set     string         `json:"evalSetId"`
	Started float64        `json:"startTime"`
	Total   int            `json:"total"`
	Current string         `json:"current,omitempty"` // the id of the case that is running
	Cases   []CaseProgress `json:"cases"`             // those that are done
	Error   string         `json:"error,omitempty"`
	Result  string         `json:"evalSetResultId,omitempty"` // if it could be kept
}

// CaseProgress is how a case went, in short.
type CaseProgress struct {
	ID     string `json:"evalId"`
	Status Status `json:"finalEvalStatus"`
	Why    string `json:"why,omitempty"`
}

// errCancelled ends an evaluation that was cancelled.
var errCancelled = &Error{Kind: Cancelled, Message: "The evaluation was cancelled"}

// latest has the latest evaluation.
type latest struct {
	mu  sync.Mutex
	one *running
}

// running is an evaluation that runs, or has run.
type running struct {
	app    string
	cancel context.CancelCauseFunc
	over   chan struct{}

	mu  sync.Mutex
	now Progress
}

func (l *latest) begin(ctx context.Context, p *Plan, cases []*Case, now time.Time) (context.Context, *running) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{
		app: p.App, cancel: cancel, over: make(chan struct{}),
		now: Progress{Status: "running", Set: p.Set.ID, Started: event.Seconds(now), Total: len(cases), Cases: []CaseProgress{}},
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.one = r
	return ctx, r
}

func (r *running) next(c *Case) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Current = c.ID
}

func (r *running) done(c *CaseResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Current = ""
	r.now.Cases = append(r.now.Cases, CaseProgress{c.ID, c.Status, c.Why()})
}

func (r *running) end(result *SetResult, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Current = ""
	switch {
	case result != nil:
		r.now.Status = "completed"
		if err == nil {
			r.now.Result = result.ID
		}
	case errors.Is(err, errCancelled) || errors.Is(err, context.Canceled):
		r.now.Status = "cancelled"
	default:
		r.now.Status, r.now.Error = "failed", "The evaluation has failed; the log of the server says why"
		if e, ok := errors.AsType[*Error](err); ok {
			r.now.Error = e.Message
		}
	}
	r.cancel(errCancelled)
	close(r.over)
}

// of returns the latest evaluation, if it is of an application.
func (l *latest) of(app string) *running {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.one == nil || l.one.app != app {
		return nil
	}
	return l.one
}

// Progress returns how far the latest evaluation of this process is, if it is one of the
// application.
func (s *Service) Progress(app string) *Progress {
	r := s.latest.of(app)
	if r == nil {
		return &Progress{Status: "none", Cases: []CaseProgress{}}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now
	now.Cases = slices.Clone(now.Cases)
	return &now
}

// Cancel ends the evaluation of an application, waits for its end, and returns its
// progress. One that is over stays as it is.
func (s *Service) Cancel(ctx context.Context, app string) (*Progress, error) {
	r := s.latest.of(app)
	if r == nil {
		return s.Progress(app), nil
	}
	r.cancel(errCancelled)
	select {
	case <-r.over:
		return s.Progress(app), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Begin is like Run, and does not wait for the end. report gets the result; it may be
// called after Begin has returned.
func (s *Service) Begin(ctx context.Context, p Plan, report func(*SetResult, error)) (*Progress, error) {
	cases, err := p.cases()
	if err != nil {
		return nil, err
	}
	if err := s.lock(); err != nil {
		return nil, err
	}
	ctx, progress := s.latest.begin(context.WithoutCancel(ctx), &p, cases, s.Now())
	go func() {
		result, err := s.run(ctx, &p, cases, progress)
		s.running.Unlock()
		progress.end(result, err)
		report(result, err)
	}()
	return s.Progress(p.App), nil
}

// Close cancels what runs, and waits for its end.
func (s *Service) Close() {
	s.latest.mu.Lock()
	r := s.latest.one
	s.latest.mu.Unlock()
	if r != nil {
		r.cancel(errCancelled)
		<-r.over
	}
}

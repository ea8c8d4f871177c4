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
	// Group and Variants are those of an evaluation with variants. Cases has the cases of all
	// of them then, and Total is their number.
	Group    string    `json:"variantsId,omitempty"`
	Variants []Outcome `json:"variants,omitempty"`
}

// CaseProgress is how a case went, in short.
type CaseProgress struct {
	ID     string `json:"evalId"`
	Status Status `json:"finalEvalStatus"`
	Why    string `json:"why,omitempty"`
	// Session is that of the case, which can be read before the result is stored. It is empty if
	// it is too large for that.
	Session string `json:"sessionId,omitempty"`
	User    string `json:"userId,omitempty"`
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
	group  string // empty without variants
	cancel context.CancelCauseFunc
	over   chan struct{}

	mu   sync.Mutex
	now  Progress
	held held
}

func (l *latest) begin(ctx context.Context, p *Plan, cases []*Case, now time.Time) (context.Context, *running) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{
		app: p.App, cancel: cancel, over: make(chan struct{}),
		now: Progress{Status: "running", Set: p.Set.ID, Started: event.Seconds(now), Total: len(cases) * max(1, len(p.Variants)), Cases: []CaseProgress{}},
	}
	if len(p.Variants) > 0 {
		r.group = event.NewID()
		r.now.Group = r.group
		for i := range p.Variants {
			r.now.Variants = append(r.now.Variants, Outcome{Status: "queued", Set: p.Set.ID, Group: r.group, Variant: &p.Variants[i], Scores: map[string]float64{}, Usage: &Usage{}})
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.one = r
	return ctx, r
}

// runningVariant is one variant of an evaluation.
type runningVariant struct {
	of *running
	i  int
}

func (r *running) variant(i int) *runningVariant { return &runningVariant{r, i} }

// change changes the progress, and that of the variant if there are several.
func (v *runningVariant) change(all func(*Progress), own func(*Outcome)) {
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	all(&v.of.now)
	if v.of.group != "" {
		own(&v.of.now.Variants[v.i])
	}
}

func (v *runningVariant) next(c *Case) {
	v.change(func(p *Progress) { p.Current = c.ID }, func(o *Outcome) { o.Status = "running" })
}

func (v *runningVariant) done(c *CaseResult) {
	v.change(func(p *Progress) {
		p.Current = ""
		one := CaseProgress{ID: c.ID, Status: c.Status, Why: c.Why()}
		if v.of.held.add(c.key(v.of.app), c) {
			one.Session, one.User = c.Session, c.User
		}
		p.Cases = append(p.Cases, one)
	}, func(o *Outcome) { o.add(c.brief()) })
}

func (v *runningVariant) over(result *SetResult, err error) {
	v.change(func(*Progress) {
		if err != nil || result.ID == "" {
			return
		}
		for _, c := range result.Cases { // the result has them
			v.of.held.drop(c.key(v.of.app))
		}
	}, func(o *Outcome) {
		o.Status, o.Created, o.Code = "completed", result.Created, result.Code
		if err == nil {
			o.ID = result.ID
		}
	})
}

func (r *running) end(results []*SetResult, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Current = ""
	switch {
	case results != nil:
		r.now.Status = "completed"
		if err == nil && r.group == "" {
			r.now.Result = results[0].ID
		}
	case errors.Is(err, errCancelled) || errors.Is(err, context.Canceled):
		r.now.Status = "cancelled"
	default:
		r.now.Status, r.now.Error = "failed", "The evaluation has failed; the log of the server says why"
		if e, ok := errors.AsType[*Error](err); ok {
			r.now.Error = e.Message
		}
	}
	for i := range r.now.Variants {
		if one := &r.now.Variants[i]; one.Status != "completed" {
			one.Status = "cancelled"
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
	now.Variants = slices.Clone(now.Variants)
	for i := range now.Variants {
		now.Variants[i] = now.Variants[i].clone()
	}
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

// Begin is like RunVariants, and does not wait for the end. report gets the results; it may
// be called after Begin has returned.
func (s *Service) Begin(ctx context.Context, p Plan, report func([]*SetResult, error)) (*Progress, error) {
	variants, cases, err := s.begin(&p)
	if err != nil {
		return nil, err
	}
	ctx, progress := s.latest.begin(context.WithoutCancel(ctx), &p, cases, s.Now())
	go func() {
		results, err := s.runVariants(ctx, &p, variants, cases, progress)
		s.running.Unlock()
		progress.end(results, err)
		report(results, err)
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

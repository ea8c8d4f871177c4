package observe

import (
	"context"
	"net/http"
	"time"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/session"
)

// None returns a Telemetry that records nothing. Contexts have the ids of their
// request and run, for log lines.
func None() Telemetry { return none{} }

type none struct{}

// Request implements server.Observer.
func (none) Request(r *http.Request, id string) (*http.Request, server.Observed) {
	return r.WithContext(context.WithValue(r.Context(), RequestKey{}, id)), unanswered{}
}

type unanswered struct{}

func (unanswered) Answered(string, int) {}

// Stream implements server.Observer.
func (none) Stream() (ended func()) { return func() {} }

// Work implements run.Observer.
func (none) Work(ctx context.Context, w *run.Work) (context.Context, func(session.Status, *session.Failure)) {
	return context.WithValue(ctx, RunKey{}, w.Run), nil
}

// Firing implements schedule.Observer.
func (none) Firing(ctx context.Context, _ session.Key, _ string, _, _ time.Time) (context.Context, func(string)) {
	return ctx, func(string) {}
}

// Sending implements outbox.Observer.
func (none) Sending(ctx context.Context, _, _, _ string) (context.Context, func(string)) {
	return ctx, func(string) {}
}

// Wants implements agentrt.Observer: there are no steps to observe.
func (none) Wants(agentrt.StepKind) bool { return false }

// The other methods do nothing.

func (none) Detailed() bool                                             { return false }
func (none) Begin(ctx context.Context, _ *agentrt.Step) context.Context { return ctx }
func (none) Done(*agentrt.Step)                                         {}
func (none) Close(*agentrt.Step)                                        {}
func (none) Mark(context.Context, session.Key) string                   { return "" }
func (none) Spent(string, []session.ModelUsage)                         {}
func (none) CostWarning(string)                                         {}
func (none) Ended(*session.Run, bool)                                   {}
func (none) Login(string)                                               {}
func (none) Delivery(string, string)                                    {}
func (none) Entry(string, string)                                       {}
func (none) Forgotten(...session.Key)                                   {}
func (none) Watch(func() Levels)                                        {}
func (none) Metrics() http.Handler                                      { return nil }
func (none) Profiles() http.Handler                                     { return nil }
func (none) Traces() server.Traces                                      { return nil }
func (none) Shutdown(context.Context)                                   {}

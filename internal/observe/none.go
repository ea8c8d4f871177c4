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

// None records nothing. Contexts have the ids of their request and run, for log
// lines.
type None struct{}

var _ Telemetry = None{}

// Request implements server.Observer.
func (None) Request(r *http.Request, id string) (*http.Request, server.Observed) {
	return r.WithContext(context.WithValue(r.Context(), RequestKey{}, id)), unanswered{}
}

type unanswered struct{}

func (unanswered) Answered(string, int) {}

// Stream implements server.Observer.
func (None) Stream() (ended func()) { return func() {} }

// Work implements run.Observer.
func (None) Work(ctx context.Context, w *run.Work) (context.Context, func(session.Status, *session.Failure)) {
	return context.WithValue(ctx, RunKey{}, w.Run), nil
}

// Wants implements agentrt.Observer: there are no steps to observe.
func (None) Wants(agentrt.StepKind) bool { return false }

// The other methods do nothing.

func (None) Detailed() bool                                             { return false }
func (None) Begin(ctx context.Context, _ *agentrt.Step) context.Context { return ctx }
func (None) Done(*agentrt.Step)                                         {}
func (None) Close(*agentrt.Step)                                        {}
func (None) Mark(context.Context, session.Key) string                   { return "" }
func (None) Ended(*session.Run, bool)                                   {}
func (None) Appended(time.Duration, error)                              {}
func (None) Login(string)                                               {}
func (None) Forgotten(...session.Key)                                   {}
func (None) Watch(func() Levels)                                        {}
func (None) Metrics() http.Handler                                      { return nil }
func (None) Traces() server.Traces                                      { return nil }
func (None) Shutdown(context.Context)                                   {}

package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/session"
)

const (
	scheduleID      = "parley.schedule.id"
	scheduleTime    = "parley.schedule.time"
	scheduleDelay   = "parley.schedule.delay"
	scheduleOutcome = "parley.schedule.outcome"
)

// Firing begins the span of a firing, which is the parent of the run that it starts, and
// counts its outcome.
func (t *Telemetry) Firing(ctx context.Context, key session.Key, id string, due, now time.Time) (context.Context, func(outcome string)) {
	delay := max(now.Sub(due), 0).Seconds()
	var span trace.Span
	if t.tracer != nil {
		ctx, span = t.tracer.Start(ctx, "schedule", trace.WithAttributes(
			attribute.String(appName, key.App), attribute.String(scheduleID, id),
			attribute.String(scheduleTime, due.UTC().Format(time.RFC3339)), attribute.Float64(scheduleDelay, delay)))
	}
	return ctx, func(outcome string) {
		if outcome != "" {
			t.metrics.firings.WithLabelValues(t.metrics.apps.of(key.App), outcome).Inc()
		}
		if outcome == schedule.Started || outcome == schedule.Changed {
			t.metrics.delays.Observe(delay)
		}
		if span == nil {
			return
		}
		if outcome != "" { // otherwise another attempt has it
			span.SetAttributes(attribute.String(scheduleOutcome, outcome))
		}
		if outcome == schedule.Failed {
			span.SetStatus(codes.Error, "the run could not be started")
		}
		span.End()
	}
}

package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-run/parley/internal/outbox"
)

// Sending implements outbox.Observer. The trace of a run is known if the run has ended
// here, or by its mark.
func (t *Telemetry) Sending(ctx context.Context, kind, run, mark string) (context.Context, func(outcome string)) {
	var span trace.Span
	of, ok := t.ended.get(run)
	if !ok {
		of = trace.SpanContextFromContext(parse(ctx, mark))
		ok = of.IsValid()
	}
	if ok && t.tracer != nil {
		ctx, span = t.tracer.Start(trace.ContextWithSpanContext(ctx, of), "notification", trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attribute.String(invocationID, run), attribute.String("parley.notification.kind", kind)))
	}
	return ctx, func(outcome string) {
		if outcome != "" {
			t.metrics.sent.WithLabelValues(kind, outcome).Inc()
		}
		if span == nil {
			return
		}
		if outcome != outbox.Sent {
			span.SetStatus(codes.Error, "it was not accepted")
		}
		span.End()
	}
}

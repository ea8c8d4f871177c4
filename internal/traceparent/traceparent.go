// Package traceparent carries a trace over HTTP, as the W3C's Trace Context says.
// It is what the edges need of tracing, and costs nothing when there is no trace.
package traceparent

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

var format propagation.TraceContext

const header = "Traceparent"

// Stamp is a request with the headers that tell which trace it is part of. It is
// r itself when that is part of none, or says so already.
func Stamp(r *http.Request) *http.Request {
	if !trace.SpanContextFromContext(r.Context()).IsValid() || r.Header.Get(header) != "" {
		return r
	}
	stamped := r.WithContext(r.Context()) // a transport must leave the caller's as it is
	if stamped.Header = r.Header.Clone(); stamped.Header == nil {
		stamped.Header = http.Header{}
	}
	format.Inject(r.Context(), propagation.HeaderCarrier(stamped.Header))
	return stamped
}

// Extract is ctx as part of the trace that the headers of a request name.
func Extract(ctx context.Context, h http.Header) context.Context {
	if h.Get(header) == "" {
		return ctx
	}
	return format.Extract(ctx, propagation.HeaderCarrier(h))
}

// Text is the trace that ctx is part of, in one line; empty for none.
func Text(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	format.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Parse is ctx as part of the trace of a line that Text has made.
func Parse(ctx context.Context, text string) context.Context {
	if text == "" {
		return ctx
	}
	return format.Extract(ctx, propagation.MapCarrier{"traceparent": text})
}

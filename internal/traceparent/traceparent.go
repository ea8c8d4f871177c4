// Package traceparent carries a trace over HTTP, as the W3C's Trace Context says.
// It is what the edges need of tracing, and costs nothing when there is no trace.
package traceparent

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

var format propagation.TraceContext

const header = "Traceparent"

// Local is the state of traces that began here and are not exported. They must not
// be propagated: that they are not sampled says nothing about what other services
// should do.
var Local = func() trace.TraceState {
	state, err := trace.ParseTraceState("parley=local")
	if err != nil {
		panic(err)
	}
	return state
}()

func isLocal(at trace.SpanContext) bool { return at.TraceState().Get("parley") == "local" }

// Stamp is a request with the headers that tell which trace it is part of. It is
// r itself when that is part of none that others know, or says so already.
func Stamp(r *http.Request) *http.Request {
	if at := trace.SpanContextFromContext(r.Context()); !at.IsValid() || isLocal(at) || r.Header.Get(header) != "" {
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

// Text is the trace that ctx is part of, and its state, in one line; empty for
// none.
func Text(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	format.Inject(ctx, carrier)
	if state := carrier["tracestate"]; state != "" {
		return carrier["traceparent"] + " " + state
	}
	return carrier["traceparent"]
}

// Parse is ctx as part of the trace of a line that Text has made.
func Parse(ctx context.Context, text string) context.Context {
	if text == "" {
		return ctx
	}
	at, state, _ := strings.Cut(text, " ")
	return format.Extract(ctx, propagation.MapCarrier{"traceparent": at, "tracestate": state})
}

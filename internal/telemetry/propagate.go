package telemetry

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/traceparent"
)

func init() {
	registry.Register[traceparent.Propagate]("", stamp)
	registry.Register[observe.TraceIDs]("", traceIDs)
}

func traceIDs(ctx context.Context) (traceID, spanID string, ok bool) {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return "", "", false
	}
	return at.TraceID().String(), at.SpanID().String(), true
}

var format propagation.TraceContext

const header = "Traceparent"

// local is the state of traces that began here and are not exported. They must not
// be propagated: that they are not sampled says nothing about what other services
// should do.
var local = func() trace.TraceState {
	state, err := trace.ParseTraceState("parley=local")
	if err != nil {
		panic(err)
	}
	return state
}()

func isLocal(at trace.SpanContext) bool { return at.TraceState().Get("parley") == "local" }

// stamp returns a request with the headers that tell which trace it is part of. It
// returns r itself when that is part of none that others know, or says so already.
func stamp(r *http.Request) *http.Request {
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

// extract returns ctx as part of the trace that the headers of a request name.
func extract(ctx context.Context, h http.Header) context.Context {
	if h.Get(header) == "" {
		return ctx
	}
	return format.Extract(ctx, propagation.HeaderCarrier(h))
}

// marshal returns the trace that ctx is part of, and its state, in one line; empty for
// none.
func marshal(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	format.Inject(ctx, carrier)
	if state := carrier["tracestate"]; state != "" {
		return carrier["traceparent"] + " " + state
	}
	return carrier["traceparent"]
}

// parse returns ctx as part of the trace of a line that marshal has made.
func parse(ctx context.Context, text string) context.Context {
	if text == "" {
		return ctx
	}
	at, state, _ := strings.Cut(text, " ")
	return format.Extract(ctx, propagation.MapCarrier{"traceparent": at, "tracestate": state})
}

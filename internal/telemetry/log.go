package telemetry

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// Attributes of log lines that identify a request, a run and a trace.
const (
	logRequest = "request_id"
	logRun     = "run_id"
	logTrace   = "trace_id"
	logSpan    = "span_id"
)

// requestKey and runKey are the context keys of the ids of the request and the run.
type (
	requestKey struct{}
	runKey     struct{}
)

// Logger returns a logger that adds the ids of the request, the run and the trace from the context.
func Logger(log *slog.Logger) *slog.Logger { return slog.New(&leads{Handler: log.Handler()}) }

// leads adds the ids. Lines that already have one keep it.
type leads struct {
	slog.Handler
	has     []string
	grouped bool
}

func (h *leads) Handle(ctx context.Context, line slog.Record) error {
	if ctx == nil || h.grouped {
		return h.Handler.Handle(ctx, line)
	}
	var more [4]slog.Attr
	add := more[:0]
	if id, ok := ctx.Value(requestKey{}).(string); ok && !h.knows(logRequest, &line) {
		add = append(add, slog.String(logRequest, id))
	}
	if id, ok := ctx.Value(runKey{}).(string); ok && !h.knows(logRun, &line) {
		add = append(add, slog.String(logRun, id))
	}
	if at := trace.SpanContextFromContext(ctx); at.IsValid() && !h.knows(logTrace, &line) {
		add = append(add, slog.String(logTrace, at.TraceID().String()), slog.String(logSpan, at.SpanID().String()))
	}
	if len(add) > 0 {
		line = line.Clone()
		line.AddAttrs(add...)
	}
	return h.Handler.Handle(ctx, line)
}

// knows reports whether a line already has an id.
func (h *leads) knows(name string, line *slog.Record) bool {
	if slices.Contains(h.has, name) {
		return true
	}
	found := false
	line.Attrs(func(a slog.Attr) bool {
		found = a.Key == name
		return !found
	})
	return found
}

func (h *leads) WithAttrs(attrs []slog.Attr) slog.Handler {
	has := slices.Clone(h.has)
	for _, a := range attrs {
		has = append(has, a.Key)
	}
	return &leads{Handler: h.Handler.WithAttrs(attrs), has: has, grouped: h.grouped}
}

func (h *leads) WithGroup(name string) slog.Handler {
	return &leads{Handler: h.Handler.WithGroup(name), has: h.has, grouped: h.grouped || name != ""}
}

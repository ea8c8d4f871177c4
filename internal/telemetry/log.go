package telemetry

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// The names under which log lines lead to a request, a run and a trace.
const (
	logRequest = "request_id"
	logRun     = "run_id"
	logTrace   = "trace_id"
	logSpan    = "span_id"
)

// requestKey and runKey are where a context has the ids of its request and run.
type (
	requestKey struct{}
	runKey     struct{}
)

// Logger is a logger whose lines tell, as far as the context that they are
// written with does, which request, run and trace they belong to.
func Logger(log *slog.Logger) *slog.Logger { return slog.New(&leads{Handler: log.Handler()}) }

// leads adds the ids. Lines that have one already keep it.
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

// knows reports whether a line has an id already.
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

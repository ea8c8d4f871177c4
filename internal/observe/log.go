package observe

import (
	"context"
	"log/slog"
	"slices"

	"github.com/parley-run/parley/internal/registry"
)

// Attributes of log lines that identify a request, a run and a trace.
const (
	logRequest = "request_id"
	logRun     = "run_id"
	logTrace   = "trace_id"
	logSpan    = "span_id"
)

// RequestKey is the context key of the id of the request.
type RequestKey struct{}

// RunKey is the context key of the id of the run.
type RunKey struct{}

// TraceIDs returns the ids of the trace and the span of a context; ok is false if it
// has none. Package telemetry registers it.
type TraceIDs func(ctx context.Context) (traceID, spanID string, ok bool)

// Logger returns a logger that adds the ids of the request, the run and the trace from the context.
func Logger(log *slog.Logger) *slog.Logger {
	traceIDs, _ := registry.Find[TraceIDs]("")
	return slog.New(&leads{Handler: log.Handler(), traceIDs: traceIDs})
}

// leads adds the ids. Lines that already have one keep it.
type leads struct {
	slog.Handler
	traceIDs TraceIDs // nil without traces
	has      []string
	grouped  bool
}

func (h *leads) Handle(ctx context.Context, line slog.Record) error {
	if ctx == nil || h.grouped {
		return h.Handler.Handle(ctx, line)
	}
	var more [4]slog.Attr
	add := more[:0]
	if id, ok := ctx.Value(RequestKey{}).(string); ok && !h.knows(logRequest, &line) {
		add = append(add, slog.String(logRequest, id))
	}
	if id, ok := ctx.Value(RunKey{}).(string); ok && !h.knows(logRun, &line) {
		add = append(add, slog.String(logRun, id))
	}
	if h.traceIDs != nil && !h.knows(logTrace, &line) {
		if traceID, spanID, ok := h.traceIDs(ctx); ok {
			add = append(add, slog.String(logTrace, traceID), slog.String(logSpan, spanID))
		}
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
	return &leads{Handler: h.Handler.WithAttrs(attrs), traceIDs: h.traceIDs, has: has, grouped: h.grouped}
}

func (h *leads) WithGroup(name string) slog.Handler {
	return &leads{Handler: h.Handler.WithGroup(name), traceIDs: h.traceIDs, has: h.has, grouped: h.grouped || name != ""}
}

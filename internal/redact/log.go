package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// Handler returns a handler that applies scrub to the messages and values of records and passes them to another
// handler.
func Handler(to slog.Handler, scrub func(text string) string) slog.Handler { return handler{to, scrub} }

type handler struct {
	slog.Handler
	scrub func(string) string
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.scrub(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return handler{h.Handler.WithAttrs(clean), h.scrub}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.scrub}
}

func (h handler) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.scrub(v.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, one := range v.Group() {
			group[i] = h.attr(one)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	case slog.KindAny:
		text := fmt.Sprint(v.Any())
		if clean := h.scrub(text); clean != text {
			return slog.String(a.Key, clean)
		}
	default: // numbers, times and the like contain no secrets
	}
	return a
}

package agent

import (
	"slices"

	"github.com/parley-run/parley/event"
)

// thoughtsFrom is the place of the first event whose thoughts are sent to the
// model again.
func (l *llm) thoughtsFrom(ctx *Context) int {
	from := 0
	for _, c := range l.cfg.Compactions {
		if c.DropThoughts {
			from = max(from, c.older(ctx, 0)+1)
		}
	}
	return from
}

func isThought(p *event.Part) bool { return p.Thought }

// withoutThoughts is what was said without what was thought, nil if that was
// all.
func withoutThoughts(c *event.Content) *event.Content {
	if !slices.ContainsFunc(c.Parts, isThought) {
		return c
	}
	parts := slices.DeleteFunc(slices.Clone(c.Parts), isThought)
	if len(parts) == 0 {
		return nil
	}
	return &event.Content{Role: c.Role, Parts: parts}
}

package agent

import (
	"context"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// Scrub is a text without the secrets that tools of the run have got.
func (c *Context) Scrub(text string) string { return tool.ScrubText(c.inv.Secrets, text) }

// Secrets knows the secrets that tools of the run have got; nil if there can be
// none.
func (c *Context) Secrets() tool.Secrets { return c.inv.Secrets }

// seal puts away what is secret in the state that actions change. When that
// cannot be done, they change none.
func (inv *Invocation) seal(ctx context.Context, actions *event.Actions) (err error) {
	if inv.Secrets != nil && len(actions.StateDelta) > 0 {
		actions.StateDelta, err = inv.Secrets.Seal(ctx, actions.StateDelta, nil)
	}
	return err
}

// scrub is a JSON document without the secrets that tools of the run have got.
func (inv *Invocation) scrub(doc []byte) []byte {
	if inv.Secrets == nil {
		return doc
	}
	return inv.Secrets.Scrub(doc)
}

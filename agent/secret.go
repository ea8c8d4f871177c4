package agent

import (
	"context"

	"github.com/parley-run/parley/event"
)

// seal seals what is secret in the state that actions change. When that
// cannot be done, they change none.
func (inv *invocation) seal(ctx context.Context, actions *event.Actions) (err error) {
	if inv.Secrets != nil && len(actions.StateDelta) > 0 {
		actions.StateDelta, err = inv.Secrets.Seal(ctx, actions.StateDelta, nil)
	}
	return err
}

// scrub is a JSON document without the secrets that tools of the run have got.
func (inv *invocation) scrub(doc []byte) []byte {
	if inv.Secrets == nil {
		return doc
	}
	return inv.Secrets.Scrub(doc)
}

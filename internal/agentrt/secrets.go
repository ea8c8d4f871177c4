package agentrt

import (
	"context"
	"encoding/json"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// Secrets keeps secrets out of the state and out of events. It belongs to one
// run.
type Secrets interface {
	// Seal stores the secrets in a delta of the state, and returns the delta
	// that may be stored in the session: values that hold a credential, or a
	// secret of the run, become redact.Sealed; "secret:" keys are left out. It is
	// delta itself when nothing in it is secret. Seal deletes values that were
	// sealed before and are not any more; it does not if before is nil.
	Seal(ctx context.Context, delta map[string]json.RawMessage, before tool.Lookup) (map[string]json.RawMessage, error)
	// Open returns the sealed value of a key.
	Open(ctx context.Context, key string) (value json.RawMessage, ok bool, err error)
	// Scrub returns a JSON document without the secrets of the run. It is doc
	// itself when there are none in it.
	Scrub(doc []byte) []byte
}

// ScrubText is Scrub for a text that is not JSON. secrets may be nil.
func ScrubText(secrets Secrets, text string) string {
	if secrets == nil {
		return text
	}
	clean := secrets.Scrub(wire.Quote(nil, text)) // secrets are known as they are spelled in JSON
	if err := json.Unmarshal(clean, &text); err != nil {
		return "(redacted)" // it may contain anything
	}
	return text
}

// State holds the state that a call sees.
type State struct {
	state  tool.State
	opener opener
}

// Of returns the state of log with the changes in actions. It opens sealed values
// with secrets, which may be nil, for as long as ctx lives. It must be called once.
func (s *State) Of(ctx context.Context, log tool.Lookup, secrets Secrets, actions *event.Actions) *tool.State {
	if secrets != nil {
		s.opener = opener{Lookup: log, ctx: ctx, secrets: secrets}
		log = &s.opener
	}
	s.state = *tool.NewState(log, actions)
	return &s.state
}

// opener opens sealed values for a tool.State.
type opener struct {
	tool.Lookup
	ctx     context.Context //nolint:containedctx // of the call that the state is for
	secrets Secrets
}

func (o *opener) Open(key string) (value json.RawMessage, ok bool, err error) {
	return o.secrets.Open(o.ctx, key)
}

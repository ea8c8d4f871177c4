package gemini

import (
	"context"
	"time"

	"github.com/parley-run/parley/internal/retry"
)

// Sleep is the wait between two tries.
var Sleep = retry.Sleep

// SetWait replaces it.
func (m *Model) SetWait(wait func(context.Context, time.Duration) error) { m.caller.Wait = wait }

// Match is match, for tests.
var Match = match

package gemini

import (
	"context"
	"time"
)

// Sleep is the wait between two tries.
var Sleep = sleep

// SetWait replaces it.
func (m *Model) SetWait(wait func(context.Context, time.Duration) error) { m.wait = wait }

package model

import "time"

// Limits say how patient the adapter to a hosted model is, and how much it
// reads. Zero means the default.
type Limits struct {
	// Tries is how often a request is made, the first time included, while it
	// fails in a way that may pass and nothing was heard yet; 4 by default.
	Tries int
	// FirstByte is how long the model may take to begin its answer; 5 minutes
	// by default, since some think for long, and some are loaded first.
	FirstByte time.Duration
	// Idle is how long an answer may stand still; 5 minutes by default.
	Idle time.Duration
	// ResponseBytes is how large a response may be, decompressed; what the server
	// allows by default, which is 64 MiB if it does not say.
	ResponseBytes int64
}

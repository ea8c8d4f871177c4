package model

import "time"

// Limits are the timeouts, retries and size limits of an adapter to a hosted model.
// Zero means the default.
type Limits struct {
	// Tries is the maximum number of attempts while a request fails temporarily and
	// no response has begun; 4 by default.
	Tries int
	// FirstByte is the timeout for the beginning of a response; 5 minutes by
	// default, because some models think for long, and some are loaded first.
	FirstByte time.Duration
	// Idle is the longest pause within a response; 5 minutes by default.
	Idle time.Duration
	// ResponseBytes limits the size of a response, decompressed. The default is
	// that of the server, or 64 MiB.
	ResponseBytes int64
}

package model

import "time"

// Limits are the time-outs, retries and size limits of an adapter to a hosted
// model. Zero means the default.
type Limits struct {
	// Tries is the largest number of attempts while a request fails temporarily
	// and no response has begun; 4 by default.
	Tries int
	// FirstByte is the time-out for the begin of a response; 5 minutes by
	// default, since some models think for long, and some are loaded first.
	FirstByte time.Duration
	// Idle is the longest pause within a response; 5 minutes by default.
	Idle time.Duration
	// ResponseBytes limits the size of a response, decompressed. The default is
	// that of the server, or 64 MiB.
	ResponseBytes int64
}

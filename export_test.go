package parley

import "time"

// SetGrace changes how long a shutdown waits for runs, so that the tests of it
// need not.
func SetGrace(d time.Duration) { grace = d }

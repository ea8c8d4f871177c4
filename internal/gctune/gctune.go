// Package gctune sets the garbage collector of a server process. A library leaves
// that to the program: the command and the benchmarks call it.
package gctune

import "runtime/debug"

// ballast is kept for as long as the process is.
var ballast []byte //nolint:unused // the runtime counts it

// Tune lets the collector run half as often as it does by default: a server has
// memory to spare rather than CPU time, and what it keeps, the sessions, is large
// beside what a request needs. If GOGC is set, it does nothing.
//
// A server that has no sessions yet gets ballast, without which its collector
// would run after every few megabytes of requests. The runtime counts it; nothing
// touches it, so that it has addresses and no memory.
func Tune(getenv func(string) string) {
	if getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(200)
	ballast = make([]byte, 8<<20)
}

// Settle returns the memory to the system that loading the agents took, which is
// more than serving them takes: the collector would do so after minutes.
func Settle() { debug.FreeOSMemory() }

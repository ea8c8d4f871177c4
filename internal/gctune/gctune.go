// Package gctune sets the garbage collector of a server process, and has its caches
// shrink when memory is short. A library leaves that to the program: the command and the
// benchmarks call it.
package gctune

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
	"weak"
)

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

// shrinkers are called when memory is short.
var (
	mu        sync.Mutex
	shrinkers = map[*func()]struct{}{}
)

// OnShortage has shrink called, for as long as owner is reachable, whenever the process
// needs most of the memory that GOMEMLIMIT allows. It must release what can be read or
// computed again.
func OnShortage[T any](owner *T, shrink func(*T)) {
	at := weak.Make(owner)
	call := func() {
		if owner := at.Value(); owner != nil {
			shrink(owner)
		}
	}
	key := &call
	mu.Lock()
	shrinkers[key] = struct{}{}
	mu.Unlock()
	runtime.AddCleanup(owner, func(key *func()) {
		mu.Lock()
		defer mu.Unlock()
		delete(shrinkers, key)
	}, key)
}

const (
	// often is how often Watch looks.
	often = time.Second
	// scarce is the part of GOMEMLIMIT, in percent, that the process may need before
	// memory is short. The rest is for what requests need until they have ended.
	scarce = 75
	// patience bounds how many looks pass before caches that are small shrink again.
	patience = 64
	// quiet is how many bytes a process without work allocates between two looks, at most,
	// and quietFor after how many such looks its garbage is released, if that is more than
	// spare bytes.
	quiet    = 1 << 20
	quietFor = 10
	spare    = 8 << 20
)

// Watch observes the memory of the process until ctx ends. If it needs most of what
// GOMEMLIMIT allows, it calls the functions of OnShortage. If there is no work for a while,
// it returns the memory that the collector keeps for more to the system.
func Watch(ctx context.Context) {
	w := newWatcher()
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look()
		}
	}
}

// The metrics that a watcher reads.
const (
	limitMetric = iota
	liveMetric
	allocsMetric
	objectsMetric
	unusedMetric
	freeMetric
	totalMetric
	releasedMetric
)

var metricNames = [...]string{
	limitMetric: "/gc/gomemlimit:bytes", liveMetric: "/gc/heap/live:bytes", allocsMetric: "/gc/heap/allocs:bytes",
	objectsMetric: "/memory/classes/heap/objects:bytes", unusedMetric: "/memory/classes/heap/unused:bytes",
	freeMetric: "/memory/classes/heap/free:bytes", totalMetric: "/memory/classes/total:bytes",
	releasedMetric: "/memory/classes/heap/released:bytes",
}

type watcher struct {
	samples  []metrics.Sample
	allocs   uint64 // at the last look
	released uint64 // allocs when garbage was released last
	quiet    int    // looks without work
	wait     int    // looks before the caches shrink again, while memory is short
	skip     int    // of them, to come
}

func newWatcher() *watcher {
	w := &watcher{samples: make([]metrics.Sample, len(metricNames))}
	for i, name := range metricNames {
		w.samples[i].Name = name
	}
	return w
}

func (w *watcher) value(metric int) uint64 { return w.samples[metric].Value.Uint64() }

func (w *watcher) look() {
	metrics.Read(w.samples)
	live := w.value(liveMetric) // at the end of the last collection
	garbage := w.value(objectsMetric) + w.value(unusedMetric) + w.value(freeMetric) - min(live, w.value(objectsMetric))
	// What is not the heap, such as the stacks, is needed.
	needed := w.value(totalMetric) - w.value(releasedMetric) - garbage
	if limit := w.value(limitMetric); limit < math.MaxInt64 && needed > limit/100*scarce {
		w.shrink()
		return
	}
	w.wait, w.skip = 0, 0
	allocs := w.value(allocsMetric)
	work := allocs - w.allocs
	w.allocs = allocs
	if w.quiet++; work > quiet {
		w.quiet = 0
	}
	if w.quiet >= quietFor && garbage > spare && allocs-w.released > quiet {
		w.released = allocs
		debug.FreeOSMemory()
	}
}

// shrink shrinks the caches, and ever more seldom if that does not help: what is kept may be
// no cache.
func (w *watcher) shrink() {
	if w.skip > 0 {
		w.skip--
		return
	}
	Shrink()
	debug.FreeOSMemory()
	w.wait = min(2*w.wait+1, patience)
	w.skip = w.wait
}

// Shrink calls the functions of OnShortage.
func Shrink() {
	mu.Lock()
	all := make([]func(), 0, len(shrinkers))
	for shrink := range shrinkers {
		all = append(all, *shrink)
	}
	mu.Unlock()
	for _, shrink := range all {
		shrink()
	}
}

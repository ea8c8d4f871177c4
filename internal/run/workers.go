package run

import "sync/atomic"

// workers runs jobs on reused goroutines. Agents need deep stacks, so a goroutine
// with a grown stack is worth keeping (BenchmarkRun takes 1.6 times the processor
// time with a new goroutine for every run).
type workers struct {
	jobs    chan job
	idle    atomic.Int32
	stopped chan struct{}
}

// job is what a worker does: a turn, or a function. It is not a function, since that
// of a turn would be an allocation for each run (BenchmarkRun).
type job interface{ work() }

type jobFunc func()

func (f jobFunc) work() { f() }

// maxIdle bounds the number of idle goroutines.
const maxIdle = 64

func newWorkers() *workers {
	return &workers{jobs: make(chan job), stopped: make(chan struct{})}
}

// do does a job on its own goroutine.
func (w *workers) do(j job) {
	select {
	case w.jobs <- j:
	default:
		go w.work(j)
	}
}

func (w *workers) work(j job) {
	for {
		j.work()
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case j = <-w.jobs:
			w.idle.Add(-1)
		case <-w.stopped:
			return
		}
	}
}

// stop ends the idle goroutines. Active jobs finish.
func (w *workers) stop() { close(w.stopped) }

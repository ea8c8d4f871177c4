package run

import "sync/atomic"

// workers run jobs on goroutines that are used again. Agents need deep stacks: a
// goroutine that has grown one is worth keeping (BenchmarkRun takes 1.6 times the
// processor time with a new goroutine for every run).
type workers struct {
	jobs    chan func()
	idle    atomic.Int32
	stopped chan struct{}
}

// maxIdle is how many goroutines wait for work.
const maxIdle = 64

func newWorkers() *workers {
	return &workers{jobs: make(chan func()), stopped: make(chan struct{})}
}

// do runs job on a goroutine of its own.
func (w *workers) do(job func()) {
	select {
	case w.jobs <- job:
	default:
		go w.work(job)
	}
}

func (w *workers) work(job func()) {
	for {
		job()
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case job = <-w.jobs:
			w.idle.Add(-1)
		case <-w.stopped:
			return
		}
	}
}

// stop ends the goroutines that wait. Jobs that are under way come to their end.
func (w *workers) stop() { close(w.stopped) }

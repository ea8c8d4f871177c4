package run

import "sync/atomic"

// workers runs jobs on reused goroutines. Agents need deep stacks, so a goroutine
// with a grown stack is worth keeping (BenchmarkRun takes 1.6 times the processor
// time with a new goroutine for every run).
type workers struct {
	jobs    chan func()
	idle    atomic.Int32
	stopped chan struct{}
}

// maxIdle bounds the number of idle goroutines.
const maxIdle = 64

func newWorkers() *workers {
	return &workers{jobs: make(chan func()), stopped: make(chan struct{})}
}

// do runs job on its own goroutine.
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

// stop ends the idle goroutines. Active jobs finish.
func (w *workers) stop() { close(w.stopped) }

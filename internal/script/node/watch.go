package node

import "time"

// ping is how code is noticed that does not yield: it does not answer.
type ping struct {
	last  int64
	open  bool // it is not answered
	since time.Time
	used  time.Duration // processor time of the process when it was sent
}

func (p *ping) answered(n int64) {
	if n == p.last {
		p.open = false
	}
}

// patience is how many times the limit of a turn code may take that does not use a
// processor: it may wait for one on a busy machine, or for a process that it has
// started.
const patience = 10

// Node.js compiles what it loads in the same turn, which takes as long as the code is:
// while an application loads, a turn may take longer.
const (
	loadTurns = 4
	minLoad   = 10 * time.Second
)

// watch ends the process when its code does not yield. As in QuickJS, processor
// time counts.
func (p *process) watch() {
	tick := time.NewTicker(min(max(p.limits.Turn/4, 50*time.Millisecond), time.Minute))
	defer tick.Stop()
	for {
		select {
		case <-p.dead:
			return
		case <-tick.C:
		}
		if err := p.check(); err != nil {
			p.End(err)
			return
		}
	}
}

// check sends a ping, or returns an error if there was no answer to the last one
// for too long.
func (p *process) check() error {
	pid := p.cmd.Process.Pid
	if err := tooMany(pid); err != nil {
		return err
	}
	used, known := processorTime(pid)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ping.open {
		limits := p.limits
		if !p.ran {
			limits.Turn = max(loadTurns*limits.Turn, minLoad)
		}
		elapsed := time.Since(p.ping.since)
		if elapsed > patience*limits.Turn || elapsed > limits.Turn && (!known || used-p.ping.used > limits.Turn) {
			return limits.Runaway()
		}
		return nil
	}
	p.ping.last++
	p.ping.open, p.ping.since, p.ping.used = true, time.Now(), used
	p.enqueue(encode([]any{"ping", p.ping.last}))
	return nil
}

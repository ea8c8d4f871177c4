package storetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// patience is how long these tests wait for what should come soon. It is far
// more than any machine needs, for nothing is waited for that does not come.
const patience = time.Minute

// watcher collects what Watch reports.
type watcher struct {
	*kit
	mu      sync.Mutex
	changes map[uint64]bool
	news    chan struct{} // has room for one
}

// watch starts to watch and ends with the test.
func (k *kit) watch() *watcher {
	w := &watcher{kit: k, changes: map[uint64]bool{}, news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(k.Context())
	var wg sync.WaitGroup
	wg.Go(func() { k.store.Watch(ctx, w.changed) })
	k.Cleanup(func() { cancel(); wg.Wait() })
	return w
}

func (w *watcher) changed(hint uint64) {
	w.mu.Lock()
	w.changes[hint] = true
	w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// knows reports whether Watch has reported a change of the session, or of
// any, since it was last asked, and forgets it.
func (w *watcher) knows(key session.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.changes[key.Hint()] || w.changes[0]
	delete(w.changes, key.Hint())
	delete(w.changes, 0)
	return known
}

// waitForChange waits until Watch reports a change of the session. again, unless it is nil,
// is called occasionally.
func (w *watcher) waitForChange(key session.Key, what string, again func()) {
	w.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !w.knows(key) {
		select {
		case <-w.news:
		case <-tick.C:
			if again != nil {
				again()
			}
		case <-late.C:
			w.Fatalf("Watch did not report %s", what)
		}
	}
}

// Two people look at one conversation through two processes: what one of them
// says has to appear at the other's without being asked for. And a run that is
// left behind, or asked to end, should not wait for the next look around.
func watchTells(p *place) {
	a, b := p.two()
	changes := []struct {
		what string
		do   func(s session.Key, epoch int64)
	}{
		{"Patch", func(s session.Key, _ int64) { a.patch(s, say("e")) }},
		{"Append", func(s session.Key, epoch int64) { a.append(s, epoch, say("e")) }},
		{"Begin", func(s session.Key, _ int64) { a.enqueue("next-"+s.ID, s) }},
		{"StopRun", func(s session.Key, _ int64) { a.stop(s, "run-"+s.ID, session.StopCancel) }},
		{"StopRun queued", func(s session.Key, _ int64) { a.stop(s, "line-"+s.ID, session.StopCancel) }},
		{"HandOver", func(s session.Key, epoch int64) { a.handOver(s, epoch) }},
		{"End", func(s session.Key, epoch int64) { a.complete(s, epoch) }},
		{"Delete", func(s session.Key, _ int64) { a.delete(s) }},
	}
	// What comes before the watching does not count, so all of it does.
	epochs := map[string]int64{}
	for _, change := range changes {
		s := key(change.what)
		a.create(s, nil)
		epochs[s.ID] = a.start("run-"+s.ID, s)
		a.enqueue("line-"+s.ID, s)
	}
	a.create(key("first"), nil)
	a.create(key("free"), nil)

	w := b.watch()
	n := 0
	patchFirst := func() {
		n++
		a.patch(key("first"), say(fmt.Sprint("e", n)))
	}
	w.waitForChange(key("first"), "any patch", patchFirst) // it is not known when Watch has begun
	for _, change := range changes {
		change.do(key(change.what), epochs[change.what])
		w.waitForChange(key(change.what), change.what, nil)
	}
	a.start("run-free", key("free"))
	w.waitForChange(key("free"), "Begin of a free session", nil)
}

// Who does not want to know any more is not kept.
func watchEnds(p *place) {
	k := p.as("a", time.Hour)
	for range 3 {
		ctx, cancel := context.WithCancel(p.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			k.store.Watch(ctx, func(uint64) {})
		}()
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			p.Fatal("Watch continues when its context has ended")
		}
	}
}

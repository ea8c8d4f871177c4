//go:build unix

package chaos

import (
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// torment injects faults for a while, and then leaves everything in order. Many
// may be in progress at once, but only one at a server.
func (w *world) torment() { w.tormentFor(*duration) }

func (w *world) tormentFor(duration time.Duration) {
	random := w.random("nemesis")
	var wg sync.WaitGroup
	var database sync.Mutex
	stored := w.server != nil // a fault may replace the server
	if w.fault != nil {       // at least once
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		wg.Go(func() {
			pace(own, duration/10, duration/2)
			database.Lock()
			defer database.Unlock()
			w.fault(own)
		})
	}
	for end := time.Now().Add(duration); time.Now().Before(end); {
		pace(random, 100*time.Millisecond, 900*time.Millisecond)
		if stored && random.IntN(5) == 0 && database.TryLock() {
			own := rand.New(rand.NewPCG(random.Uint64(), 0))
			wg.Go(func() {
				defer database.Unlock()
				w.hurtDatabase(own)
			})
			continue
		}
		r := w.replicas[random.IntN(len(w.replicas))]
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		if !r.fault.TryLock() {
			continue
		}
		wg.Go(func() {
			defer r.fault.Unlock()
			w.hurt(r, own)
		})
	}
	wg.Wait()
	w.did("all is well from here on")
}

// pace sleeps for a time between two.
func pace(random *rand.Rand, from, to time.Duration) time.Duration {
	d := from + time.Duration(random.Int64N(int64(to-from)))
	time.Sleep(d)
	return d
}

// hurt does something to one server.
func (w *world) hurt(r *replica, random *rand.Rand) {
	kinds := 10
	if r.network == nil {
		kinds = 6 // there is no network
	}
	switch random.IntN(kinds) {
	case 0, 1, 2:
		w.did("%s: kill -9", r.name)
		r.kill()
		pace(random, time.Millisecond, 3*w.lease/2)
		w.launch(r)
	case 3, 4:
		w.did("%s: SIGSTOP", r.name)
		r.signal(syscall.SIGSTOP)
		d := pace(random, w.lease/4, 5*w.lease/2)
		r.signal(syscall.SIGCONT)
		w.did("%s: SIGCONT after %v", r.name, d)
	case 5:
		w.did("%s: SIGTERM", r.name)
		w.did("%s: ended %v after SIGTERM", r.name, r.terminate())
		w.launch(r)
	case 6:
		w.did("%s: connections cut", r.name)
		r.network.cut()
	case 7, 8:
		w.did("%s: bad network", r.name)
		r.network.bad(true)
		d := pace(random, 100*time.Millisecond, w.lease)
		r.network.bad(false)
		w.did("%s: good network after %v, %d cuts", r.name, d, r.network.cuts())
	case 9:
		w.did("%s: no network", r.name)
		r.network.stall(true)
		d := pace(random, w.lease/4, 2*w.lease)
		r.network.stall(false)
		w.did("%s: network again after %v", r.name, d)
	}
}

func (w *world) launch(r *replica) {
	err := r.launch()
	for end := time.Now().Add(quiet); err != nil && (*long || w.slow.Load()) && time.Now().Before(end); {
		w.did("%v", err) // a server does not wait for the database forever
		err = r.launch()
	}
	if err != nil {
		w.Error(err)
		return
	}
	w.did("%s: started, at %s", r.name, r.base())
}

// hurtDatabase restarts the database, in one of the ways in which that happens.
func (w *world) hurtDatabase(random *rand.Rand) {
	if w.fault != nil && random.IntN(2) == 0 {
		w.fault(random)
		return
	}
	server, name := w.server, "Postgres"
	if w.second != nil && random.IntN(2) == 0 {
		server, name = w.second, "the second Postgres"
	}
	how := random.IntN(3)
	w.did("%s: %s", name, [...]string{"stopped", "stopped at once", "kill -9"}[how])
	switch how {
	case 0:
		server.Stop(pgtest.Fast)
	case 1:
		server.Stop(pgtest.Immediate)
	default:
		server.Kill()
	}
	if *long && random.IntN(6) == 0 {
		// Longer than anyone tries again.
		pace(random, 14*time.Second, 20*time.Second)
	} else {
		pace(random, time.Millisecond, time.Second)
	}
	if err := server.Start(w.stop); err != nil {
		w.Errorf("%s does not start: %v", name, err)
	}
	w.did("%s: started", name)
}

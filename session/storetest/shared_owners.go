package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/session"
)

// A process renews the leases of its own runs only. If it got the runs
// of another, it would believe that it had forgotten them; if it renewed their
// leases, the runs of a process that died would never be taken over.
func ownersRenew(p *place) {
	a, b := p.two()
	for _, id := range []string{"s", "t", "u"} {
		a.create(key(id), nil)
	}
	a.holds()
	s := session.Held{Key: key("s"), Run: "of-a", Epoch: a.start("of-a", key("s"))}
	t := session.Held{Key: key("t"), Run: "of-b", Epoch: b.start("of-b", key("t"))}
	u := session.Held{Key: key("u"), Run: "also-of-a", Epoch: a.start("also-of-a", key("u"))}
	b.enqueue("queued", key("s"))
	a.holds(s, u)
	b.holds(t)

	a.stop(key("t"), "of-b", session.StopCancel)
	t.Stop = session.StopCancel
	b.stop(key("s"), "of-a", session.StopRollback)
	s.Stop = session.StopRollback
	a.holds(s, u)
	b.holds(t)

	// The process that claims a run owns it, even if another one has queued it.
	a.complete(key("s"), s.Epoch)
	queued := session.Held{Key: key("s"), Run: "queued", Epoch: a.claims(key("s"), "queued")}
	b.complete(key("t"), t.Epoch)
	a.delete(key("u"))
	a.holds(queued)
	b.holds()
}

// A lease that ends further in the future than any that is granted was granted by a
// clock that was ahead. If it counted, a run whose server is gone, as after a
// restore on another machine, would wait for that time.
func ownersLeaseFromTheFuture(p *place) {
	a, b := p.as("a", 1000*time.Hour), p.as("b", time.Hour)
	a.create(key("s"), nil)
	epoch := a.start("run", key("s"))
	if got := b.idle(10); !slices.Equal(got, []string{"s"}) {
		b.Errorf("idle are %v, want s", got)
	}
	b.claims(key("s"), "run")
	a.fenced(key("s"), epoch, "after it was taken over")
	if got := a.idle(10); len(got) != 0 {
		a.Errorf("idle are %v while the lease lasts", got)
	}
	a.nothing(key("s"), "of the one that has a valid lease")
}

// While a lease lasts a run is its owner's, whatever others try.
func ownersLeaseProtects(p *place) {
	a, b := p.as("a", time.Hour), p.as("b", -1)
	a.create(key("s"), nil)
	epoch := a.start("run", key("s"))
	b.enqueue("next", key("s"))
	b.nothing(key("s"), "of another process")
	a.nothing(key("s"), "of its own process")
	if got := b.idle(10); len(got) != 0 {
		b.Errorf("idle are %v while the lease lasts", got)
	}
	b.holds()
	a.append(key("s"), epoch, say("e0"))
	b.hasLog(b.get(key("s")), say("e0"))
}

// When a lease is over, the first process that claims the run gets it. The
// previous owner may be alive and merely slow: its calls have no effect from then
// on.
func ownersLeaseOver(p *place) {
	a, b := p.as("a", -1), p.as("b", time.Hour)
	a.create(key("s"), nil)
	old := a.start("run", key("s"))
	a.note(key("s"), old, session.Journal{"n": []byte("1")}, say("e0"))
	b.enqueue("next", key("s"))
	if got := b.idle(10); !slices.Equal(got, []string{"s"}) {
		b.Errorf("idle are %v, want s", got)
	}
	begun := b.claim(key("s"))
	if begun.Run.ID != "run" || begun.Run.Attempt != 2 || begun.Run.Epoch <= old {
		b.Errorf("claimed is %+v after the epoch %d", begun.Run, old)
	}
	b.hasLog(begun.Session, say("e0"))
	b.hasJournal(begun, session.Journal{"n": []byte("1")})

	a.fenced(key("s"), old, "that another process has taken")
	a.handOver(key("s"), old)
	if _, err := a.store.End(a.Context(), key("s"), old, session.End{Status: session.Failed, Entries: number("x", 1)}); !errors.Is(err, session.ErrFenced) {
		a.Errorf("End under the old epoch: error %v, want ErrFenced", err)
	}
	a.holds()
	a.nothing(key("s"), "when the new lease lasts")
	b.holds(session.Held{Key: key("s"), Run: "run", Epoch: begun.Run.Epoch})
	b.append(key("s"), begun.Run.Epoch, say("e1"))
	b.complete(key("s"), begun.Run.Epoch)
	a.hasLog(a.get(key("s")), say("e0"), say("e1"))
	a.run(key("s"), "run", session.Completed)
}

// The owner can renew a lease that is over until another process claims the run.
// So a process that was stopped for a moment continues its runs.
func ownersRenewRevives(p *place) {
	k := p.as("a", -1)
	k.create(key("s"), nil)
	epoch := k.start("run", key("s"))
	k.close()
	// The same process, as far as the store knows, with another patience.
	a, b := p.as("a", time.Hour), p.as("b", time.Hour)
	if got := b.idle(10); !slices.Equal(got, []string{"s"}) {
		b.Errorf("idle are %v before it was renewed, want s", got)
	}
	a.holds(session.Held{Key: key("s"), Run: "run", Epoch: epoch})
	b.nothing(key("s"), "after it was renewed")
	if got := b.idle(10); len(got) != 0 {
		b.Errorf("idle are %v after it was renewed", got)
	}
	a.append(key("s"), epoch, say("e"))
}

// A process that is about to exit hands its runs over, so that others need not
// wait for the leases to end.
func ownersHandOver(p *place) {
	a, b := p.two()
	a.create(key("s"), nil)
	old := a.start("run", key("s"))
	a.note(key("s"), old, session.Journal{"n": []byte("1")}, say("e0"))
	a.handOver(key("s"), old)
	a.fenced(key("s"), old, "that was handed over")
	a.holds()
	if got := b.idle(10); !slices.Equal(got, []string{"s"}) {
		b.Errorf("idle are %v, want s", got)
	}
	begun := b.claim(key("s"))
	if begun.Run.ID != "run" || begun.Run.Attempt != 2 || begun.Run.Epoch <= old {
		b.Errorf("claimed is %+v after the epoch %d", begun.Run, old)
	}
	b.hasLog(begun.Session, say("e0"))
	b.hasJournal(begun, session.Journal{"n": []byte("1")})
	a.handOver(key("s"), old) // too late to matter
	b.append(key("s"), begun.Run.Epoch, say("e1"))
	a.nothing(key("s"), "when another process has it")
}

// All processes learn how to reach the one that works on a run, for as long as it
// does.
func ownersAddress(p *place) {
	a := p.with(session.Options{Owner: "a", Lease: time.Hour, Address: "http://a.example:8080#x y"})
	b := p.with(session.Options{Owner: "b", Lease: time.Hour, Address: "b"})
	c := p.as("c", time.Hour)
	works := func(id, want string) {
		p.Helper()
		for _, k := range []*kit{a, b, c} {
			row, err := k.store.Run(p.Context(), key("s"), id)
			if err != nil {
				p.Fatal(err)
			}
			if row.Worker != want {
				p.Errorf("%q works on %s, want %q", row.Worker, id, want)
			}
		}
	}
	a.create(key("s"), nil)
	epoch := a.start("run", key("s"))
	b.enqueue("line", key("s"))
	works("run", "http://a.example:8080#x y")
	works("line", "")
	a.holds(session.Held{Key: key("s"), Run: "run", Epoch: epoch})
	a.handOver(key("s"), epoch)
	works("run", "")
	epoch = b.claims(key("s"), "run")
	works("run", "b")
	b.holds(session.Held{Key: key("s"), Run: "run", Epoch: epoch})
	b.complete(key("s"), epoch)
	works("run", "")
	c.complete(key("s"), c.claims(key("s"), "line"))
	works("line", "")

	// A message that comes with its run takes another way in some stores.
	req := asked("with-message", key("s"))
	req.Message = say("m")
	a.begin(req)
	works("with-message", "http://a.example:8080#x y")
}

// A run knows how many processes have died while they worked on it. One that
// handed it over, one that was only slow, and the one that takes its own run
// again have not died.
func ownersDeaths(p *place) {
	a, b, c := p.as("a", -1), p.as("b", -1), p.as("c", -1)
	claim := func(k *kit, want int, when string) {
		k.Helper()
		if got := k.claim(key("s")); got.Run.ID != "run" || got.Deaths != want {
			k.Errorf("%s: %s has %d deaths, want %d", when, got.Run.ID, got.Deaths, want)
		}
	}
	a.create(key("s"), nil)
	a.start("run", key("s"))
	a.enqueue("line", key("s"))
	claim(a, 0, "claimed by its owner")
	claim(b, 1, "claimed from a")
	claim(c, 2, "claimed from b")
	claim(b, 3, "claimed from c, which was handed nothing")
	a.holds()
	claim(b, 2, "after a was found to live")
	b.handOver(key("s"), b.run(key("s"), "run", session.Running).Epoch)
	claim(c, 2, "after b has handed it over")
	b.holds()
	claim(a, 1, "after b was found to live")
	a.complete(key("s"), a.run(key("s"), "run", session.Running).Epoch)
	if got := b.claim(key("s")); got.Run.ID != "line" || got.Deaths != 0 {
		b.Errorf("the next run, %s, has %d deaths", got.Run.ID, got.Deaths)
	}
}

// There is one line for a session, not one for each process.
func ownersLine(p *place) {
	a, b := p.two()
	a.create(key("s"), nil)
	epoch := a.start("0", key("s"))
	for i := 1; i <= 6; i++ {
		[]*kit{a, b}[i%2].enqueue(fmt.Sprint(i), key("s"))
	}
	a.hasRuns(key("s"), "6", "5", "4", "3", "2", "1", "0")
	b.hasRuns(key("s"), "6", "5", "4", "3", "2", "1", "0")
	last := a
	for i := 1; i <= 6; i++ {
		if !last.complete(key("s"), epoch) {
			p.Errorf("End does not report that %d is queued", i)
		}
		last = []*kit{b, a, a}[i%3]
		epoch = last.claims(key("s"), fmt.Sprint(i))
	}
	if last.complete(key("s"), epoch) {
		p.Error("End reports that others are queued, and none is")
	}
	a.nothing(key("s"), "at the end of the queue")
	b.nothing(key("s"), "at the end of the queue")
}

// Any process may receive the request to stop a run; the run's owner gets it.
func ownersStop(p *place) {
	a, b := p.two()
	a.create(key("s"), nil)
	epoch := a.start("run", key("s"))
	a.enqueue("one", key("s"))
	a.enqueue("two", key("s"))
	b.stop(key("s"), "one", session.StopCancel)
	a.run(key("s"), "one", session.Cancelled)
	if r := b.stop(key("s"), "run", session.StopCancel); r.Status != session.Running || r.Stop != session.StopCancel {
		b.Errorf("the run that was asked to end is %+v", r)
	}
	if r := a.run(key("s"), "run", session.Running); r.Stop != session.StopCancel {
		a.Errorf("the run that was asked to end is %+v", r)
	}
	a.holds(session.Held{Key: key("s"), Run: "run", Epoch: epoch, Stop: session.StopCancel})

	// The process that takes the run over gets it, too.
	a.handOver(key("s"), epoch)
	begun := b.claim(key("s"))
	if begun.Run.Stop != session.StopCancel {
		b.Errorf("the run that was taken over is %+v: it should end", begun.Run)
	}
	b.end(key("s"), begun.Run.Epoch, session.End{Status: session.Cancelled})
	a.run(key("s"), "run", session.Cancelled)
	a.claims(key("s"), "two")
}

// The same with the request that comes with another run.
func ownersInterrupt(p *place) {
	for i, policy := range []session.Policy{session.Interrupt, session.Rollback} {
		a, b := p.as(fmt.Sprint("a", i), time.Hour), p.as(fmt.Sprint("b", i), time.Hour)
		how := []session.Stop{session.StopCancel, session.StopRollback}[i]
		s := key(string(policy))
		a.create(s, nil)
		run, line, next := "run-"+s.ID, "line-"+s.ID, "next-"+s.ID
		epoch := a.start(run, s)
		a.enqueue(line, s)
		req := asked(next, s)
		req.Busy = policy
		b.queued(b.begin(req))
		a.holds(session.Held{Key: s, Run: run, Epoch: epoch, Stop: how})
		a.run(s, line, session.Cancelled)
		a.end(s, epoch, session.End{Status: session.Cancelled})
		b.claims(s, next)
	}
}

// A process that claims a run of another process gets its request, byte for byte.
func ownersRequest(p *place) {
	a, b := p.two()
	a.create(key("s"), nil)
	for i, text := range []string{`{"b":1.0,"a":"\u0000"}`, "\x00\xff no text", strings.Repeat("x", 1<<20)} {
		running, line := asked(fmt.Sprint("running", i), key("s")), asked(fmt.Sprint("line", i), key("s"))
		running.Request = func() ([]byte, error) { return []byte("R" + text), nil }
		line.Request = func() ([]byte, error) { return []byte("L" + text), nil }
		epoch := a.begin(running).Run.Epoch
		a.queued(a.begin(line))
		a.handOver(key("s"), epoch)
		for _, want := range []string{"R" + text, "L" + text} {
			begun := b.claim(key("s"))
			if got := string(begun.Run.Request); got != want {
				b.Errorf("the request of %s is %q, want %q", begun.Run.ID, clip([]byte(got)), clip([]byte(want)))
			}
			b.complete(key("s"), begun.Run.Epoch)
		}
	}
}

// A run whose request cannot be kept could not be done by another process. It
// is refused, and there never was one.
func ownersRequestFails(p *place) {
	a, b := p.two()
	a.create(key("s"), nil, say("e0"))
	before := look(a.get(key("s")))
	broken := errors.New("broken")
	refuse := func(busy session.Policy) {
		p.Helper()
		req := keyed("run", key("s"), "key", "print")
		req.Busy, req.Message = busy, say("m")
		req.Request = func() ([]byte, error) { return nil, broken }
		if _, err := a.store.Begin(a.Context(), req); !errors.Is(err, broken) {
			p.Fatalf("Begin: error %v, want that of the request", err)
		}
		b.noRun(key("s"), "run")
		b.same("after a request that could not be made", before, look(b.get(key("s"))))
	}
	refuse(session.Enqueue)
	b.nothing(key("s"), "after a request that could not be made")
	epoch := b.start("other", key("s"))
	refuse(session.Enqueue)
	refuse(session.Interrupt)
	b.holds(session.Held{Key: key("s"), Run: "other", Epoch: epoch}) // it was not asked to stop
	if b.complete(key("s"), epoch) {
		p.Error("something is queued")
	}
	if begun := b.begin(keyed("again", key("s"), "key", "another print")); begun.Repeat {
		p.Error("the idempotency key was used up")
	}
}

// A client that got no answer asks another process. The request is the same.
func ownersSameKey(p *place) {
	const tries = 10
	a, b := p.two()
	for round := range 5 {
		s := key(fmt.Sprint("s", round))
		a.create(s, nil)
		begun := make([]*session.Begun, 2*tries)
		a.together(len(begun), func(i int) (err error) {
			req := keyed(fmt.Sprintf("run-%d-%d", round, i), s, "key", "print")
			req.Message = say(fmt.Sprint("m", i))
			begun[i], err = []*kit{a, b}[i%2].store.Begin(p.Context(), req)
			return err
		})
		a.oneOf(s, begun)
	}
}

// Of runs with one id one begins, regardless of the process.
func ownersSameID(p *place) {
	const tries = 10
	a, b := p.two()
	for round := range 5 {
		s := key(fmt.Sprint("s", round))
		a.create(s, nil)
		begun := make(chan *session.Begun, tries)
		a.together(tries, func(i int) error {
			req := asked("run", s)
			req.Message = say(fmt.Sprint("m", i))
			got, err := []*kit{a, b}[i%2].store.Begin(p.Context(), req)
			if err == nil {
				begun <- got
			} else if !errors.Is(err, session.ErrRunExists) {
				return fmt.Errorf("begin %d: error %w, want ErrRunExists", i, err)
			}
			return nil
		})
		if len(begun) != 1 {
			p.Fatalf("%d of %d runs with one id began, want 1", len(begun), tries)
		}
		if got := <-begun; got.Session == nil || got.Run.Status != session.Running {
			p.Fatalf("the run is %+v", got.Run)
		}
		if got := b.get(s); got.Seq != 1 {
			p.Errorf("the log has %d entries, want the message of the one run", got.Seq)
		}
		b.hasRuns(s, "run")
	}
}

// Of creates with one key one wins, regardless of the process.
func ownersCreate(p *place) {
	const clients = 10
	a, b := p.two()
	for round := range 20 {
		key := session.Key{App: fmt.Sprint("app", round), User: "user", ID: "s"}
		winners := make(chan int, clients)
		a.together(clients, func(i int) error {
			n := fmt.Sprint(i)
			_, err := []*kit{a, b}[i%2].store.Create(p.Context(), key, state("winner", n, "user:by"+n, n, "app:by"+n, n), []*session.Entry{say("e" + n)})
			if err == nil {
				winners <- i
			} else if !errors.Is(err, session.ErrExists) {
				return fmt.Errorf("create %d: error %w, want ErrExists", i, err)
			}
			return nil
		})
		if len(winners) != 1 {
			p.Fatalf("%d of %d creates won, want 1", len(winners), clients)
		}
		n := fmt.Sprint(<-winners)
		for _, k := range []*kit{a, b} {
			s := k.get(key)
			k.hasState(s, "winner", n, "user:by"+n, n, "app:by"+n, n)
			k.hasLog(s, say("e"+n))
		}
	}
}

// Processes that write to different sessions do not wait for each other for
// long, and not at all in a circle.
func ownersAppend(p *place) {
	const writers, appends = 5, 30
	a, b := p.two()
	id := func(i int) session.Key { return key(fmt.Sprint("s", i)) }
	for i := range 2 * writers {
		a.create(id(i), nil)
	}
	a.together(2*writers, func(i int) error {
		k := []*kit{a, b}[i%2]
		begun, err := k.store.Begin(p.Context(), asked(fmt.Sprint("run", i), id(i)))
		for n := 0; n < appends && err == nil; n++ {
			e := set(fmt.Sprint("e", n), fmt.Sprint("user:k", i), fmt.Sprint(n), fmt.Sprint("app:k", i), fmt.Sprint(n))
			err = k.store.Append(p.Context(), id(i), begun.Run.Epoch, e, say(fmt.Sprint("f", n)))
		}
		if err == nil {
			_, err = k.store.End(p.Context(), id(i), begun.Run.Epoch, session.End{Status: session.Completed})
		}
		return err
	})
	var want []string
	for i := range 2 * writers {
		want = append(want, fmt.Sprint("user:k", i), fmt.Sprint(appends-1), fmt.Sprint("app:k", i), fmt.Sprint(appends-1))
	}
	for i := range 2 * writers {
		k := []*kit{b, a}[i%2] // who has not written it
		s := k.get(id(i))
		if ids := k.dense(s); len(ids) != 2*appends {
			k.Errorf("%v has %d entries, want %d", s.Key, len(ids), 2*appends)
		}
		k.hasState(s, want...)
	}
}

// What one process has stored the other one reads at once: the next request of
// a client may go there.
func ownersSharedState(p *place) {
	a, b := p.two()
	a.create(key("s"), state("user:a", "0", "app:a", "0"))
	b.create(key("t"), nil)
	for i := range 20 {
		n := fmt.Sprint(i)
		a.patch(key("s"), set("e"+n, "own", n, "user:a", n, "app:a", n))
		b.hasState(b.get(key("t")), "user:a", n, "app:a", n)
		b.hasState(b.get(key("s")), "own", n, "user:a", n, "app:a", n)
		b.hasState(b.listed("s"), "own", n, "user:a", n, "app:a", n)
		if s := b.read(key("s"), session.Read{After: int64(i)}); s.Seq != int64(i)+1 || len(s.Entries) != 1 {
			b.Errorf("after %d patches Seq is %d, and %d entries are new", i+1, s.Seq, len(s.Entries))
		}
	}
}

// Two processes take a session from each other, each as soon as it can: the one
// that gets it has read everything that the other has written.
func ownersFenced(p *place) {
	const rounds, most = 20, 100
	a, b := p.as("a", -1), p.as("b", -1)
	a.create(key("s"), nil)
	a.together(2, func(i int) error {
		k := []*kit{a, b}[i]
		for range rounds {
			shown, epoch, err := k.store.Acquire(p.Context(), key("s"))
			if err != nil {
				return err
			}
			for n := range most {
				e := say(fmt.Sprint(epoch, "-", n))
				if err = k.store.Append(p.Context(), key("s"), epoch, e); err != nil {
					break
				}
				if e.Seq != shown.Seq+int64(n)+1 {
					return fmt.Errorf("entry %d of epoch %d has the sequence %d; the log ended at %d", n, epoch, e.Seq, shown.Seq)
				}
			}
			if err != nil && !errors.Is(err, session.ErrFenced) {
				return err
			}
		}
		return nil
	})
	a.dense(a.get(key("s")))
}

// A session that one process deletes is gone for the other, with its runs.
func ownersDelete(p *place) {
	a, b := p.two()
	made := a.create(key("s"), nil, say("e0"))
	epoch := b.start("run", key("s"))
	b.enqueue("line", key("s"))
	b.get(key("s"))
	a.delete(key("s"))
	b.missing(key("s"))
	b.fenced(key("s"), epoch, "of a session that was deleted elsewhere")
	b.holds()
	again := a.create(key("s"), nil, say("new"), say("new1"))
	b.fenced(key("s"), epoch, "of a session that was deleted and made again elsewhere")
	b.hasRuns(key("s"))
	b.hasLog(b.read(key("s"), session.Read{After: 1, Of: made.Ordinal}), say("new"), say("new1"))
	b.hasEntries(b.read(key("s"), session.Read{After: 1, Of: again.Ordinal}), 1, []*session.Entry{say("new1")})
	b.start("later", key("s"))
}

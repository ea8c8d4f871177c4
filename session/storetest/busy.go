package storetest

import (
	"errors"
	"fmt"

	"github.com/parley-run/parley/session"
)

// A run that waits has no part in the session yet: its message would be in the
// middle of the answer to another one.
func busyEnqueue(k *kit) {
	k.create(key("s"), nil, say("e0"))
	epoch := k.start("0", key("s"))
	before := look(k.get(key("s")))
	for i := 1; i <= 4; i++ {
		req := asked(fmt.Sprint(i), key("s"))
		req.Message = set(fmt.Sprint("m", i), "a", "1")
		r := k.queued(k.begin(req))
		if req.Message.Seq != 0 {
			k.Errorf("the message of a queued run has the sequence %d", req.Message.Seq)
		}
		k.sameRun("what Run answers", r, k.run(key("s"), r.ID, session.Queued))
	}
	k.same("after others are queued", before, look(k.get(key("s"))))
	k.hasRuns(key("s"), "4", "3", "2", "1", "0")

	for i := 1; i <= 4; i++ {
		k.append(key("s"), epoch, say(fmt.Sprint("answer", i)))
		if !k.complete(key("s"), epoch) {
			k.Errorf("End does not report that %d is queued", i)
		}
		// The queue counts between two runs, too: a new run comes last.
		if i == 2 {
			k.enqueue("late", key("s"))
		}
		begun := k.claim(key("s"))
		if begun.Run.ID != fmt.Sprint(i) || begun.Run.Attempt != 1 || begun.Session.Seq != int64(i)+1 {
			k.Errorf("claimed is %+v with %d entries, want %d", begun.Run, begun.Session.Seq, i)
		}
		epoch = begun.Run.Epoch
	}
	k.complete(key("s"), epoch)
	k.claims(key("s"), "late")
}

// A caller that does not wait gets the run that it would have to wait for, and
// nothing is stored.
func busyReject(k *kit) {
	k.create(key("s"), nil, say("e0"))
	epoch := k.start("running", key("s"))
	k.enqueue("line", key("s"))
	before := look(k.get(key("s")))
	req := keyed("refused", key("s"), "key", "print")
	req.Busy, req.Message = session.Reject, set("m", "a", "1", "user:a", "1")
	refused := func() string {
		k.Helper()
		found, foreseen := k.store.Look(k.Context(), req)
		begun, err := k.store.Begin(k.Context(), req)
		busy, ok := errors.AsType[*session.BusyError](err)
		if same, sure := errors.AsType[*session.BusyError](foreseen); found != nil || !sure || ok && *same != *busy {
			k.Errorf("Look: %+v, error %v, and Begin says %v", found, foreseen, err)
		}
		if !ok || begun != nil {
			k.Fatalf("Begin: %+v, error %v, want a BusyError", begun, err)
		}
		return busy.Run
	}
	if run := refused(); run != "running" {
		k.Errorf("the session is busy with %q, want running", run)
	}
	k.noRun(key("s"), "refused")
	k.same("after a run was refused", before, look(k.get(key("s"))))
	if req.Message.Seq != 0 {
		k.Errorf("the message of a run that was refused has the sequence %d", req.Message.Seq)
	}
	k.holds(session.Held{Key: key("s"), Run: "running", Epoch: epoch})

	// A session with a queued run is not free.
	k.complete(key("s"), epoch)
	if run := refused(); run != "line" {
		k.Errorf("the session is busy with %q, want line", run)
	}
	k.complete(key("s"), k.claims(key("s"), "line"))
	if found, err := k.store.Look(k.Context(), req); found != nil || err != nil {
		k.Errorf("Look at a free session: %+v, error %v", found, err)
	}
	if found, err := k.store.Look(k.Context(), asked("refused", key("none"))); found != nil || !errors.Is(err, session.ErrNotFound) {
		k.Errorf("Look at no session: %+v, error %v", found, err)
	}
	begun := k.begin(req) // which is the first with that idempotency key
	if begun.Repeat || begun.Session == nil {
		k.Errorf("the session is free, and the run is %+v", begun.Run)
	}
}

// A new message may make all that came before it pointless: what is running is
// asked to end, in the way that was wanted, and queued runs never begin.
func busyInterrupt(k *kit) {
	for policy, how := range map[session.Policy]session.Stop{session.Interrupt: session.StopCancel, session.Rollback: session.StopRollback} {
		name := func(id string) string { return string(policy) + "-" + id }
		s, sibling := key(name("s")), key(name("sibling"))
		k.create(s, nil)
		k.create(sibling, nil)
		epoch := k.start(name("running"), s)
		k.append(s, epoch, say("e0"))
		k.enqueue(name("one"), s)
		k.enqueue(name("two"), s)
		other := k.start(name("other"), sibling)
		k.enqueue(name("other-line"), sibling)
		before := look(k.get(s))

		req := asked(name("next"), s)
		req.Busy, req.Message = policy, say("m")
		k.queued(k.begin(req))
		k.same("after another run wants to be first", before, look(k.get(s)))
		if r := k.run(s, name("running"), session.Running); r.Stop != how || r.Epoch != epoch {
			k.Errorf("%s: the run that was interrupted is %+v", policy, r)
		}
		for _, id := range []string{"one", "two"} {
			if r := k.run(s, name(id), session.Cancelled); r.Epoch != 0 || r.First != 0 {
				k.Errorf("%s: the run that never began is %+v", policy, r)
			}
		}
		k.run(s, name("next"), session.Queued)

		// It is for its owner to end, and may have something to say.
		k.append(s, epoch, say("e1"))
		if !k.end(s, epoch, session.End{Status: session.Cancelled, Entries: number("last", 1)}) {
			k.Errorf("%s: End does not report that the new run is queued", policy)
		}
		next := k.claims(s, name("next"))
		if r := k.run(s, name("next"), session.Running); r.Stop != session.StopNot {
			k.Errorf("%s: the new run itself was asked to end: %+v", policy, r)
		}
		k.complete(s, next)
		k.nothing(s, "when all have ended")

		// Other sessions have nothing to do with it.
		if r := k.run(sibling, name("other"), session.Running); r.Stop != session.StopNot || r.Epoch != other {
			k.Errorf("%s: the run of another session is %+v", policy, r)
		}
		k.complete(sibling, other)
		k.claims(sibling, name("other-line"))
	}
}

// The same when no run is running: the new run replaces the whole queue, and can
// be claimed.
func busyInterruptLine(k *kit) {
	for _, policy := range []session.Policy{session.Interrupt, session.Rollback} {
		name := func(id string) string { return string(policy) + "-" + id }
		s := key(string(policy))
		k.create(s, nil)
		epoch := k.start(name("running"), s)
		k.enqueue(name("line"), s)
		k.complete(s, epoch)
		req := asked(name("next"), s)
		req.Busy = policy
		begun := k.begin(req)
		k.run(s, name("line"), session.Cancelled)
		if begun.Session == nil {
			k.claims(s, name("next"))
		}
		k.run(s, name("running"), session.Completed)
		k.run(s, name("next"), session.Running)
		k.nothing(s, "when the new run has it")
	}
}

// A free session has nothing to stop.
func busyFree(k *kit) {
	for _, policy := range []session.Policy{session.Enqueue, session.Reject, session.Interrupt, session.Rollback} {
		s := key(string(policy))
		k.create(s, nil)
		for i := range 2 {
			req := asked(fmt.Sprint(policy, i), s)
			req.Busy = policy
			begun := k.begin(req)
			if begun.Session == nil || begun.Run.Status != session.Running || begun.Run.Stop != session.StopNot {
				k.Fatalf("%s: the session is free, and the run is %+v", policy, begun.Run)
			}
			k.complete(s, begun.Run.Epoch)
		}
	}
}

// A run whose lease is over is still not over. It is there to be claimed, and
// the next one does not begin beside it.
func busyLeaseOver(k *kit) {
	k.create(key("s"), nil)
	epoch := k.start("running", key("s"))
	k.enqueue("line", key("s"))
	req := asked("refused", key("s"))
	req.Busy = session.Reject
	if _, err := k.store.Begin(k.Context(), req); !isBusy(err, "running") {
		k.Errorf("Begin: error %v, want a BusyError", err)
	}
	k.append(key("s"), epoch, say("e")) // until another process claims it
	k.complete(key("s"), epoch)
	k.claims(key("s"), "line")
}

func isBusy(err error, run string) bool {
	busy, ok := errors.AsType[*session.BusyError](err)
	return ok && busy.Run == run
}

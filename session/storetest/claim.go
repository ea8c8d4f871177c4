package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/session"
)

// A run with a valid lease cannot be claimed, nor can the runs queued behind it:
// two agents would answer at once.
func claimHeld(k *kit) {
	k.create(key("s"), nil)
	k.nothing(key("s"), "of a session without runs")
	epoch := k.start("run", key("s"))
	k.enqueue("line", key("s"))
	k.nothing(key("s"), "while the lease lasts")
	k.append(key("s"), epoch, say("e"))
	k.nothing(key("s"), "after an append")
	k.holds(session.Held{Key: key("s"), Run: "run", Epoch: epoch})
	k.nothing(key("s"), "after the lease was renewed")
	k.complete(key("s"), epoch)
	epoch = k.claims(key("s"), "line")
	k.nothing(key("s"), "after it was claimed")
	k.complete(key("s"), epoch)
	k.nothing(key("s"), "when all have ended")
}

// A claim needs a session.
func claimMissing(k *kit) {
	k.create(key("s"), nil)
	k.start("run", key("s"))
	k.enqueue("line", key("s"))
	k.delete(key("s"))
	for _, id := range []string{"s", "never"} {
		if _, err := k.store.Claim(k.Context(), key(id), session.Read{}); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("Claim(%s): error %v, want ErrNotFound", id, err)
		}
	}
	if got := k.idle(10); len(got) != 0 {
		k.Errorf("idle are %v, which are not there", got)
	}
}

// When a lease is over, any process can claim the run as it is: its log, its
// journal and its request. The previous owner may be alive: none of its calls has
// an effect any more.
func claimTakeover(k *kit) {
	k.create(key("s"), state("a", "1"), say("e0"))
	req := asked("run", key("s"))
	req.Message = say("m")
	first := k.begin(req).Run
	k.enqueue("line", key("s"))
	k.note(key("s"), first.Epoch, session.Journal{"n": []byte("1")}, set("e1", "a", "2"))
	k.patch(key("s"), say("patch"))
	k.stop(key("s"), "run", session.StopCancel)
	if got := k.idle(10); !slices.Equal(got, []string{"s"}) {
		k.Errorf("idle are %v, want s", got)
	}

	before := look(k.get(key("s")))
	begun := k.claim(key("s"))
	r := begun.Run
	if r.ID != "run" || r.Epoch <= first.Epoch || r.Attempt != 2 || r.Number != first.Number || r.First != 2 || r.Stop != session.StopCancel || !r.Created.Equal(first.Created) {
		k.Errorf("%+v was taken over as %+v", first, r)
	}
	k.sameRun("what Run answers", r, k.run(key("s"), "run", session.Running))
	k.same("what the new one is given", before, look(begun.Session))
	k.hasJournal(begun, session.Journal{"n": []byte("1")})
	k.hasLog(begun.Session, say("e0"), say("m"), set("e1", "a", "2"), say("patch"))

	k.fenced(key("s"), first.Epoch, "after it was taken over")
	k.endFenced(key("s"), first.Epoch, "after it was taken over")
	k.handOver(key("s"), first.Epoch) // which does nothing
	k.same("after all that the old one tried", before, look(k.get(key("s"))))
	k.append(key("s"), r.Epoch, say("e2"))

	// And so on.
	third := k.claim(key("s"))
	if third.Run.ID != "run" || third.Run.Attempt != 3 || third.Run.Epoch <= r.Epoch {
		k.Errorf("%+v was taken over as %+v", r, third.Run)
	}
	k.fenced(key("s"), r.Epoch, "after it was taken over")
	k.complete(key("s"), third.Run.Epoch)
	k.claims(key("s"), "line")
}

// endFenced wants the end of a run to be refused, whatever kind of an end it is.
func (k *kit) endFenced(key session.Key, epoch int64, when string) {
	k.Helper()
	for _, end := range []session.End{{Status: session.Failed, Entries: number("intruder", 1)}, {Discard: true}} {
		if _, err := k.store.End(k.Context(), key, epoch, end); !errors.Is(err, session.ErrFenced) {
			k.Errorf("End under epoch %d %s: error %v, want ErrFenced", epoch, when, err)
		}
	}
}

// Of many who want a run that was left behind one gets it.
func claimTogether(k *kit) {
	const many = 20
	k.create(key("s"), nil)
	epoch := k.start("run", key("s"))
	for round := range 5 {
		if round%2 == 0 {
			k.handOver(key("s"), epoch)
		} else {
			k.enqueue(fmt.Sprint("line", round), key("s"))
			k.complete(key("s"), epoch)
		}
		winners := make(chan int64, many)
		k.together(many, func(int) error {
			begun, err := k.store.Claim(k.Context(), key("s"), session.Read{})
			if err == nil {
				winners <- begun.Run.Epoch
			} else if !errors.Is(err, session.ErrIdle) {
				return fmt.Errorf("claim: error %w, want ErrIdle", err)
			}
			return nil
		})
		if len(winners) != 1 {
			k.Fatalf("%d of %d claims got the run, want 1", len(winners), many)
		}
		epoch = <-winners
		k.append(key("s"), epoch, say(fmt.Sprint("e", round)))
	}
}

// Idle finds all sessions with a run to claim, and no others. A run that it
// misses waits until the next request to its session, and a session without such
// a run would be found again forever.
func idleFinds(k *kit) {
	for _, id := range []string{"free", "busy", "busy-line", "left", "left-line", "line", "over", "stopped", "deleted", "discarded"} {
		k.create(key(id), nil)
	}
	k.start("busy", key("busy"))
	k.start("busy-line-0", key("busy-line"))
	k.enqueue("busy-line-1", key("busy-line"))
	k.handOver(key("left"), k.start("left", key("left")))
	epoch := k.start("left-line-0", key("left-line"))
	k.enqueue("left-line-1", key("left-line"))
	k.handOver(key("left-line"), epoch)
	epoch = k.start("line-0", key("line"))
	k.enqueue("line-1", key("line"))
	k.enqueue("line-2", key("line"))
	k.complete(key("line"), epoch)
	k.complete(key("over"), k.start("over", key("over")))
	epoch = k.start("stopped-0", key("stopped"))
	k.enqueue("stopped-1", key("stopped"))
	k.complete(key("stopped"), epoch)
	k.stop(key("stopped"), "stopped-1", session.StopCancel)
	k.handOver(key("deleted"), k.start("deleted", key("deleted")))
	k.delete(key("deleted"))
	k.end(key("discarded"), k.start("discarded", key("discarded")), session.End{Discard: true})

	want := []string{"left", "left-line", "line"}
	for range 2 { // looking changes nothing
		if got := k.idle(100); !slices.Equal(got, want) {
			k.Errorf("idle are %v, want %v", got, want)
		}
	}
	for limit := 1; limit <= 4; limit++ {
		got := k.idle(limit)
		if len(got) != min(limit, len(want)) || len(slices.Compact(slices.Clone(got))) != len(got) {
			k.Errorf("of %v no more than %d are %v", want, limit, got)
		}
		for _, id := range got {
			if !slices.Contains(want, id) {
				k.Errorf("%s is idle", id)
			}
		}
	}
	// Each is found until it was claimed.
	for i, id := range want {
		k.claim(key(id))
		if got := k.idle(100); !slices.Equal(got, want[i+1:]) {
			k.Errorf("after %s was claimed idle are %v, want %v", id, got, want[i+1:])
		}
	}
}

// All runs whose leases are over are found, whatever is queued behind them.
func idleLeaseOver(k *kit) {
	var want []string
	for i := range 5 {
		id := fmt.Sprint("s", i)
		k.create(key(id), nil)
		epoch := k.start("run-"+id, key(id))
		if i%2 == 0 {
			k.enqueue("line-"+id, key(id))
		}
		if i == 3 {
			k.complete(key(id), epoch)
			continue
		}
		want = append(want, id)
	}
	if got := k.idle(100); !slices.Equal(got, want) {
		k.Errorf("idle are %v, want %v", got, want)
	}
	for _, id := range want {
		k.claims(key(id), "run-"+id)
	}
}

// Who hands a run over has done with it. It stays where it is, in front of the
// line, for anyone.
func handOver(k *kit) {
	k.create(key("s"), nil)
	epoch := k.start("run", key("s"))
	k.enqueue("line", key("s"))
	k.note(key("s"), epoch, session.Journal{"n": []byte("1")}, say("e0"))
	for _, wrong := range []int64{0, -1, epoch + 1} {
		k.handOver(key("s"), wrong)
	}
	k.handOver(key("never"), epoch)
	k.nothing(key("s"), "after it was handed over under wrong epochs")
	before := look(k.get(key("s")))

	k.handOver(key("s"), epoch)
	k.handOver(key("s"), epoch) // twice is as good as once
	k.same("after it was handed over", before, look(k.get(key("s"))))
	k.run(key("s"), "run", session.Running)
	k.fenced(key("s"), epoch, "after it was handed over")
	k.endFenced(key("s"), epoch, "after it was handed over")
	k.holds() // it has no owner
	req := asked("refused", key("s"))
	req.Busy = session.Reject
	if _, err := k.store.Begin(k.Context(), req); !isBusy(err, "run") {
		k.Errorf("Begin: error %v, want a BusyError", err)
	}

	begun := k.claim(key("s"))
	if begun.Run.ID != "run" || begun.Run.Attempt != 2 || begun.Run.Epoch <= epoch || begun.Run.First != 1 {
		k.Errorf("claimed is %+v", begun.Run)
	}
	k.hasJournal(begun, session.Journal{"n": []byte("1")})
	k.hasLog(begun.Session, say("e0"))
	k.handOver(key("s"), epoch) // the old one again
	k.nothing(key("s"), "that another one has")
	k.holds(session.Held{Key: key("s"), Run: "run", Epoch: begun.Run.Epoch})
	k.complete(key("s"), begun.Run.Epoch)
	k.handOver(key("s"), begun.Run.Epoch)
	k.claims(key("s"), "line")
}

// CountQueued counts the queued runs of all sessions, and no others.
func countQueued(k *kit) {
	want := func(when string, n int64) {
		k.Helper()
		if got, err := k.store.CountQueued(k.Context()); err != nil || got != n {
			k.Errorf("%s, %d are queued (error %v), want %d", when, got, err, n)
		}
	}
	k.create(key("a"), nil)
	k.create(key("b"), nil)
	want("at first", 0)
	epoch := k.start("a-0", key("a"))
	k.start("b-0", key("b"))
	want("with two running", 0)
	k.enqueue("a-1", key("a"))
	k.enqueue("a-2", key("a"))
	k.enqueue("b-1", key("b"))
	want("with three queued", 3)
	k.stop(key("a"), "a-2", session.StopCancel)
	want("after one was cancelled", 2)
	k.complete(key("a"), epoch)
	want("before the next one is claimed", 2)
	k.delete(key("b"))
	want("after a session was deleted", 1)
}

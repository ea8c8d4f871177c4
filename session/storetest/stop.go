package storetest

import (
	"errors"
	"slices"

	"github.com/parley-run/parley/session"
)

// Who has changed their mind before their turn came is not kept waiting, and
// the others move up.
func stopQueued(k *kit) {
	k.create(key("s"), nil)
	epoch := k.start("0", key("s"))
	for _, id := range []string{"1", "2", "3", "4"} {
		k.enqueue(id, key("s"))
	}
	before := look(k.get(key("s")))
	for _, id := range []string{"1", "3"} {
		r := k.stop(key("s"), id, session.StopCancel)
		if r.Status != session.Cancelled || r.Epoch != 0 || r.First != 0 {
			k.Errorf("a run that was queued is %+v", r)
		}
		k.sameRun("what Run answers", r, k.run(key("s"), id, session.Cancelled))
	}
	k.same("after queued runs were stopped", before, look(k.get(key("s"))))
	k.hasRuns(key("s"), "4", "3", "2", "1", "0")
	k.holds(session.Held{Key: key("s"), Run: "0", Epoch: epoch})
	for _, id := range []string{"2", "4"} {
		if !k.complete(key("s"), epoch) {
			k.Errorf("End does not report that %s is queued", id)
		}
		epoch = k.claims(key("s"), id)
	}
	k.enqueue("5", key("s"))
	k.stop(key("s"), "5", session.StopRollback)
	if k.complete(key("s"), epoch) {
		k.Error("End reports that others are queued, and all of them were stopped")
	}
	k.nothing(key("s"), "when all have ended")
	k.start("6", key("s"))
}

// A run that is in progress is asked to end, repeatedly if necessary; only its owner
// can end it.
func stopRunning(k *kit) {
	k.create(key("s"), nil)
	k.create(key("t"), nil)
	epoch := k.start("run", key("s"))
	other := k.start("other", key("t"))
	k.enqueue("line", key("s"))
	for _, how := range []session.Stop{session.StopCancel, session.StopCancel, session.StopRollback} {
		r := k.stop(key("s"), "run", how)
		if r.Status != session.Running || r.Stop != how || r.Epoch != epoch || !r.Ended.IsZero() {
			k.Errorf("a run that was asked to end is %+v", r)
		}
		k.sameRun("what Run answers", r, k.run(key("s"), "run", session.Running))
		k.holds(session.Held{Key: key("s"), Run: "run", Epoch: epoch, Stop: how}, session.Held{Key: key("t"), Run: "other", Epoch: other})
	}
	k.nothing(key("s"), "that was asked to end")
	k.run(key("s"), "line", session.Queued)
	k.append(key("s"), epoch, say("e"))
	k.end(key("s"), epoch, session.End{Status: session.Completed}) // it may have been quicker
	k.run(key("s"), "run", session.Completed)
	k.holds(session.Held{Key: key("t"), Run: "other", Epoch: other})
	k.claims(key("s"), "line")
	if r := k.run(key("s"), "line", session.Running); r.Stop != session.StopNot {
		k.Errorf("the next run was asked to end, too: %+v", r)
	}
}

// A request to stop outlives the owner that first received it.
func stopHandedOver(k *kit) {
	k.create(key("s"), nil)
	epoch := k.start("run", key("s"))
	k.handOver(key("s"), epoch)
	if r := k.stop(key("s"), "run", session.StopCancel); r.Status != session.Running || r.Stop != session.StopCancel {
		k.Errorf("a run without an owner is %+v after it was asked to end", r)
	}
	begun := k.claim(key("s"))
	if begun.Run.Stop != session.StopCancel {
		k.Errorf("claimed is %+v, which should end", begun.Run)
	}
	k.holds(session.Held{Key: key("s"), Run: "run", Epoch: begun.Run.Epoch, Stop: session.StopCancel})
}

// What has ended stays as it has.
func stopEnded(k *kit) {
	k.create(key("s"), nil)
	for _, status := range []session.Status{session.Completed, session.Failed, session.Cancelled, session.Waiting} {
		id := string(status)
		k.end(key("s"), k.start(id, key("s")), session.End{Status: status})
		want := k.run(key("s"), id, status)
		k.sameRun("what StopRun answers", want, k.stop(key("s"), id, session.StopCancel))
		k.sameRun("what Run answers", want, k.run(key("s"), id, status))
	}
	k.holds()
}

// A run is found in its own session.
func stopMissing(k *kit) {
	k.create(key("s"), nil)
	k.create(key("t"), nil)
	k.start("run", key("t"))
	for _, id := range []string{"run", "never", ""} {
		if r, err := k.store.StopRun(k.Context(), key("s"), id, session.StopCancel); !errors.Is(err, session.ErrRunNotFound) {
			k.Errorf("StopRun(%q): %+v, error %v, want ErrRunNotFound", id, r, err)
		}
		k.noRun(key("s"), id)
	}
	if r := k.run(key("t"), "run", session.Running); r.Stop != session.StopNot {
		k.Errorf("the run of another session is %+v", r)
	}
	for _, s := range []session.Key{key("never"), {App: "app", User: "other", ID: "t"}, {App: "other", User: "user", ID: "t"}} {
		if _, err := k.store.StopRun(k.Context(), s, "run", session.StopCancel); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("StopRun in %v: error %v, want ErrNotFound", s, err)
		}
		if _, err := k.store.Run(k.Context(), s, "run"); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("Run in %v: error %v, want ErrNotFound", s, err)
		}
		if _, _, err := k.store.ListRuns(k.Context(), s, session.Page{}); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("ListRuns in %v: error %v, want ErrNotFound", s, err)
		}
	}
}

// Renew lists all runs that the process owns, and no others: a process takes a
// run that is missing for lost, and gives it up.
func renewLists(k *kit) {
	k.holds()
	var want []session.Held
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		k.create(key(id), nil)
		want = append(want, session.Held{Key: key(id), Run: "run-" + id, Epoch: k.start("run-"+id, key(id))})
		k.enqueue("line-"+id, key(id))
	}
	k.holds(want...)
	k.holds(want...)

	k.complete(key("a"), want[0].Epoch)
	k.delete(key("b"))
	k.handOver(key("c"), want[2].Epoch)
	k.end(key("d"), want[3].Epoch, session.End{Discard: true})
	want = slices.Delete(want, 0, 4)
	k.holds(want...)
	for id, run := range map[string]string{"a": "line-a", "c": "run-c", "d": "line-d"} {
		want = append(want, session.Held{Key: key(id), Run: run, Epoch: k.claims(key(id), run)})
	}
	k.holds(want...)
}

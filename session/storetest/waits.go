package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/session"
)

// wait has a run of a session end as one that waits.
func (k *kit) wait(key session.Key, id string) {
	k.Helper()
	k.end(key, k.start(id, key), session.End{Status: session.Waiting, Entries: []*session.Entry{say("asks-" + id)}})
}

// waits are the ids of the runs that Waits finds, size at a time.
func (k *kit) waits(age time.Duration, size int) []string {
	k.Helper()
	ids := []string{}
	var after *session.Run
	for range 100 {
		runs, err := k.store.Waits(k.Context(), age, after, size)
		if err != nil {
			k.Fatalf("Waits(%v, %d): %v", age, size, err)
		}
		if len(runs) > size {
			k.Fatalf("Waits finds %d runs, and should find %d at most", len(runs), size)
		}
		ids = append(ids, runIDs(runs)...)
		if len(runs) == 0 {
			return ids
		}
		after = runs[len(runs)-1]
		k.sameRun("a run that waits", k.run(after.Key, after.ID, session.Waiting), after)
	}
	k.Fatal("Waits does not end")
	return nil
}

// The list has the runs that wait, of all sessions, each once and in the order
// in which they began to wait, and no others.
func waitsFind(k *kit) {
	for i := range 5 {
		s := key(fmt.Sprint("s", i))
		k.create(s, nil)
		k.wait(s, fmt.Sprint("wait-", i))
		k.complete(s, k.start(fmt.Sprint("chat-", i), s)) // the user may talk in the meantime
	}
	k.create(key("other"), nil)
	k.end(key("other"), k.start("failed", key("other")), session.End{Status: session.Failed})
	k.start("running", key("other"))
	k.growOld()
	want := []string{"wait-0", "wait-1", "wait-2", "wait-3", "wait-4"}
	for _, size := range []int{1, 2, 100} {
		if got := k.waits(moment, size); !slices.Equal(got, want) {
			k.Errorf("%d at a time, waiting are %v, want %v", size, got, want)
		}
	}
	if got := k.waits(time.Hour, 100); len(got) > 0 {
		k.Errorf("%v have waited for an hour", got)
	}
	k.delete(key("s1"))
	if got, want := k.waits(moment, 2), slices.Delete(want, 1, 2); !slices.Equal(got, want) {
		k.Errorf("waiting are %v when a session is gone, want %v", got, want)
	}
}

// A wait that another run has taken up is not found, unless that run has come to
// nothing.
func waitsResumed(k *kit) {
	for _, status := range []session.Status{session.Completed, session.Waiting, session.Failed, session.Cancelled} {
		s := key("s-" + string(status))
		k.create(s, nil)
		k.wait(s, "asked-"+string(status))
		k.end(s, k.start("answer-"+string(status), s), session.End{Status: status, Resumes: "asked-" + string(status)})
	}
	k.growOld()
	want := []string{"answer-waiting", "asked-failed", "asked-cancelled"}
	if got := k.waits(moment, 100); !slices.Equal(got, want) {
		k.Errorf("waiting are %v, want %v", got, want)
	}
}

// The end of a run settles the waits of others: those that it has answered name
// it, and what it rewinds opens them again. Runs that do not wait stay as they
// are.
func endSettles(k *kit) {
	k.create(key("s"), nil)
	k.create(key("t"), nil)
	k.wait(key("s"), "first")
	k.wait(key("s"), "other")
	k.wait(key("t"), "first")
	k.end(key("s"), k.start("failed", key("s")), session.End{Status: session.Failed, Failure: &session.Failure{Type: "t", Message: "m"}})
	settle := func(id string, changes ...session.Settled) {
		k.Helper()
		k.end(key("s"), k.start(id, key("s")), session.End{Status: session.Completed, Resumes: "first", Settled: changes})
		if r := k.run(key("s"), id, session.Completed); r.ResumedBy != "" {
			k.Errorf("the run %s is resumed by %q", id, r.ResumedBy)
		}
	}
	before := k.run(key("s"), "first", session.Waiting)
	settle("answer",
		session.Settled{Run: "first", Status: session.Completed, By: "answer"},
		session.Settled{Run: "failed", Status: session.Completed, By: "answer"},
		session.Settled{Run: "answer", Status: session.Cancelled, By: "answer"},
		session.Settled{Run: "unknown", Status: session.Completed, By: "answer"})
	want := *before
	want.Status, want.ResumedBy = session.Completed, "answer"
	k.sameRun("the run that was answered", &want, k.run(key("s"), "first", session.Completed))
	for _, r := range k.history(key("s"), 2) {
		if r.ID == "first" {
			k.sameRun("the run that was answered, in the list", &want, r)
		}
	}
	if r := k.run(key("s"), "failed", session.Failed); r.ResumedBy != "" {
		k.Errorf("a run that did not wait is resumed by %q", r.ResumedBy)
	}
	k.run(key("s"), "other", session.Waiting)
	k.run(key("t"), "first", session.Waiting)

	// A rewind takes the answer back, and the other question.
	settle("rewind", session.Settled{Run: "first", Status: session.Waiting}, session.Settled{Run: "other", Status: session.Cancelled})
	k.sameRun("the run whose answer was rewound", before, k.run(key("s"), "first", session.Waiting))
	k.run(key("s"), "other", session.Cancelled)
	k.complete(key("s"), k.start("next", key("s")))
}

var expired = &session.Failure{Type: "expired", Message: "There was no answer.", Reported: true}

func (k *kit) expire(key session.Key, seq int64, runs []string, entries ...*session.Entry) error {
	k.Helper()
	return k.store.Expire(k.Context(), key, seq, runs, expired, entries...)
}

// The end of a wait is in the log and at the run, both or none, and leaves the
// session as it was for the next run.
func expireEnds(k *kit) {
	k.create(key("s"), state("a", "1"), say("e0"))
	k.create(key("c"), nil)
	k.wait(key("s"), "first")
	k.wait(key("s"), "other")
	k.complete(key("s"), k.start("chat", key("s")))
	last := number("l", 2)
	if err := k.expire(key("s"), 3, []string{"first", "chat", "unknown"}, last...); err != nil {
		k.Fatalf("Expire: %v", err)
	}
	if last[0].Seq != 4 || last[1].Seq != 5 {
		k.Errorf("the entries have the sequences %d and %d, want 4 and 5", last[0].Seq, last[1].Seq)
	}
	s := k.get(key("s"))
	k.hasLog(s, say("e0"), say("asks-first"), say("asks-other"), last[0], last[1])
	k.hasState(s, "a", "1")
	r := k.run(key("s"), "first", session.Failed)
	if diff := cmp.Diff(expired, r.Failure); diff != "" || r.First != 2 || r.Last != 5 {
		k.Errorf("the run is from %d to %d, want 2 and 5; failure (-want +got):\n%s", r.First, r.Last, diff)
	}
	if r := k.run(key("s"), "chat", session.Completed); r.Failure != nil {
		k.Errorf("a run that did not wait has failed: %v", r.Failure)
	}
	k.wait(key("c"), "cancelled")
	if err := k.store.Expire(k.Context(), key("c"), 1, []string{"cancelled"}, &session.Failure{Type: session.FailureCancelled}); err != nil {
		k.Fatalf("Expire: %v", err)
	}
	k.run(key("c"), "cancelled", session.Cancelled)
	k.growOld()
	if got := k.waits(moment, 100); !slices.Equal(got, []string{"other"}) {
		k.Errorf("waiting are %v, want other", got)
	}
	if days, _, err := k.store.Usage(k.Context(), session.UsageQuery{From: "0000-01-01", To: "9999-12-31"}, session.Page{}); err != nil || len(days) != 1 || days[0].Runs != 4 {
		k.Errorf("used is %+v, error %v, want that of four runs", days, err)
	}
	k.complete(key("s"), k.start("next", key("s")))
	k.hasRuns(key("s"), "next", "chat", "other", "first")
}

// A wait does not expire while a run may be answering it.
func expireRefused(k *kit) {
	k.create(key("s"), nil)
	k.wait(key("s"), "wait")
	refused := func(seq int64, when string) {
		k.Helper()
		if err := k.expire(key("s"), seq, []string{"wait"}, say("l")); !errors.Is(err, session.ErrFenced) {
			k.Errorf("Expire %s: error %v, want ErrFenced", when, err)
		}
		k.run(key("s"), "wait", session.Waiting)
	}
	refused(0, "with an older log")
	refused(2, "with a longer log")
	epoch := k.start("running", key("s"))
	refused(1, "while a run is running")
	k.enqueue("line", key("s"))
	k.complete(key("s"), epoch)
	refused(1, "while a run is queued")
	k.handOver(key("s"), k.claims(key("s"), "line"))
	refused(1, "while a run is left behind")
	k.complete(key("s"), k.claims(key("s"), "line"))
	k.hasLog(k.get(key("s")), say("asks-wait"))
	if err := k.expire(key("missing"), 0, nil); !errors.Is(err, session.ErrNotFound) {
		k.Errorf("Expire without a session: error %v, want ErrNotFound", err)
	}
	if err := k.expire(key("s"), 1, []string{"wait"}, say("l")); err != nil {
		k.Errorf("Expire: %v", err)
	}
	k.run(key("s"), "wait", session.Failed)
}

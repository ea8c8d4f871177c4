package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parley-run/parley/session"
)

// keyed is a run that may be asked for more than once.
func keyed(id string, key session.Key, idempotencyKey, fingerprint string) session.NewRun {
	run := asked(id, key)
	run.IdempotencyKey, run.Fingerprint = idempotencyKey, fingerprint
	return run
}

// repeats wants a request to be answered with an earlier run, as it is by now.
func (k *kit) repeats(run session.NewRun, id string) {
	k.Helper()
	if found, err := k.store.Look(k.Context(), run); err != nil || found == nil || found.ID != id {
		k.Fatalf("%s looks like %+v, %v, want it to be %s", run.ID, found, err, id)
	}
	begun := k.begin(run)
	if !begun.Repeat || begun.Session != nil || begun.Run.ID != id {
		k.Fatalf("%s is %+v (repeat: %v), want it to be %s", run.ID, begun.Run, begun.Repeat, id)
	}
	k.sameRun("the run that is repeated", k.run(run.Key, id, begun.Run.Status), begun.Run)
	k.noRun(run.Key, run.ID)
}

// A client that got no answer asks again, at any time. It is given the run that
// it has asked for already, and nothing happens twice: no message, and above all
// no interruption of itself.
func idempotentRepeat(k *kit) {
	k.create(key("s"), nil)
	again := func(id string, status session.Status) {
		k.Helper()
		before := look(k.get(key("s")))
		for _, policy := range []session.Policy{session.Enqueue, session.Reject, session.Interrupt, session.Rollback} {
			req := keyed("again", key("s"), "key-"+id, "print-"+id)
			req.Busy, req.Message = policy, say("m-"+id)
			k.repeats(req, id)
		}
		k.same("after a repeat", before, look(k.get(key("s"))))
		if r := k.run(key("s"), id, status); r.Stop != session.StopNot {
			k.Errorf("a repeat has asked %s to end", id)
		}
	}
	for _, id := range []string{"one", "two"} {
		req := keyed(id, key("s"), "key-"+id, "print-"+id)
		req.Message = say("m-" + id)
		k.begin(req)
	}
	again("one", session.Running)
	again("two", session.Queued)
	epoch := k.run(key("s"), "one", session.Running).Epoch
	k.end(key("s"), epoch, session.End{Status: session.Failed, Failure: &session.Failure{Type: "T", Message: "m"}})
	again("one", session.Failed)
	again("two", session.Queued)
	epoch = k.claims(key("s"), "two")
	again("two", session.Running)
	k.end(key("s"), epoch, session.End{Status: session.Waiting})
	again("two", session.Waiting)
	k.begin(keyed("three", key("s"), "key-three", "print-three"))
	k.begin(keyed("four", key("s"), "key-four", "print-four"))
	k.stop(key("s"), "four", session.StopCancel)
	again("four", session.Cancelled)
	k.hasRuns(key("s"), "four", "three", "two", "one")
}

// A key that stands for one request must not answer another one: the client
// would take the answer to a question for the answer to a different one.
func idempotentReused(k *kit) {
	k.create(key("s"), nil)
	epoch := k.begin(keyed("run", key("s"), "key", "print")).Run.Epoch
	k.enqueue("line", key("s"))
	before := look(k.get(key("s")))
	for _, mark := range []string{"another", "", "Print", "print ", "prin"} {
		for _, policy := range []session.Policy{session.Enqueue, session.Reject, session.Interrupt, session.Rollback} {
			req := keyed("other", key("s"), "key", mark)
			req.Busy, req.Message = policy, say("m")
			if found, err := k.store.Look(k.Context(), req); found != nil || !errors.Is(err, session.ErrReused) {
				k.Errorf("fingerprint %q, %s looks like %+v, error %v, want ErrReused", mark, policy, found, err)
			}
			if begun, err := k.store.Begin(k.Context(), req); !errors.Is(err, session.ErrReused) {
				k.Errorf("fingerprint %q, %s: %+v, error %v, want ErrReused", mark, policy, begun, err)
			}
		}
	}
	k.noRun(key("s"), "other")
	k.run(key("s"), "line", session.Queued)
	k.same("after a key was used for something else", before, look(k.get(key("s"))))
	k.holds(session.Held{Key: key("s"), Run: "run", Epoch: epoch})
}

// Keys are the client's words: they are compared byte by byte, mean nothing in
// another session, and no key is none.
func idempotentKeys(k *kit) {
	k.create(key("s"), nil)
	k.create(key("t"), nil)
	names := []string{"key", "KEY", "key ", "ke", "k%y", "é", "e\u0301", "'", `"`, "0", "00", strings.Repeat("k", 255), strings.Repeat("k", 254) + "l"}
	for i, name := range names {
		for _, s := range []session.Key{key("s"), key("t")} {
			if begun := k.begin(keyed(fmt.Sprint(s.ID, i), s, name, "print-"+s.ID)); begun.Repeat {
				k.Errorf("%q in %s is a repeat of %s", name, s.ID, begun.Run.ID)
			}
		}
	}
	for i, name := range names {
		k.repeats(keyed("again", key("s"), name, "print-s"), fmt.Sprint("s", i))
		k.repeats(keyed("again", key("t"), name, "print-t"), fmt.Sprint("t", i))
	}
	for i := range 3 {
		if begun := k.begin(keyed(fmt.Sprint("none", i), key("s"), "", "print")); begun.Repeat {
			k.Errorf("a request without a key is a repeat of %s", begun.Run.ID)
		}
	}
}

// What was forgotten may be asked for again: a run that never was, and all runs
// of a session that is no more.
func idempotentForgotten(k *kit) {
	k.create(key("s"), nil)
	begun := k.begin(keyed("one", key("s"), "key", "print"))
	k.end(key("s"), begun.Run.Epoch, session.End{Discard: true})
	begun = k.begin(keyed("two", key("s"), "key", "another print"))
	if begun.Repeat || begun.Session == nil {
		k.Errorf("after the run was discarded: %+v", begun.Run)
	}
	k.repeats(keyed("again", key("s"), "key", "another print"), "two")

	k.delete(key("s"))
	k.create(key("s"), nil)
	begun = k.begin(keyed("three", key("s"), "key", "print"))
	if begun.Repeat || begun.Session == nil {
		k.Errorf("after the session was deleted: %+v", begun.Run)
	}
}

// Impatient clients do not wait before they ask again.
func idempotentTogether(k *kit) {
	const tries = 20
	for round := range 5 {
		s := key(fmt.Sprint("s", round))
		k.create(s, nil)
		begun := make([]*session.Begun, tries)
		k.together(tries, func(i int) (err error) {
			req := keyed(fmt.Sprintf("run-%d-%d", round, i), s, "key", "print")
			req.Message = say(fmt.Sprint("m", i))
			begun[i], err = k.store.Begin(k.Context(), req)
			return err
		})
		k.oneOf(s, begun)
	}
}

// oneOf wants one of the requests to have begun a run, and all others to be
// repeats of it. Their messages are m0, m1, ….
func (k *kit) oneOf(key session.Key, begun []*session.Begun) {
	k.Helper()
	first := -1
	for i, b := range begun {
		if b.Repeat {
			continue
		}
		if first >= 0 || b.Session == nil {
			k.Errorf("the requests %d and %d were both taken for the first: %+v", first, i, b.Run)
		}
		first = i
	}
	if first < 0 {
		k.Fatal("all requests are repeats")
	}
	for _, b := range begun {
		if b.Run.ID != begun[first].Run.ID || b.Repeat && b.Session != nil {
			k.Errorf("a request is the run %s, want %s", b.Run.ID, begun[first].Run.ID)
		}
	}
	k.hasRuns(key, begun[first].Run.ID)
	k.hasLog(k.get(key), say(fmt.Sprint("m", first)))
}

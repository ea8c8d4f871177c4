package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// Sessions survive a restart: the bytes of every event, the state in every scope,
// the times, and the order of the list.
func reopenSessions(p *place) {
	k := p.as("a", time.Hour)
	odd := number("e", 3)
	for i, v := range oddValues() {
		odd = append(odd, entry(carrying(fmt.Sprint("odd", i), v)))
	}
	odd = append(odd, rewind("back", "unknown"), say("last"))
	k.create(key("s"), state("a", "1", "user:u", "2", "app:p", "3"), odd...)
	k.create(key("t"), nil)
	k.patch(key("t"), set("e", "b", `"\u0000"`, "user:v", "1e400", "app:p", "null", session.MetadataKey, `{"displayName":"Tea","labels":{"l":"1"}}`))
	k.create(key("gone"), nil, say("e"))
	k.delete(key("gone"))
	k.create(key("adk-eval-session-1"), nil)
	all := session.Read{Initial: true}
	s, t := k.read(key("s"), all), k.read(key("t"), all)
	k.close()

	k = p.as("a", time.Hour)
	for _, before := range []*session.Session{s, t} {
		after := k.read(before.Key, all)
		k.same("after the store was opened again", look(before), look(after))
		if after.Ordinal != before.Ordinal || after.Rewound != before.Rewound {
			k.Errorf("%v: ordinal %d and rewound at %d, before it was opened again %d and %d", after.Key, after.Ordinal, after.Rewound, before.Ordinal, before.Rewound)
		}
		k.hasInitial(after, before.Initial)
	}
	k.hasLog(k.get(key("s")), odd...)
	k.missing(key("gone"))
	if got := k.pages("app", "user", 0); !slices.Equal(got, []string{"t", "s"}) {
		k.Errorf("listed are %v, want t and s", got)
	}
	k.finds(session.Filter{Title: "tea", Labels: map[string]string{"l": "1"}}, "t")
	if again := k.create(key("gone"), nil); again.Ordinal <= t.Ordinal {
		k.Errorf("a new session has the ordinal %d, an old one %d", again.Ordinal, t.Ordinal)
	}
	k.hasLog(k.get(key("gone")))
	k.hasState(k.get(key("gone")), "user:u", "2", "user:v", "1e400")
}

// Runs survive a restart, too: those that have ended, the one that is running, and
// those that are queued behind it.
func reopenRuns(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil)
	failed := k.start("failed", key("s"))
	k.append(key("s"), failed, say("e0"))
	k.end(key("s"), failed, session.End{
		Status: session.Failed, Failure: &session.Failure{Type: "T", Message: "m\u2028", Reported: true},
		Usage: event.Usage{Prompt: 1, Total: 2}, Resumes: "another", Entries: number("f", 2),
	})
	running := k.start("running", key("s"))
	k.enqueue("second", key("s"))
	k.enqueue("cancelled", key("s"))
	k.enqueue("third", key("s"))
	k.stop(key("s"), "cancelled", session.StopCancel)
	k.stop(key("s"), "running", session.StopRollback)
	before := k.history(key("s"), 0)
	k.close()

	k = p.as("b", time.Hour)
	after := k.history(key("s"), 0)
	if !slices.Equal(runIDs(before), runIDs(after)) {
		k.Fatalf("the runs were %v, and are now %v", runIDs(before), runIDs(after))
	}
	for i, r := range after {
		k.sameRun("a run after the store was opened again", before[i], r)
		k.sameRun("a run after the store was opened again", before[i], k.run(key("s"), r.ID, r.Status))
	}
	k.nothing(key("s"), "while the lease of the one that went away lasts")
	k.append(key("s"), running, say("e")) // the epoch is enough, whatever the name of the owner
	if !k.complete(key("s"), running) {
		k.Error("End does not report that others are queued")
	}
	for _, id := range []string{"second", "third"} {
		if got := k.idle(10); !slices.Equal(got, []string{"s"}) {
			k.Errorf("idle are %v, want s", got)
		}
		k.complete(key("s"), k.claims(key("s"), id))
	}
	k.nothing(key("s"), "when all have ended")
}

// A client that repeats a request after the server came back must not have it
// done twice.
func reopenKeys(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil)
	k.complete(key("s"), k.begin(keyed("ended", key("s"), "key-0", "print")).Run.Epoch)
	k.begin(keyed("running", key("s"), "key-1", "print"))
	k.queued(k.begin(keyed("queued", key("s"), "key-2", "print")))
	k.close()

	k = p.as("a", time.Hour)
	for i, id := range []string{"ended", "running", "queued"} {
		name := fmt.Sprint("key-", i)
		k.repeats(keyed("again", key("s"), name, "print"), id)
		if _, err := k.store.Begin(k.Context(), keyed("other", key("s"), name, "another print")); !errors.Is(err, session.ErrReused) {
			k.Errorf("%s for another request: error %v, want ErrReused", name, err)
		}
	}
	k.hasRuns(key("s"), "queued", "running", "ended")
}

// Epochs, ordinals and the numbers of runs continue: one that a process still
// holds must not be given out again.
func reopenEpochs(p *place) {
	var epoch, number, ordinal int64
	for round := range 4 {
		k := p.as(fmt.Sprint("owner-", round%2), time.Hour)
		k.delete(key("s")) // what a count could be taken from
		s := k.create(key("s"), nil)
		r := k.begin(asked(fmt.Sprint("run-", round), key("s"))).Run
		if s.Ordinal <= ordinal || r.Epoch <= epoch || r.Number <= number {
			k.Errorf("ordinal %d, epoch %d and number %d come after %d, %d and %d", s.Ordinal, r.Epoch, r.Number, ordinal, epoch, number)
		}
		if epoch > 0 {
			k.fenced(key("s"), epoch, "of before")
		}
		epoch, number, ordinal = r.Epoch, r.Number, s.Ordinal
		k.close()
	}
}

// The journal of a run is for the process that takes the run over, above all when
// the previous one has exited.
func reopenJournal(p *place) {
	k := p.as("a", -1)
	k.create(key("s"), nil)
	first := k.start("run", key("s"))
	notes := session.Journal{"": []byte("nameless"), "zero": {0, 1, 0xff}, "empty": {}, "gone": []byte("x")}
	k.note(key("s"), first, notes, say("e0"))
	k.note(key("s"), first, session.Journal{"gone": nil})
	k.close()

	k = p.as("b", time.Hour)
	begun := k.claim(key("s"))
	delete(notes, "gone")
	k.hasJournal(begun, notes)
	k.hasLog(begun.Session, say("e0"))
	if begun.Run.ID != "run" || begun.Run.Attempt != 2 || begun.Run.Epoch <= first || begun.Run.First != 1 {
		k.Errorf("taken over is %+v", begun.Run)
	}
	k.fenced(key("s"), first, "of a process that is no more")
}

// Opening and closing is nothing that wears a store out, with or without
// something done in between.
func reopenAgain(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil)
	var log []*session.Entry
	for i := range 5 {
		k.close()
		p.as("a", time.Hour).close()
		k = p.as("a", time.Hour)
		e := say(fmt.Sprint("e", i))
		k.patch(key("s"), e)
		log = append(log, e)
		k.hasLog(k.get(key("s")), log...)
	}
}

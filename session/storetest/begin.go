package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-run/parley/session"
)

// A run that finds its session free has it at once: with all that was there
// before its own message, and with the message in the log behind it. An agent
// would answer to half of a conversation otherwise, or to its own question twice.
func beginFree(k *kit) {
	k.create(key("s"), state("a", "1", "user:u", "1"), number("e", 3)...)
	before := look(k.get(key("s")))
	req := asked("run", key("s"))
	req.Message = set("m", "a", "2", "b", "2", "user:u", "null", "app:p", "2")
	begun := k.begin(req)
	r := begun.Run

	k.same("what the run is given", before, look(begun.Session))
	if begun.Repeat || len(begun.Journal) != 0 {
		k.Errorf("a new run is a repeat (%v) and has the notes %v", begun.Repeat, begun.Journal)
	}
	if r.ID != "run" || r.Key != key("s") || r.Status != session.Running || r.Attempt != 1 || r.Epoch < 1 || r.Number < 1 ||
		r.Stop != session.StopNot || r.Resumes != "" || r.Failure != nil || !r.Ended.IsZero() {
		k.Errorf("the run is %+v", r)
	}
	if req.Message.Seq != 4 || r.First != 4 || r.Last != 0 {
		k.Errorf("the message has the sequence %d, and the run is from %d to %d, want 4, 4 and 0", req.Message.Seq, r.First, r.Last)
	}
	k.sameRun("what Run answers after Begin", r, k.run(key("s"), "run", session.Running))
	s := k.get(key("s"))
	k.hasLog(s, append(number("e", 3), req.Message)...)
	k.hasState(s, "a", "2", "b", "2", "app:p", "2")

	k.same("what the run was given, after its message", before, look(begun.Session))

	k.append(key("s"), r.Epoch, say("answer"))
	if again := k.run(key("s"), "run", session.Running); again.First != 4 {
		k.Errorf("after an append the run begins at %d, want 4", again.First)
	}
}

// A run that brings no message begins with the first entry that it writes.
// Who reads the answers of a run starts there.
func beginWithoutMessage(k *kit) {
	k.create(key("s"), nil, number("e", 2)...)
	before := look(k.get(key("s")))
	epoch := k.start("run", key("s"))
	k.same("after a run without a message began", before, look(k.get(key("s"))))
	k.patch(key("s"), say("patch"))
	k.note(key("s"), epoch, session.Journal{"n": []byte("1")})
	if r := k.run(key("s"), "run", session.Running); r.First != 0 {
		k.Errorf("the run has written nothing, and begins at %d", r.First)
	}
	k.append(key("s"), epoch, say("one"), say("two"))
	k.append(key("s"), epoch, say("three"))
	if r := k.run(key("s"), "run", session.Running); r.First != 4 || r.Last != 0 {
		k.Errorf("the run is from %d to %d, want 4 and 0", r.First, r.Last)
	}
}

// A caller that has a part of the log asks for the rest. It must get all of the
// rest, or the whole log if the part is of another session.
func beginRead(k *kit) {
	old := k.create(key("s"), nil, number("old", 4)...)
	k.delete(key("s"))
	s := k.create(key("s"), state("a", "1"), number("e", 5)...)
	if s.Ordinal <= old.Ordinal {
		k.Fatalf("the ordinal %d comes after %d", s.Ordinal, old.Ordinal)
	}
	log := number("e", 5)
	for i, tt := range []struct {
		read session.Read
		from int64
	}{
		{session.Read{}, 0},
		{session.Read{After: 3}, 3},
		{session.Read{After: 5}, 5},
		{session.Read{After: 7}, 5},
		{session.Read{After: -1}, 0},
		{session.Read{After: 3, Of: s.Ordinal}, 3},
		{session.Read{After: 5, Of: s.Ordinal}, 5},
		{session.Read{After: 3, Of: old.Ordinal}, 0},
		{session.Read{After: 5, Of: old.Ordinal}, 0},
		{session.Read{Of: old.Ordinal}, 0},
		{session.Read{After: 3, Of: s.Ordinal + 100}, 0},
	} {
		check := func(what string, got *session.Session) {
			k.Helper()
			if got.Seq != 5 || got.Ordinal != s.Ordinal {
				k.Errorf("%s(%+v): Seq %d and ordinal %d, want 5 and %d", what, tt.read, got.Seq, got.Ordinal, s.Ordinal)
			}
			k.hasEntries(got, tt.from, log[tt.from:])
			k.hasState(got, "a", "1")
		}
		check("Get", k.read(key("s"), tt.read))
		req := asked(fmt.Sprint("run", i), key("s"))
		req.Read = tt.read
		begun := k.begin(req)
		check("Begin", begun.Session)
		k.handOver(key("s"), begun.Run.Epoch)
		claimed, err := k.store.Claim(k.Context(), key("s"), tt.read)
		if err != nil {
			k.Fatal(err)
		}
		check("Claim", claimed.Session)
		k.complete(key("s"), claimed.Run.Epoch)
	}
}

// There are no runs without their session.
func beginMissing(k *kit) {
	k.create(key("s"), nil)
	k.delete(key("s"))
	for _, id := range []string{"s", "never"} {
		req := keyed("run-"+id, key(id), "key", "print")
		req.Message = say("m")
		for _, req.Busy = range []session.Policy{session.Enqueue, session.Reject, session.Interrupt, session.Rollback} {
			if _, err := k.store.Begin(k.Context(), req); !errors.Is(err, session.ErrNotFound) {
				k.Errorf("Begin(%s, %s): error %v, want ErrNotFound", id, req.Busy, err)
			}
		}
		k.missing(key(id))
	}
	// Nothing of it is left for when there is one.
	k.create(key("never"), nil)
	k.hasRuns(key("never"))
	k.nothing(key("never"), "of which all runs were refused")
	if k.begin(keyed("run", key("never"), "key", "another print")).Repeat {
		k.Error("the idempotency key was used up by a run that was refused")
	}
}

// The id of a run is its own. A client that retries with the same id would be shown
// another run's answers otherwise.
func beginTakenID(k *kit) {
	k.create(key("s"), nil)
	k.create(key("other"), nil)
	refused := func(when string, busy session.Policy) {
		k.Helper()
		before := look(k.get(key("s")))
		req := asked("run", key("s"))
		req.Message, req.Busy = say("again"), busy
		if _, err := k.store.Begin(k.Context(), req); !errors.Is(err, session.ErrRunExists) {
			k.Errorf("Begin with the id of a run that is %s, %s: error %v, want ErrRunExists", when, busy, err)
		}
		if _, err := k.store.Look(k.Context(), req); !errors.Is(err, session.ErrRunExists) {
			k.Errorf("Look with the id of a run that is %s, %s: error %v, want ErrRunExists", when, busy, err)
		}
		k.same("after a run was refused", before, look(k.get(key("s"))))
	}
	first := k.begin(keyed("run", key("s"), "key", "print"))
	for _, busy := range []session.Policy{session.Enqueue, session.Interrupt, session.Rollback} {
		refused("running", busy)
	}
	if r := k.run(key("s"), "run", session.Running); r.Stop != session.StopNot {
		k.Errorf("a run that was refused has interrupted another: %+v", r)
	}
	if !k.begin(keyed("run", key("s"), "key", "print")).Repeat {
		k.Error("a repetition with the id of its run is not one")
	}
	k.begin(asked("run", key("other")))
	k.complete(key("s"), first.Run.Epoch)
	refused("completed", session.Enqueue)
	k.hasRuns(key("s"), "run")
	k.nothing(key("s"), "of which a run was refused")
}

// Epochs and the numbers of runs increase over all sessions, however a
// session is taken.
func beginEpochs(k *kit) {
	epoch, number := int64(0), int64(0)
	greater := func(r *session.Run) int64 {
		k.Helper()
		if r.Epoch <= epoch {
			k.Errorf("the epoch %d comes after %d", r.Epoch, epoch)
		}
		epoch = r.Epoch
		return epoch
	}
	for round := range 3 {
		for _, id := range []string{"a", "b", "c"} {
			if round == 0 {
				k.create(key(id), nil)
			}
			for i := range 2 {
				r := k.begin(asked(fmt.Sprint(id, round, i), key(id))).Run
				if r.Number <= number {
					k.Errorf("the number %d comes after %d", r.Number, number)
				}
				number = r.Number
				if i == 0 {
					k.handOver(key(id), greater(r))
				}
			}
			k.complete(key(id), greater(k.claim(key(id)).Run))
			k.complete(key(id), greater(k.claim(key(id)).Run))
		}
	}
}

// Of many concurrent runs one begins. The others are queued in the order of
// their numbers, and none is lost.
func beginTogether(k *kit) {
	const many = 20
	k.create(key("s"), nil)
	begun := make([]*session.Begun, many)
	k.together(many, func(i int) (err error) {
		req := asked(fmt.Sprint("run", i), key("s"))
		req.Message = say(fmt.Sprint("m", i))
		begun[i], err = k.store.Begin(k.Context(), req)
		return err
	})
	slices.SortFunc(begun, func(a, b *session.Begun) int { return int(a.Run.Number - b.Run.Number) })
	first := begun[0]
	if first.Session == nil || first.Run.Status != session.Running {
		k.Fatalf("the first run is %+v", first.Run)
	}
	k.hasLog(k.get(key("s")), say("m"+first.Run.ID[len("run"):]))
	epoch := first.Run.Epoch
	for i, b := range begun[1:] {
		if k.queued(b); b.Run.Number == begun[i].Run.Number {
			k.Errorf("two runs have the number %d", b.Run.Number)
		}
		if !k.complete(key("s"), epoch) {
			k.Error("End does not report that others are queued")
		}
		epoch = k.claims(key("s"), b.Run.ID)
	}
	if k.complete(key("s"), epoch) {
		k.Error("End reports that others are queued, and none is")
	}
	k.nothing(key("s"), "when all have ended")
	if got := len(k.history(key("s"), 6)); got != many {
		k.Errorf("%d runs are listed, want %d", got, many)
	}
}

// Begin is atomic: a reader that finds the run running finds its message, too.
func beginSeenWhole(k *kit) {
	const rounds = 20
	for round := range rounds {
		s := key(fmt.Sprint("s", round))
		k.create(s, nil)
		k.together(3, func(i int) error {
			if i == 0 {
				req := asked(fmt.Sprint("run", round), s)
				req.Message = set("m", "a", "1")
				_, err := k.store.Begin(k.Context(), req)
				return err
			}
			for {
				r, err := k.store.Run(k.Context(), s, fmt.Sprint("run", round))
				if errors.Is(err, session.ErrRunNotFound) {
					time.Sleep(time.Microsecond)
					continue
				} else if err != nil {
					return err
				}
				got, err := k.store.Get(k.Context(), s, session.Read{})
				if err == nil && (r.First != 1 || got.Seq != 1 || len(got.State) != 1) {
					err = fmt.Errorf("%+v is there, with %d entries and %d keys", r, got.Seq, len(got.State))
				}
				return err
			}
		})
	}
}

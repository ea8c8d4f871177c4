package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/session"
)

// Epochs come from one sequence for the whole store. If each session counted
// its own, a deleted and re-created one would give out a number that an old
// owner still holds.
func epochIncreases(k *kit) {
	last := map[session.Key]int64{}
	seen := map[int64]bool{}
	take := func(key session.Key) {
		k.Helper()
		epoch := k.acquire(key)
		if epoch <= last[ownerOf(key)] || seen[epoch] {
			k.Errorf("Acquire(%v) gave %d after %d", key, epoch, last[ownerOf(key)])
		}
		last[ownerOf(key)], seen[epoch] = epoch, true
	}
	keys := []session.Key{key("a"), key("b"), {App: "app", User: "other", ID: "a"}, {App: "other", User: "user", ID: "a"}}
	for range 3 {
		for _, key := range keys {
			k.create(key, nil)
			take(key)
			take(key)
			k.release(key, last[ownerOf(key)])
			take(key)
		}
		for _, key := range keys {
			k.delete(key)
		}
	}
}

// An owner that froze and woke up must not write one event, whatever happened
// to its session in the meantime.
func epochStale(k *kit) {
	s := key("s")
	k.create(s, nil)
	k.fenced(s, 0, "of a session without an owner")
	k.fenced(s, -1, "of a session without an owner")
	k.fenced(s, 1, "before any was given out")

	first := k.acquire(s)
	k.append(s, first, say("e0"))
	k.fenced(s, 0, "of a session with an owner")
	k.fenced(s, first+1, "that was not given out")
	second := k.acquire(s)
	k.fenced(s, first, "after another Acquire")
	k.append(s, second, say("e1"))
	k.fenced(s, first, "after another owner's append")

	k.release(s, second)
	k.fenced(s, second, "after Release")
	k.fenced(s, first, "after Release")
	k.fenced(s, 0, "after Release")
	k.hasLog(k.get(s), say("e0"), say("e1"))

	third := k.acquire(s)
	k.append(s, third, say("e2"))
	k.delete(s)
	k.fenced(s, third, "after Delete")
	k.missing(s)

	k.create(s, nil)
	stale := []int64{0, first, second, third}
	for _, epoch := range stale {
		k.fenced(s, epoch, "after Delete and Create")
	}
	fourth := k.acquire(s)
	for _, epoch := range stale {
		k.fenced(s, epoch, "after Delete, Create and Acquire")
	}
	k.append(s, fourth, say("new"))
	again := k.get(s)
	k.hasLog(again, say("new"))
	k.hasState(again)
}

// An epoch is good for the session that it was given out for, not for others.
func epochForeign(k *kit) {
	keys := []session.Key{key("a"), key("b"), {App: "app", User: "other", ID: "a"}, {App: "other", User: "user", ID: "a"}}
	epochs := make([]int64, len(keys))
	for i, key := range keys {
		k.create(key, nil)
		epochs[i] = k.acquire(key)
	}
	for i, key := range keys {
		for j, epoch := range epochs {
			if i != j {
				k.fenced(key, epoch, "of another session")
				k.release(key, epoch)
			}
		}
		k.append(key, epochs[i], say("e"))
		k.hasLog(k.get(key), say("e"))
	}
}

// A refused append leaves nothing: no event, no state in any scope, no time.
// Half of it would be an answer without its call, or the reverse.
func epochRefusedChangesNothing(k *kit) {
	k.create(key("s"), state("a", "1", "user:a", "1", "app:a", "1"), say("e0"))
	k.create(key("sibling"), nil)
	stale := k.acquire(key("s"))
	k.acquire(key("s"))
	before, sibling := look(k.get(key("s"))), look(k.get(key("sibling")))

	batch := []*session.Entry{
		say("x"),
		set("y", "a", "2", "b", "2", "user:a", "2", "user:b", "2", "app:a", "2", "app:b", "2"),
		set("z", "a", "null", "user:a", "null", "app:a", "null"),
	}
	if err := k.store.Append(k.Context(), key("s"), stale, batch...); !errors.Is(err, session.ErrFenced) {
		k.Fatalf("Append under a stale epoch: error %v, want ErrFenced", err)
	}
	k.same("after a refused Append", before, look(k.get(key("s"))))
	k.same("sibling after a refused Append", sibling, look(k.get(key("sibling"))))
	for i, e := range batch {
		if e.Seq != 0 {
			k.Errorf("the caller's refused entry %d got the sequence %d", i, e.Seq)
		}
	}
}

// The last thing an old owner does is to release. That must not take the
// session away from the new one.
func epochStaleRelease(k *kit) {
	k.create(key("s"), nil)
	first := k.acquire(key("s"))
	second := k.acquire(key("s"))
	k.release(key("s"), first)
	k.release(key("s"), 0)
	k.release(key("s"), second+1)
	k.append(key("s"), second, say("e0"))

	k.release(key("s"), second)
	k.release(key("s"), second) // twice is as good as once
	third := k.acquire(key("s"))
	k.release(key("s"), second)
	k.append(key("s"), third, say("e1"))

	k.delete(key("s"))
	k.create(key("s"), nil)
	fourth := k.acquire(key("s"))
	k.release(key("s"), third)
	k.append(key("s"), fourth, say("new"))
	k.hasLog(k.get(key("s")), say("new"))
}

// Acquire returns the whole session, and ownership is not visible in it: reading,
// acquiring and releasing a session do not change it.
func epochLeavesNoMark(k *kit) {
	k.create(key("s"), state("a", "1", "user:b", "2"), number("e", 5)...)
	before := look(k.get(key("s")))
	s, epoch, err := k.store.Acquire(k.Context(), key("s"))
	if err != nil {
		k.Fatal(err)
	}
	k.same("what Acquire answers", before, look(s))
	k.same("after Acquire", before, look(k.get(key("s"))))
	k.release(key("s"), epoch)
	k.same("after Release", before, look(k.get(key("s"))))
}

// Of many who took one session the last one has it, and the last one has the
// greatest epoch.
func epochLastOfMany(k *kit) {
	const runs = 20
	k.create(key("s"), nil)
	epochs := make([]int64, runs)
	k.together(runs, func(i int) (err error) {
		_, epochs[i], err = k.store.Acquire(k.Context(), key("s"))
		return err
	})
	greatest := slices.Max(epochs)
	if sorted := slices.Sorted(slices.Values(epochs)); len(slices.Compact(sorted)) != runs {
		k.Fatalf("epochs were given out twice: %v", epochs)
	}
	k.together(runs, func(i int) error {
		err := k.store.Append(k.Context(), key("s"), epochs[i], say(fmt.Sprint("e", i)))
		switch {
		case epochs[i] == greatest && err != nil:
			return fmt.Errorf("the owner's append: %w", err)
		case epochs[i] != greatest && !errors.Is(err, session.ErrFenced):
			return fmt.Errorf("append under epoch %d of %d: error %w, want ErrFenced", epochs[i], greatest, err)
		}
		return nil
	})
	k.hasLog(k.get(key("s")), say(fmt.Sprint("e", slices.Index(epochs, greatest))))
}

// The same without order: all acquire the session and write concurrently. The log
// has exactly the writes that succeeded, and none of them follows a write with a
// greater epoch.
func epochScramble(k *kit) {
	const runs, appends = 20, 5
	k.create(key("s"), nil)
	epochs := make([]int64, runs)
	stored := make([][]string, runs)
	k.together(runs, func(i int) error {
		before, epoch, err := k.store.Acquire(k.Context(), key("s"))
		if err != nil {
			return err
		}
		epochs[i] = epoch
		for n := range appends {
			e := say(fmt.Sprintf("%d-%d", epoch, n))
			err := k.store.Append(k.Context(), key("s"), epoch, e)
			if errors.Is(err, session.ErrFenced) {
				return nil
			}
			if err != nil {
				return err
			}
			// There was no other write since it was acquired.
			if e.Seq != before.Seq+int64(n)+1 {
				return fmt.Errorf("entry %d of epoch %d has the sequence %d; the log ended at %d", n, epoch, e.Seq, before.Seq)
			}
			stored[i] = append(stored[i], e.Event.ID)
		}
		return nil
	})
	// In the order of their epochs, what the runs wrote is the log.
	var want []string
	greatest := slices.Max(epochs)
	for _, epoch := range slices.Sorted(slices.Values(epochs)) {
		want = append(want, stored[slices.Index(epochs, epoch)]...)
	}
	if got := k.dense(k.get(key("s"))); !slices.Equal(got, want) {
		k.Errorf("the log is\n%v, want\n%v", got, want)
	}
	for _, epoch := range epochs {
		if epoch != greatest {
			k.fenced(key("s"), epoch, "after the scramble")
		}
	}
	k.append(key("s"), greatest, say("last"))
}

// A takeover while the old owner is writing: what the new owner was shown is
// all that the old one has written and will ever have written.
func epochTakeover(k *kit) {
	const rounds, appends = 10, 300
	k.create(key("s"), nil)
	epoch := k.acquire(key("s"))
	for round := range rounds {
		writing, taken := make(chan struct{}), make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			write := func(n int) error {
				return k.store.Append(k.Context(), key("s"), epoch, say(fmt.Sprintf("%d-%d", round, n)))
			}
			err := write(0)
			close(writing)
			for n := 1; n < appends && err == nil; n++ {
				err = write(n)
			}
			<-taken
			if err == nil {
				err = write(appends)
			}
			ended <- err
		}()
		<-writing
		shown, next, err := k.store.Acquire(k.Context(), key("s"))
		close(taken)
		if ended := <-ended; err != nil || !errors.Is(ended, session.ErrFenced) {
			k.Fatalf("Acquire: %v; the old owner ended with %v, want ErrFenced", err, ended)
		}
		k.same("the log after a takeover", look(shown), look(k.get(key("s"))))
		k.dense(shown)
		epoch = next
	}
}

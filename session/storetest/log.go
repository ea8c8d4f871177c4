package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// The sequence is the order of the log and the place of every reader in it. It
// has no gaps, so a reader that has seen n entries has seen the first n.
func logDense(k *kit) {
	k.create(key("s"), nil)
	epoch := k.acquire(key("s"))
	log := number("e", 9)
	for i, e := range log {
		if i%3 == 2 {
			k.patch(key("s"), e) // from outside, while it is owned
		} else {
			k.append(key("s"), epoch, e)
		}
		if e.Seq != int64(i)+1 {
			k.Errorf("the caller's entry got the sequence %d, want %d", e.Seq, i+1)
		}
		k.hasLog(k.get(key("s")), log[:i+1]...)
	}
	// Another owner continues where this one stopped; so does a patch, which
	// needs no owner.
	epoch = k.acquire(key("s"))
	log = append(log, say("f"))
	k.append(key("s"), epoch, log[9])
	k.release(key("s"), epoch)
	log = append(log, say("g"))
	k.patch(key("s"), log[10])
	k.hasLog(k.get(key("s")), log...)
}

// Entries that are appended together stay together, and take effect in their
// order.
func logBatch(k *kit) {
	k.create(key("s"), state("a", "0", "b", "0"))
	epoch := k.acquire(key("s"))
	log := []*session.Entry{
		set("e0", "a", "1", "user:a", "1", "app:a", "1", "c", "1"),
		say("e1"),
		set("e2", "a", "null", "user:a", "null", "app:a", "null"),
		set("e3", "b", "null"),
		set("e4", "a", "2", "app:a", "2"),
		say("e5"),
	}
	k.append(key("s"), epoch, log...)
	for i, e := range log {
		if e.Seq != int64(i)+1 {
			k.Errorf("the caller's entry %d got the sequence %d", i, e.Seq)
		}
	}
	s := k.get(key("s"))
	k.hasLog(s, log...)
	k.hasState(s, "a", "2", "app:a", "2", "c", "1")
}

// An append of nothing adds nothing; it still says whether the epoch holds.
func logNothingToAppend(k *kit) {
	k.create(key("s"), state("a", "1"), say("e0"))
	epoch := k.acquire(key("s"))
	k.append(key("s"), epoch)
	s := k.get(key("s"))
	k.hasLog(s, say("e0"))
	k.hasState(s, "a", "1")

	k.acquire(key("s"))
	if err := k.store.Append(k.Context(), key("s"), epoch); err == nil {
		k.Error("an append of nothing under a stale epoch was not refused")
	}
}

// Clocks are coarse and are set back. Events with one timestamp, or with
// timestamps and ids that run backwards, keep the order in which they came.
func logEqualTimestamps(k *kit) {
	k.create(key("s"), nil)
	epoch := k.acquire(key("s"))
	var log []*session.Entry
	add := func(id string, timestamp float64) {
		e := entry(&event.Event{ID: id, InvocationID: "i", Author: "agent", Timestamp: timestamp})
		k.append(key("s"), epoch, e)
		log = append(log, e)
	}
	for i := range 20 {
		add(fmt.Sprintf("same%02d", 20-i), 1755700000.25)
	}
	for i := range 5 {
		add(fmt.Sprintf("back%02d", 20-i), 1755700000.25-float64(i))
	}
	k.hasLog(k.get(key("s")), log...)
	k.hasEntries(k.read(key("s"), session.Read{After: 10}), 10, log[10:])
}

// A change from outside takes the next sequence while a run is writing, and the
// run neither notices nor loses its place.
func logOwnerBesidePatches(k *kit) {
	const appends, patchers, patches = 200, 5, 40
	k.create(key("s"), nil)
	epoch := k.acquire(key("s"))
	k.together(1+patchers, func(i int) error {
		if i == 0 {
			for n := range appends {
				if err := k.store.Append(k.Context(), key("s"), epoch, say(fmt.Sprintf("owner-%d", n))); err != nil {
					return fmt.Errorf("append %d: %w", n, err)
				}
			}
			return nil
		}
		for n := range patches {
			id := fmt.Sprintf("patch%d-%d", i, n)
			if err := k.store.Patch(k.Context(), key("s"), set(id, fmt.Sprint("p", i), fmt.Sprint(n))); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
		}
		return nil
	})
	s := k.get(key("s"))
	next := map[string]int{}
	for _, id := range k.dense(s) {
		who, n, _ := strings.Cut(id, "-")
		if n != fmt.Sprint(next[who]) {
			k.Fatalf("%s came when it was the turn of number %d", id, next[who])
		}
		next[who]++
	}
	if s.Seq != appends+patchers*patches {
		k.Errorf("Seq is %d, want %d", s.Seq, appends+patchers*patches)
	}
	for i := 1; i <= patchers; i++ {
		if got := string(s.State[fmt.Sprint("p", i)]); got != fmt.Sprint(patches-1) {
			k.Errorf("p%d is %s, want %d", i, got, patches-1)
		}
	}
}

// An append is atomic: the response of a tool and the change of state that
// belongs to it become visible together or not at all.
func logNoHalfBatch(k *kit) {
	const batches, size = 40, 5
	k.create(key("s"), nil)
	epoch := k.acquire(key("s"))
	check := func(s *session.Session) error {
		count, last := 0, ""
		for i, e := range s.Entries {
			ev, err := e.Decode()
			switch {
			case err != nil:
				return err
			case e.Seq != int64(i)+1 || s.Seq != int64(len(s.Entries)):
				return fmt.Errorf("entry %d of %d has the sequence %d; Seq is %d", i+1, len(s.Entries), e.Seq, s.Seq)
			case strings.HasPrefix(ev.ID, "patch") && count%size != 0:
				return fmt.Errorf("%s is in the middle of a batch", ev.ID)
			case strings.HasPrefix(ev.ID, "batch"):
				count++
				last = ev.ID
			}
		}
		if count%size != 0 {
			return fmt.Errorf("the log ends in the middle of a batch, at %s", last)
		}
		if got, want := string(s.State["n"]), fmt.Sprint(count); got != want && count > 0 {
			return fmt.Errorf("n is %s after %s entries", got, want)
		}
		return nil
	}
	done := make(chan struct{})
	k.together(4, func(i int) error {
		switch i {
		case 0:
			defer close(done)
			for b := range batches {
				var batch []*session.Entry
				for n := range size {
					batch = append(batch, set(fmt.Sprintf("batch%d-%d", b, n), "n", fmt.Sprint(b*size+n+1)))
				}
				if err := k.store.Append(k.Context(), key("s"), epoch, batch...); err != nil {
					return err
				}
			}
			return nil
		case 1:
			for n := range batches {
				if err := k.store.Patch(k.Context(), key("s"), say(fmt.Sprint("patch", n))); err != nil {
					return err
				}
			}
			return nil
		}
		for {
			s, err := k.store.Get(k.Context(), key("s"), session.Read{})
			if err != nil {
				return err
			}
			if err := check(s); err != nil {
				return err
			}
			select {
			case <-done:
				return nil
			default:
			}
		}
	})
	s := k.get(key("s"))
	if err := check(s); err != nil {
		k.Error(err)
	}
	if s.Seq != batches*size+batches {
		k.Errorf("Seq is %d, want %d", s.Seq, batches*size+batches)
	}
}

// A session of a year is appended to and followed like a new one.
func logLong(k *kit) {
	const total, size = 10_000, 100
	k.create(key("s"), nil)
	epoch := k.acquire(key("s"))
	var log []*session.Entry
	for n := 0; n < total; n += size {
		batch := number(fmt.Sprintf("e%d-", n), size)
		k.append(key("s"), epoch, batch...)
		log = append(log, batch...)
		// A follower reads what is new, and no more.
		tail := k.read(key("s"), session.Read{After: int64(n)})
		k.hasEntries(tail, int64(n), batch)
		if k.Failed() {
			return
		}
	}
	s := k.get(key("s"))
	if ids := k.dense(s); len(ids) != total {
		k.Errorf("%d entries, want %d", len(ids), total)
	}
	if !slices.EqualFunc(s.Entries, log, func(a, b *session.Entry) bool { return string(a.JSON) == string(b.JSON) }) {
		k.Error("the log is not what was appended")
	}
	k.hasEntries(k.read(key("s"), session.Read{After: total - 1}), total-1, log[total-1:])
	k.hasEntries(k.read(key("s"), session.Read{After: total}), total, nil)
}

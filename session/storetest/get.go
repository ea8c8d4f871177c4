package storetest

import (
	"errors"
	"fmt"
	"math"

	"github.com/parley-run/parley/session"
)

// Sessions that do not exist: reading or acquiring one fails with ErrNotFound. An
// append is fenced, because only a former owner of the session appends. Calls
// that only make sure that something is gone succeed.
func getMissing(k *kit) {
	k.create(key("there"), nil)
	k.create(key("gone"), nil)
	epoch := k.acquire(key("gone"))
	k.delete(key("gone"))

	for _, key := range []session.Key{
		key("gone"), key("never"),
		{App: "app", User: "other", ID: "there"},
		{App: "other", User: "user", ID: "there"},
	} {
		ctx := k.Context()
		k.missing(key)
		if _, err := k.store.Get(ctx, key, session.Read{NoEvents: true}); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("Get(%v) without events: error %v, want ErrNotFound", key, err)
		}
		if _, _, err := k.store.Acquire(ctx, key); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("Acquire(%v): error %v, want ErrNotFound", key, err)
		}
		if err := k.store.Patch(ctx, key, say("e")); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("Patch(%v): error %v, want ErrNotFound", key, err)
		}
		k.fenced(key, epoch, "of a session that is not there")
		k.release(key, epoch)
		k.delete(key)
		k.missing(key) // none of this made it
	}
	k.hasState(k.get(key("there")))
}

// A reader that has the log up to some entry asks for what came after, wherever
// it stands; one that is ahead of the log gets nothing but the length of the
// log.
func getAfter(k *kit) {
	log := number("e", 7)
	k.create(key("s"), state("a", "1"), log...)
	for _, after := range []int64{math.MinInt64, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1000, math.MaxInt64} {
		s := k.read(key("s"), session.Read{After: after})
		if s.Seq != 7 {
			k.Errorf("after %d: Seq is %d, want 7", after, s.Seq)
		}
		k.hasState(s, "a", "1")
		from := min(max(after, 0), 7)
		k.hasEntries(s, from, log[from:])
	}
	k.create(key("empty"), nil)
	k.hasLog(k.read(key("empty"), session.Read{After: 3}))
}

func getNoEvents(k *kit) {
	k.create(key("s"), state("a", "1", "user:b", "2"), number("e", 3)...)
	for _, read := range []session.Read{{NoEvents: true}, {NoEvents: true, After: 1}, {NoEvents: true, After: 9}} {
		s := k.read(key("s"), read)
		if len(s.Entries) != 0 {
			k.Errorf("Get(%+v) has %d entries", read, len(s.Entries))
		}
		if s.Seq != 3 {
			k.Errorf("Get(%+v): Seq is %d, want 3", read, s.Seq)
		}
		k.hasState(s, "a", "1", "user:b", "2")
	}
}

// Who has read a session works with it for as long as a run takes, without a
// lock. Whatever happens to the session in the meantime, the snapshot stays.
func getSnapshot(k *kit) {
	made := k.create(key("s"), state("a", "1", "b", "1", "user:a", "1", "user:b", "1", "app:a", "1", "app:b", "1"), number("e", 3)...)
	k.create(key("sibling"), nil)
	acquired, epoch, err := k.store.Acquire(k.Context(), key("s"))
	if err != nil {
		k.Fatal(err)
	}
	snapshots := map[string]*session.Session{
		"Create": made, "Acquire": acquired, "Get": k.get(key("s")),
		"Get of the tail": k.read(key("s"), session.Read{After: 2}), "List": k.listed("s"),
	}
	before := map[string]view{}
	for name, s := range snapshots {
		before[name] = look(s)
	}

	k.append(key("s"), epoch, set("x", "a", "2", "b", "null", "c", "2", "user:a", "2", "user:b", "null", "app:a", "2", "app:b", "null"))
	k.append(key("s"), epoch, number("y", 50)...)
	k.patch(key("s"), set("z", "a", "3"))
	k.patch(key("sibling"), set("z", "user:a", "3", "app:a", "3"))
	for name, s := range snapshots {
		k.same("snapshot of "+name+" after writes", before[name], look(s))
	}
	k.delete(key("s"))
	k.create(key("s"), state("a", "4"), say("new"))
	for name, s := range snapshots {
		k.same("snapshot of "+name+" after Delete and Create", before[name], look(s))
	}
}

// Snapshots may be read while others write; the race detector is the judge.
// And each is of one moment: its state is the one that its last entry left.
func getSnapshotUnderWriters(k *kit) {
	const writes = 100
	k.create(key("s"), state("n", "0", "user:n", "0", "app:n", "0"))
	epoch := k.acquire(key("s"))
	k.together(5, func(i int) error {
		if i == 0 {
			for n := 1; n <= writes; n++ {
				v := fmt.Sprint(n)
				if err := k.store.Append(k.Context(), key("s"), epoch, set("e"+v, "n", v, "user:n", v, "app:n", v)); err != nil {
					return err
				}
			}
			return nil
		}
		for seq := int64(0); seq < writes; {
			s, err := k.store.Get(k.Context(), key("s"), session.Read{After: seq})
			if err != nil {
				return err
			}
			if s.Seq < seq {
				return fmt.Errorf("the log went back from %d to %d", seq, s.Seq)
			}
			if int64(len(s.Entries)) != s.Seq-seq {
				return fmt.Errorf("%d entries from %d to %d", len(s.Entries), seq, s.Seq)
			}
			seq = s.Seq
			for _, name := range []string{"n", "user:n", "app:n"} {
				if string(s.State[name]) != fmt.Sprint(seq) {
					return fmt.Errorf("%s is %s after entry %d", name, s.State[name], seq)
				}
			}
		}
		return nil
	})
}

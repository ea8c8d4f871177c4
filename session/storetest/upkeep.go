package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-run/parley/session"
)

// moment is a time to live that is over almost at once.
const moment = time.Millisecond

// living makes a session with a time to live of its own.
func (k *kit) living(key session.Key, ttl time.Duration, log ...*session.Entry) {
	k.Helper()
	if _, err := k.store.Store.Create(k.Context(), session.NewSession{Key: key, TTL: ttl, Log: log}); err != nil {
		k.Fatalf("Create(%v): %v", key, err)
	}
}

// sweep goes once over all sessions, and returns how many it has deleted.
func (k *kit) sweep(ttl time.Duration) int {
	k.Helper()
	all := 0
	for range 10_000 {
		deleted, done, err := k.store.Sweep(k.Context(), ttl)
		if err != nil {
			k.Fatalf("Sweep(%v): %v", ttl, err)
		}
		if all += len(deleted); done {
			return all
		}
	}
	k.Fatal("Sweep does not end")
	return all
}

// growOld waits until the time to live of a moment is over for what was done
// before.
func (k *kit) growOld() { time.Sleep(5 * moment) }

// left are the ids of all sessions, sorted.
func (k *kit) left() []string {
	k.Helper()
	var list []string
	for _, key := range k.walk(0) {
		list = append(list, key.ID)
	}
	slices.Sort(list)
	return list
}

// Sessions that were not used for long are deleted, and no others: what is
// deleted too early is lost, and what is kept too long breaks the promise to
// delete it.
func sweepOld(k *kit) {
	k.create(key("plain"), state("user:u", "1"), say("e"))
	k.create(key("adk-eval-session-1"), nil)
	k.create(session.Key{App: "other", User: "other", ID: "elsewhere"}, nil)
	k.living(key("short"), moment, say("e"))
	k.living(key("long"), time.Hour)
	k.growOld()

	if n := k.sweep(0); n != 1 { // forever, but for those who want it otherwise
		k.Errorf("%d sessions were deleted, want 1", n)
	}
	if got, want := k.left(), []string{"adk-eval-session-1", "elsewhere", "long", "plain"}; !slices.Equal(got, want) {
		k.Errorf("left are %v, want %v", got, want)
	}
	if n := k.sweep(time.Hour); n != 0 {
		k.Errorf("%d sessions were deleted that are not an hour old", n)
	}
	if n := k.sweep(moment); n != 3 {
		k.Errorf("%d sessions were deleted, want 3", n)
	}
	if got := k.left(); !slices.Equal(got, []string{"long"}) {
		k.Errorf("left are %v, want long", got)
	}
	k.missing(key("plain"))
	k.missing(key("short"))
	k.hasState(k.get(key("long")), "user:u", "1") // as after Delete

	// They are gone like others that are deleted.
	k.hasLog(k.create(key("plain"), nil))
	if n := k.sweep(time.Hour); n != 0 {
		k.Errorf("%d sessions were deleted again", n)
	}
}

// The time counts from the last change.
func sweepChanged(k *kit) {
	k.living(key("patched"), time.Hour)
	k.living(key("old"), time.Hour)
	// A time to live that is not over, and would be if it was not for the
	// patch, cannot be had without waiting; what can be had is the order.
	old := k.get(key("old")).Updated
	k.growOld()
	k.patch(key("patched"), say("e"))
	if !k.get(key("patched")).Updated.After(old) {
		k.Error("a patch does not count as a change")
	}
	if n := k.sweep(moment); n != 0 {
		k.Errorf("%d sessions were deleted whose time is not over", n)
	}
}

// A session is not deleted while it has a run that is not over: queued,
// in progress, or left behind. Waiting is over: people may never answer.
func sweepBusy(k *kit) {
	for _, id := range []string{"free", "over", "waiting", "running", "line", "left", "discarded"} {
		k.living(key(id), moment)
	}
	k.complete(key("over"), k.start("over", key("over")))
	k.end(key("waiting"), k.start("waiting", key("waiting")), session.End{Status: session.Waiting})
	running := k.start("running", key("running"))
	epoch := k.start("line-0", key("line"))
	k.enqueue("line-1", key("line"))
	k.complete(key("line"), epoch)
	k.handOver(key("left"), k.start("left", key("left")))
	k.end(key("discarded"), k.start("discarded", key("discarded")), session.End{Discard: true})
	k.growOld()
	if n := k.sweep(moment); n != 4 {
		k.Errorf("%d sessions were deleted, want 4", n)
	}
	if got, want := k.left(), []string{"left", "line", "running"}; !slices.Equal(got, want) {
		k.Fatalf("left are %v, want %v", got, want)
	}
	k.append(key("running"), running, say("e"))
	k.complete(key("running"), running)
	k.stop(key("line"), "line-1", session.StopCancel)
	k.complete(key("left"), k.claims(key("left"), "left"))
	k.growOld()
	if n := k.sweep(0); n != 3 {
		k.Errorf("%d sessions were deleted when their runs were over, want 3", n)
	}
}

// However many sessions there are, and whatever sessions are created and deleted
// in the meantime, one round finds all that existed all the time.
func sweepAll(k *kit) {
	const many = 40
	for i := range many {
		ttl := moment
		if i%4 == 0 {
			ttl = time.Hour
		}
		k.living(key(fmt.Sprintf("s%02d", i)), ttl)
	}
	k.growOld()
	k.together(3, func(i int) error {
		if i == 0 {
			for done := false; !done; {
				var err error
				if _, done, err = k.store.Sweep(k.Context(), 0); err != nil {
					return err
				}
			}
			return nil
		}
		for n := range 20 {
			key := key(fmt.Sprint("churn", i))
			if _, err := k.store.Create(k.Context(), key, nil, nil); err != nil {
				return err
			}
			if n%2 == 0 {
				if err := k.store.Patch(k.Context(), key, say("e")); err != nil {
					return err
				}
			}
			if err := k.store.Delete(k.Context(), key); err != nil {
				return err
			}
		}
		return nil
	})
	if got := k.left(); len(got) != many/4 {
		k.Errorf("left are %v, want %d", got, many/4)
	}
}

// walk reads all keys, size at a time.
func (k *kit) walk(size int) []session.Key {
	k.Helper()
	var all []session.Key
	for page := (session.Page{Size: size}); ; {
		keys, next, err := k.store.Walk(k.Context(), page)
		switch {
		case err != nil:
			k.Fatalf("Walk(%+v): %v", page, err)
		case next != "" && len(keys) != size, size > 0 && len(keys) > size:
			k.Fatalf("a page of %d has %d keys and the token %q", size, len(keys), next)
		case next == "" && len(keys) == 0 && page.Token != "":
			k.Fatal("the page before said that there was another, and this one is empty")
		case len(all) > 10_000 || next != "" && next == page.Token:
			k.Fatal("Walk does not end")
		}
		if all = append(all, keys...); next == "" {
			return all
		}
		page.Token = next
	}
}

// Walk visits every session of every user once, those of evaluations too, so that
// a copy or a check is complete.
func walkAll(k *kit) {
	if got := k.walk(0); len(got) != 0 {
		k.Errorf("an empty store has the sessions %v", got)
	}
	var want []session.Key
	for i := range 4 {
		for _, owner := range []session.Key{{App: "app", User: "user"}, {App: "app", User: "other"}, {App: "other", User: "user"}} {
			for _, id := range []string{"s", "adk-eval-session-"} {
				key := session.Key{App: owner.App, User: owner.User, ID: fmt.Sprint(id, i)}
				k.create(key, nil)
				want = append(want, key)
			}
		}
	}
	k.delete(want[5])
	want = slices.Delete(want, 5, 6)
	k.patch(want[0], say("e")) // the order is that of their making
	// The order is only that of the sessions of one user.
	byOwner := func(keys []session.Key) []session.Key {
		return slices.SortedStableFunc(slices.Values(keys), func(a, b session.Key) int {
			return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.User, b.User))
		})
	}
	for _, size := range []int{0, 1, 2, 7, 22, 23, 24} {
		if got := k.walk(size); !slices.Equal(byOwner(got), byOwner(want)) {
			k.Errorf("pages of %d:\n%v, want\n%v", size, got, want)
		}
	}
}

// Nor does it miss any because others come and go.
func walkBetweenPages(k *kit) {
	for i := range 12 {
		k.create(key(fmt.Sprintf("s%02d", i)), nil)
	}
	var got []string
	token := ""
	for page := range 20 {
		keys, next, err := k.store.Walk(k.Context(), session.Page{Size: 3, Token: token})
		if err != nil {
			k.Fatal(err)
		}
		for _, key := range keys {
			got = append(got, key.ID)
		}
		if token = next; token == "" {
			break
		}
		switch page {
		case 0:
			k.delete(keys[2]) // the one that the token stands for
		case 1:
			k.delete(key("s07"))
			k.create(key("late"), nil)
		}
	}
	if want := []string{"s00", "s01", "s02", "s03", "s04", "s05", "s06", "s08", "s09", "s10", "s11", "late"}; !slices.Equal(got, want) {
		k.Errorf("walked by\n%v, want\n%v", got, want)
	}
}

// What follows from the log of an intact session is what is there. A repair
// that changes something that was right is worse than none.
func rebuildIntact(k *kit) {
	k.create(key("s"), state("a", "1", "b", "2", "user:u", "3", session.MetadataKey, `{"displayName":"Tea"}`),
		set("e0", "a", "null", "c", "4", "user:u", "5"))
	k.patch(key("s"), set("e1", "b", "null", "d", `{"b":1.0,"a":"\u0000"}`, "user:u", "6", "app:p", "7", session.MetadataKey, `{"displayName":"Coffee"}`))
	k.patch(key("s"), rewind("e2", "i"))
	epoch := k.start("run", key("s"))
	k.append(key("s"), epoch, set("e3", "e", "8", "d", "9"), say("e4"))
	k.enqueue("line", key("s"))
	k.create(key("bare"), nil)
	k.create(key("given"), state("a", "1", "n", "null"))
	k.create(key("imported"), nil, set("e0", "a", "1", "user:v", "2"), rewind("e1", "i"))
	k.create(session.Key{App: "app", User: "user", ID: "adk-eval-session-1"}, state("a", "1"))

	if _, err := k.store.Rebuild(k.Context(), key("s")); !errors.Is(err, session.ErrFenced) {
		k.Errorf("Rebuild while a run is running: error %v, want ErrFenced", err)
	}
	k.complete(key("s"), epoch) // with another one still queued
	for range 2 {
		for _, key := range k.walk(0) {
			before := k.get(key)
			changed, err := k.store.Rebuild(k.Context(), key)
			if err != nil || changed {
				k.Errorf("Rebuild(%v): %v, changed is %v", key, err, changed)
			}
			after := k.get(key)
			k.same("after Rebuild", look(before), look(after))
			if before.Rewound != after.Rewound || before.Ordinal != after.Ordinal {
				k.Errorf("%v was rewound at %d and is so at %d; the ordinal was %d and is %d", key, before.Rewound, after.Rewound, before.Ordinal, after.Ordinal)
			}
		}
	}
	k.finds(session.Filter{Title: "coffee"}, "s")
	k.finds(session.Filter{Title: "tea"})
	epoch = k.claims(key("s"), "line")
	k.handOver(key("s"), epoch)
	if _, err := k.store.Rebuild(k.Context(), key("s")); !errors.Is(err, session.ErrFenced) {
		k.Errorf("Rebuild while a run is left behind: error %v, want ErrFenced", err)
	}
	k.patch(key("s"), say("e5")) // and all continues
	if _, err := k.store.Rebuild(k.Context(), key("never")); !errors.Is(err, session.ErrNotFound) {
		k.Errorf("Rebuild of a session that is not there: error %v, want ErrNotFound", err)
	}
}

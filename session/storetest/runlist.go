package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/session"
)

// The runs of a session are listed in the order in which they came, the newest
// first, each as Run shows it, whether it has ended or not.
func runsNewestFirst(k *kit) {
	k.create(key("s"), nil)
	k.create(key("sibling"), nil)
	k.hasRuns(key("s"))
	var want []string
	epoch := int64(0)
	for i := range 12 {
		id := fmt.Sprint("run", i)
		begun := k.begin(asked(id, key("s")))
		want = append(want, id)
		switch {
		case begun.Session != nil:
			epoch = begun.Run.Epoch
		case i%3 == 0:
			k.stop(key("s"), id, session.StopCancel) // ended before those that came before it
		case i%3 == 1:
			k.complete(key("s"), epoch)
			epoch = k.claim(key("s")).Run.Epoch
		}
		k.complete(key("sibling"), k.start(fmt.Sprint("sibling", i), key("sibling")))
	}
	slices.Reverse(want)
	for _, size := range []int{0, 1, 3, 5, 11, 12, 13} {
		runs := k.history(key("s"), size)
		if got := runIDs(runs); !slices.Equal(got, want) {
			k.Errorf("pages of %d:\n%v, want\n%v", size, got, want)
		}
		for _, r := range runs {
			k.sameRun("a run in the list", k.run(key("s"), r.ID, r.Status), r)
		}
	}
}

// Runs that come between two pages neither repeat nor hide others.
func runsBetweenPages(k *kit) {
	k.create(key("s"), nil)
	epoch := k.start("run0", key("s"))
	for i := 1; i < 9; i++ {
		k.enqueue(fmt.Sprint("run", i), key("s"))
	}
	var got []string
	token := ""
	for i := 9; ; i++ {
		runs, next, err := k.store.ListRuns(k.Context(), key("s"), session.Page{Size: 2, Token: token})
		if err != nil {
			k.Fatal(err)
		}
		if got = append(got, runIDs(runs)...); next == "" || len(got) > 20 {
			break
		}
		token = next
		k.enqueue(fmt.Sprint("run", i), key("s"))
		k.stop(key("s"), runs[1].ID, session.StopCancel) // the one that the token stands for
		k.complete(key("s"), epoch)
		epoch = k.claim(key("s")).Run.Epoch
	}
	if want := []string{"run8", "run7", "run6", "run5", "run4", "run3", "run2", "run1", "run0"}; !slices.Equal(got, want) {
		k.Errorf("listed are\n%v, want\n%v", got, want)
	}
}

// A token that no list has given out is the client's mistake.
func runsBadToken(k *kit) {
	k.create(key("s"), nil)
	k.start("run", key("s"))
	for _, token := range []string{"!", "-1", "1.5", " 1", "' OR 1=1 --", "\x00", "\xff", "99999999999999999999999999"} {
		if runs, _, err := k.store.ListRuns(k.Context(), key("s"), session.Page{Size: 2, Token: token}); !errors.Is(err, session.ErrBadToken) || len(runs) != 0 {
			k.Errorf("token %q: %v, error %v, want ErrBadToken", token, runIDs(runs), err)
		}
		if keys, _, err := k.store.Walk(k.Context(), session.Page{Size: 2, Token: token}); !errors.Is(err, session.ErrBadToken) || len(keys) != 0 {
			k.Errorf("Walk with the token %q: %v, error %v, want ErrBadToken", token, keys, err)
		}
	}
}

// Runs are deleted with their session, and a new session with the same key has
// none of them: the owner of an old run must not write into the new session.
func runsDeleted(k *kit) {
	k.create(key("s"), nil)
	k.complete(key("s"), k.start("ended", key("s")))
	epoch := k.start("running", key("s"))
	k.enqueue("line", key("s"))
	k.delete(key("s"))
	if _, err := k.store.Run(k.Context(), key("s"), "running"); !errors.Is(err, session.ErrNotFound) {
		k.Errorf("Run in a session that was deleted: error %v, want ErrNotFound", err)
	}
	k.holds()
	k.endFenced(key("s"), epoch, "of a session that was deleted")

	k.create(key("s"), nil)
	for _, id := range []string{"ended", "running", "line"} {
		k.noRun(key("s"), id)
	}
	k.hasRuns(key("s"))
	k.nothing(key("s"), "that has had no runs")
	if got := k.idle(10); len(got) != 0 {
		k.Errorf("idle are %v", got)
	}
	k.endFenced(key("s"), epoch, "of a session that was deleted and made again")
	k.handOver(key("s"), epoch)
	next := k.start("running", key("s")) // even the name is free
	k.endFenced(key("s"), epoch, "of a session that was deleted and made again")
	k.holds(session.Held{Key: key("s"), Run: "running", Epoch: next})
	k.hasRuns(key("s"), "running")
	k.hasLog(k.get(key("s")))
}

// What a store has answered does not change when the run does.
func runsSnapshot(k *kit) {
	k.create(key("s"), nil)
	begun := k.begin(asked("run", key("s")))
	found, listed := k.run(key("s"), "run", session.Running), k.history(key("s"), 0)[0]
	k.stop(key("s"), "run", session.StopCancel)
	k.append(key("s"), begun.Run.Epoch, say("e"))
	k.complete(key("s"), begun.Run.Epoch)
	for _, r := range []*session.Run{begun.Run, found, listed} {
		if r.Status != session.Running || r.Stop != session.StopNot || r.First != 0 || r.Last != 0 || !r.Ended.IsZero() {
			k.Errorf("a run that was read before its end is %+v", r)
		}
	}
}

// The newest runs of a user are found without a list of their sessions. A session
// with many runs does not hide those of others, and the runs of other users and of
// evaluations do not show.
func runsRecent(k *kit) {
	recent := func(sessions, each int, want ...string) {
		k.Helper()
		runs, err := k.store.RecentRuns(k.Context(), "app", "user", sessions, each)
		if err != nil {
			k.Fatal(err)
		}
		if got := runIDs(runs); !slices.Equal(got, want) {
			k.Errorf("%d of %d sessions: %v, want %v", each, sessions, got, want)
		}
		for _, r := range runs {
			k.sameRun("a recent run", k.run(r.Key, r.ID, r.Status), r)
		}
	}
	recent(10, 10)
	for _, id := range []string{"old", "middle", "new", "none", "___eval___session___1"} {
		k.create(key(id), nil)
	}
	other := session.Key{App: "app", User: "other", ID: "new"}
	k.create(other, nil)
	recent(10, 10)
	for i := range 3 {
		for _, s := range []session.Key{key("new"), key("old"), key("___eval___session___1"), other} {
			k.complete(s, k.start(fmt.Sprint(s.ID, i), s))
		}
	}
	k.start("middle0", key("middle"))
	k.enqueue("middle1", key("middle"))
	recent(10, 10, "middle1", "middle0", "old2", "new2", "old1", "new1", "old0", "new0")
	recent(10, 2, "middle1", "middle0", "old2", "new2", "old1", "new1")
	recent(3, 1, "middle1", "old2", "new2")
	recent(2, 10, "middle1", "middle0", "new2", "new1", "new0") // a session without runs does not count
	k.delete(key("old"))
	recent(10, 1, "middle1", "new2")
}

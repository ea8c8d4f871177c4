package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// found are the ids of the runs that FindRuns finds, size at a time.
func (k *kit) found(q session.RunQuery, size int) (ids []string) {
	k.Helper()
	if k.store.RunLister == nil {
		k.Skip("the store does not list the runs of all sessions")
	}
	for page := (session.Page{Size: size}); ; {
		runs, next, err := k.store.RunLister.FindRuns(k.Context(), q, page)
		if err != nil || runs == nil {
			k.Fatalf("FindRuns(%+v, %+v): %v, %v", q, page, runs, err)
		}
		if size > 0 && len(runs) > size || next != "" && len(runs) != size || len(ids) > 1000 {
			k.Fatalf("a page of %d has %d runs and the token %q", size, len(runs), next)
		}
		for _, r := range runs {
			k.sameRun("a run that is found", k.run(r.Key, r.ID, r.Status), r)
			ids = append(ids, r.ID)
		}
		if next == "" {
			return ids
		}
		page.Token = next
	}
}

func (k *kit) findsRuns(q session.RunQuery, want ...string) {
	k.Helper()
	for _, size := range []int{0, 1, 2, 3, max(len(want), 1)} {
		if got := k.found(q, size); !slices.Equal(got, want) {
			k.Errorf("%+v, %d at a time: %v, want %v", q, size, got, want)
		}
	}
}

// The runs of an application are listed over all sessions, the newest first, and any of
// their statuses selects from all of them.
func runsFound(k *kit) {
	app := session.RunQuery{App: "app"}
	k.findsRuns(app)
	of := func(app, user, id string) session.Key { return session.Key{App: app, User: user, ID: id} }
	bob, foreign, hidden := of("app", "bob", "s"), of("other", "user", "s"), key("___eval___session___1")
	for _, s := range []session.Key{key("s"), key("t"), bob, foreign, hidden} {
		k.create(s, nil)
	}
	k.end(key("s"), k.start("broke", key("s")), session.End{Status: session.Failed, Failure: &session.Failure{Type: "t", Message: "m"}})
	k.complete(foreign, k.start("foreign", foreign))
	k.complete(hidden, k.start("hidden", hidden))
	for i := range 4 {
		k.complete(bob, k.start(fmt.Sprint("bob", i), bob))
	}
	k.end(key("t"), k.start("waits", key("t")), session.End{Status: session.Waiting, Usage: event.Usage{Total: 7}})
	k.complete(key("s"), k.start("done", key("s")))
	k.start("runs", key("s"))
	k.enqueue("gone", key("s"))
	k.stop(key("s"), "gone", session.StopCancel)
	k.enqueue("queued", key("s"))

	k.findsRuns(app, "queued", "gone", "runs", "done", "waits", "bob3", "bob2", "bob1", "bob0", "broke")
	k.findsRuns(session.RunQuery{App: "app", User: "user"}, "queued", "gone", "runs", "done", "waits", "broke")
	k.findsRuns(session.RunQuery{App: "app", User: "bob", Statuses: []session.Status{session.Completed}}, "bob3", "bob2", "bob1", "bob0")
	for status, want := range map[session.Status][]string{
		session.Queued: {"queued"}, session.Running: {"runs"}, session.Waiting: {"waits"}, session.Failed: {"broke"}, session.Cancelled: {"gone"},
		session.Completed: {"done", "bob3", "bob2", "bob1", "bob0"}, "unknown": nil,
	} {
		k.findsRuns(session.RunQuery{App: "app", Statuses: []session.Status{status}}, want...)
	}
	k.findsRuns(session.RunQuery{App: "app", Statuses: []session.Status{session.Failed, session.Cancelled, session.Waiting, session.Failed}}, "gone", "waits", "broke")
	k.findsRuns(session.RunQuery{App: "app", User: "unknown"})
	for _, id := range []string{"done", "bob2"} {
		at := k.run(map[string]session.Key{"done": key("s"), "bob2": bob}[id], id, session.Completed).Created
		before, _, err := k.store.RunLister.FindRuns(k.Context(), app, session.Page{Token: session.RunsBefore(at)})
		for _, r := range before {
			if !r.Created.Before(at) {
				k.Errorf("before %s, which was created %v: %s, created %v", id, at, r.ID, r.Created)
			}
		}
		since, _, sinceErr := k.store.RunLister.FindRuns(k.Context(), app, session.Page{Size: 1, Token: session.RunsBefore(at.Add(time.Microsecond))})
		if err != nil || sinceErr != nil || len(before) == 0 || len(since) != 1 || since[0].Created.Before(at) {
			k.Errorf("before %s: %v, %v; with it: %v, %v", id, before, err, since, sinceErr)
		}
	}
	k.findsRuns(session.RunQuery{App: "other"}, "foreign")
	k.findsRuns(session.RunQuery{App: "unknown"})

	k.delete(key("t"))
	k.delete(bob)
	k.findsRuns(app, "queued", "gone", "runs", "done", "broke")
}

// Runs that begin between two pages neither repeat nor hide others.
func runsFoundBetweenPages(k *kit) {
	want := []string{}
	for i := range 6 {
		s := key(fmt.Sprint(i))
		k.create(s, nil)
		k.complete(s, k.start(fmt.Sprint("run", i), s))
		want = append([]string{fmt.Sprint("run", i)}, want...)
	}
	var got []string
	page := session.Page{Size: 2}
	for i := 0; ; i++ {
		if k.store.RunLister == nil {
			k.Skip("the store does not list the runs of all sessions")
		}
		runs, next, err := k.store.RunLister.FindRuns(k.Context(), session.RunQuery{App: "app"}, page)
		if err != nil || i > 10 {
			k.Fatal(runIDs(runs), err)
		}
		if got = append(got, runIDs(runs)...); next == "" {
			break
		}
		page.Token = next
		s := key(fmt.Sprint("later", i))
		k.create(s, nil)
		k.complete(s, k.start(fmt.Sprint("later", i), s))
	}
	if !slices.Equal(got, want) {
		k.Errorf("found are %v, want %v", got, want)
	}
	for _, token := range []string{"x", "1", "-", "1-", "-1-1", "1-x", "' OR 1=1 --"} {
		if runs, _, err := k.store.RunLister.FindRuns(k.Context(), session.RunQuery{App: "app"}, session.Page{Size: 2, Token: token}); !errors.Is(err, session.ErrBadToken) {
			k.Errorf("the token %q: %v, %v, want ErrBadToken", token, runIDs(runs), err)
		}
	}
}

// Runs that begin together, and those that wait for them, are all found.
func runsFoundTogether(k *kit) {
	const n = 20
	var want []string
	for i := range n {
		k.create(key(fmt.Sprint(i)), nil)
		want = append(want, fmt.Sprintf("a%02d", i), fmt.Sprintf("b%02d", i))
	}
	k.together(n, func(i int) error {
		at := key(fmt.Sprint(i))
		message := asked(fmt.Sprintf("a%02d", i), at)
		message.Message = say("m")
		if _, err := k.store.Begin(k.Context(), message); err != nil {
			return err
		}
		_, err := k.store.Begin(k.Context(), asked(fmt.Sprintf("b%02d", i), at))
		return err
	})
	for _, q := range []session.RunQuery{{App: "app"}, {App: "app", User: "user"}} {
		got := k.found(q, 7)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			k.Errorf("%+v finds %v, want %v", q, got, want)
		}
	}
}

// RunOldRuns tests that a store finds runs that were stored before runs were listed.
// upgrade makes the open store one of the version before, and opens it again. add adds a
// completed run with an id, as the version before does, to the session that the test has
// created, whose id is "s".
func RunOldRuns(t *testing.T, store session.Store, upgrade func() session.Store, add func(id string)) {
	t.Helper()
	k := &kit{T: t, store: taker{store}}
	hidden := key("___eval___session___1")
	k.create(key("s"), nil)
	k.create(hidden, nil)
	k.complete(key("s"), k.start("old", key("s")))
	k.complete(hidden, k.start("hidden", hidden))
	k.store = taker{upgrade()}
	k.findsRuns(session.RunQuery{App: "app"}, "old")
	k.complete(key("s"), k.start("new", key("s")))
	add("between") // by a process of the version before, which still uses the database
	k.findsRuns(session.RunQuery{App: "app"}, "between", "new", "old")
	k.findsRuns(session.RunQuery{App: "app", User: "user", Statuses: []session.Status{session.Completed}}, "between", "new", "old")
}

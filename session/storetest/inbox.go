package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-run/parley/session"
)

// needsInbox skips a test for stores without an Inbox.
func needsInbox(do func(*kit)) func(*kit) {
	return func(k *kit) {
		if k.store.Inbox == nil {
			k.Skip("the store has no inbox")
		}
		do(k)
	}
}

// inbox are the ids of the runs that ListWaiting finds, size at a time.
func (k *kit) inbox(q session.WaitQuery, size int) []string {
	k.Helper()
	ids := []string{}
	page := session.Page{Size: size}
	for range 100 {
		runs, next, err := k.store.Inbox.ListWaiting(k.Context(), q, page)
		if err != nil {
			k.Fatalf("ListWaiting(%+v, %+v): %v", q, page, err)
		}
		if size > 0 && len(runs) > size {
			k.Fatalf("ListWaiting finds %d runs, and should find %d at most", len(runs), size)
		}
		for _, r := range runs {
			k.sameRun("a run that waits", k.run(r.Key, r.ID, session.Waiting), r)
		}
		ids = append(ids, runIDs(runs)...)
		if page.Token = next; next == "" {
			return ids
		}
	}
	k.Fatal("ListWaiting does not end")
	return nil
}

// The list has the runs that wait, of all sessions that are not hidden, also those that
// another one has resumed which waits itself.
func inboxList(k *kit) {
	of := func(app, user, id string) session.Key { return session.Key{App: app, User: user, ID: id} }
	for i, s := range []session.Key{of("a", "ann", "s"), of("a", "bob", "s"), of("b", "ann", "s"), of("a", "ann", "t"), of("a", "ann", "___eval___session___x")} {
		k.create(s, nil)
		k.wait(s, fmt.Sprint("wait-", i))
	}
	k.complete(of("a", "bob", "s"), k.start("chat", of("a", "bob", "s")))
	k.end(of("a", "ann", "t"), k.start("again", of("a", "ann", "t")), session.End{Status: session.Waiting, Resumes: "wait-3"})
	k.end(of("b", "ann", "s"), k.start("done", of("b", "ann", "s")), session.End{
		Status: session.Completed, Resumes: "wait-2", Settled: []session.Settled{{Run: "wait-2", Status: session.Completed, By: "done"}},
	})
	for _, tt := range []struct {
		q    session.WaitQuery
		want []string
	}{
		{session.WaitQuery{}, []string{"wait-0", "wait-1", "wait-3", "again"}},
		{session.WaitQuery{App: "a"}, []string{"wait-0", "wait-1", "wait-3", "again"}},
		{session.WaitQuery{App: "b"}, []string{}},
		{session.WaitQuery{App: "a", User: "ann"}, []string{"wait-0", "wait-3", "again"}},
		{session.WaitQuery{App: "a", User: "bob"}, []string{"wait-1"}},
		{session.WaitQuery{App: "a", User: "eve"}, []string{}},
		{session.WaitQuery{Age: time.Hour}, []string{}},
	} {
		for _, size := range []int{0, 1, 3} {
			if got := k.inbox(tt.q, size); !slices.Equal(got, tt.want) {
				k.Errorf("%+v, %d at a time: waiting are %v, want %v", tt.q, size, got, tt.want)
			}
		}
	}
	k.delete(of("a", "ann", "s"))
	if got, want := k.inbox(session.WaitQuery{App: "a", User: "ann"}, 2), []string{"wait-3", "again"}; !slices.Equal(got, want) {
		k.Errorf("when a session is gone, waiting are %v, want %v", got, want)
	}
}

// Runs that end to wait between two pages do not hide others.
func inboxPages(k *kit) {
	for i := range 4 {
		s := key(fmt.Sprint("s", i))
		k.create(s, nil)
		k.wait(s, fmt.Sprint("wait-", i))
	}
	first, next, err := k.store.Inbox.ListWaiting(k.Context(), session.WaitQuery{}, session.Page{Size: 2})
	if err != nil || len(first) != 2 || next == "" || next != session.WaitToken(first[1]) {
		k.Fatalf("ListWaiting: %v, %q, %v", runIDs(first), next, err)
	}
	if err := k.expire(key("s1"), 1, []string{"wait-1"}, say("l")); err != nil {
		k.Fatal(err)
	}
	rest, next, err := k.store.Inbox.ListWaiting(k.Context(), session.WaitQuery{}, session.Page{Size: 2, Token: next})
	if got, want := runIDs(rest), []string{"wait-2", "wait-3"}; err != nil || next != "" || !slices.Equal(got, want) {
		k.Errorf("the second page has %v, %q, %v, want %v", got, next, err, want)
	}
	for _, token := range []string{"x", "1", "1-", "-1-1", "1--1", "9223372036854775808-1"} {
		if _, _, err := k.store.Inbox.ListWaiting(k.Context(), session.WaitQuery{}, session.Page{Token: token}); !errors.Is(err, session.ErrBadToken) {
			k.Errorf("the token %q: error %v, want ErrBadToken", token, err)
		}
	}
}

package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// ids are what a list shows, in its order.
func ids(sessions []*session.Session) []string {
	list := make([]string, len(sessions))
	for i, s := range sessions {
		list[i] = s.ID
	}
	return list
}

// listed is the session as the list shows it.
func (k *kit) listed(id string) *session.Session {
	k.Helper()
	sessions, _ := k.list("app", "user", session.Page{})
	i := slices.Index(ids(sessions), id)
	if i < 0 {
		k.Fatalf("%s is not listed, but %v are", id, ids(sessions))
	}
	return sessions[i]
}

// pages reads a list to its end, size sessions at a time. Pages before the last
// are full, and the last is not empty unless it is the only one.
func (k *kit) pages(app, user string, size int) []string {
	k.Helper()
	var all []string
	for page := (session.Page{Size: size}); ; {
		sessions, next := k.list(app, user, page)
		all = append(all, ids(sessions)...)
		switch {
		case next != "" && len(sessions) != size:
			k.Fatalf("a page of %d has %d sessions, and there is another", size, len(sessions))
		case size > 0 && len(sessions) > size:
			k.Fatalf("a page of %d has %d sessions", size, len(sessions))
		case next == "" && len(sessions) == 0 && page.Token != "":
			k.Fatal("the page before said that there was another, and this one is empty")
		case len(all) > 10_000 || next != "" && next == page.Token:
			k.Fatalf("the list does not end: %v", all[:100])
		case next == "":
			return all
		}
		page.Token = next
	}
}

// fill makes the sessions s00, s01, … and returns their ids as they
// are listed: the newest first.
func (k *kit) fill(count int) []string {
	k.Helper()
	var list []string
	for i := range count {
		id := fmt.Sprintf("s%02d", i)
		k.create(key(id), state("n", fmt.Sprint(i)))
		list = append(list, id)
	}
	slices.Reverse(list)
	return list
}

// A user who has no sessions has an empty list; users need not be registered.
func listEmpty(k *kit) {
	for _, size := range []int{0, 1, 10} {
		if sessions, next := k.list("app", "user", session.Page{Size: size}); len(sessions) != 0 || next != "" {
			k.Errorf("a page of %d has %d sessions and the token %q", size, len(sessions), next)
		}
	}
	k.create(key("s"), state("user:a", "1"))
	k.delete(key("s"))
	if got := k.pages("app", "user", 0); len(got) != 0 {
		k.Errorf("listed is %v after it was deleted", got)
	}
}

// The order is that of creation, also for sessions that were made in the same
// tick of the clock. It does not follow the writes: a list in the order of the
// last change cannot be read in pages while people talk.
func listNewestFirst(k *kit) {
	want := k.fill(20)
	if got := k.pages("app", "user", 0); !slices.Equal(got, want) {
		k.Errorf("listed are\n%v, want\n%v", got, want)
	}
	for i := range 10 {
		k.patch(key(want[(i*7)%20]), set("e", "a", "1"))
	}
	if got := k.pages("app", "user", 0); !slices.Equal(got, want) {
		k.Errorf("after writes listed are\n%v, want\n%v", got, want)
	}
}

// A list shows each session as Get without its events does, the shared state
// included: clients take the titles of conversations from it.
func listContent(k *kit) {
	k.create(key("a"), state("own", "1", "user:u", "2"), number("e", 3)...)
	k.create(key("b"), state("own", "3", "app:p", "4"))
	k.patch(key("b"), set("e", "user:v", "5", "title", `"B"`))
	sessions, _ := k.list("app", "user", session.Page{})
	if !slices.Equal(ids(sessions), []string{"b", "a"}) {
		k.Fatalf("listed are %v", ids(sessions))
	}
	for _, s := range sessions {
		if len(s.Entries) != 0 {
			k.Errorf("%v is listed with %d entries", s.Key, len(s.Entries))
		}
		k.same("listed", look(k.read(s.Key, session.Read{NoEvents: true})), look(s))
	}
	k.hasState(sessions[0], "own", "3", "title", `"B"`, "user:u", "2", "user:v", "5", "app:p", "4")
	k.hasState(sessions[1], "own", "1", "user:u", "2", "user:v", "5", "app:p", "4")
}

// A list has neither sessions of other users nor those of other applications.
func listOthers(k *kit) {
	owners := []struct{ app, user string }{
		{"app", "user"}, {"app", "other"}, {"other", "user"}, {"user", "app"}, {"app", "User"}, {"app", "use"}, {"app", "%"}, {"app", "_ser"}, {"ap", "user"},
	}
	for i := range 3 {
		for _, o := range owners {
			k.create(session.Key{App: o.app, User: o.user, ID: fmt.Sprintf("%s/%s/%d", o.app, o.user, i)}, nil)
		}
	}
	for _, o := range owners {
		for _, size := range []int{0, 1, 2} {
			got, prefix := k.pages(o.app, o.user, size), o.app+"/"+o.user+"/"
			if want := []string{prefix + "2", prefix + "1", prefix + "0"}; !slices.Equal(got, want) {
				k.Errorf("List(%q, %q) in pages of %d: %v, want %v", o.app, o.user, size, got, want)
			}
		}
	}
}

// Sessions of evaluations can be read but are not listed. They take no place on
// a page either: a page that is short, or empty, is not the last one's sign.
func listHidden(k *kit) {
	hide := func(n int) {
		for _, id := range []string{"___eval___session___", "adk-eval-session-"} {
			key := key(fmt.Sprint(id, n))
			if !key.Hidden() {
				k.Fatalf("%v is not hidden", key)
			}
			k.create(key, state("n", fmt.Sprint(n)))
		}
	}
	var want []string
	for i := range 9 {
		hide(i) // the oldest of all are hidden
		if i%3 == 0 {
			hide(100 + i)
		}
		id := fmt.Sprint("s", i)
		k.create(key(id), nil)
		want = append(want, id)
	}
	hide(200) // and so are the newest
	for _, id := range []string{"x___eval___session___", "___EVAL___session___", "adk_eval_session_", "aXXeval"} {
		k.create(key(id), nil) // near, but not hidden
		want = append(want, id)
	}
	slices.Reverse(want)
	for _, size := range []int{0, 1, 2, 3, 5, 13, 14} {
		if got := k.pages("app", "user", size); !slices.Equal(got, want) {
			k.Errorf("pages of %d:\n%v, want\n%v", size, got, want)
		}
	}
	k.hasState(k.get(key("adk-eval-session-3")), "n", "3")
	k.delete(key("adk-eval-session-3"))
	k.missing(key("adk-eval-session-3"))
}

// The pages of a list together are the list.
func listPages(k *kit) {
	want := k.fill(25)
	for _, size := range []int{1, 3, 7, 24, 25, 26, 1000, 0} {
		if got := k.pages("app", "user", size); !slices.Equal(got, want) {
			k.Errorf("pages of %d:\n%v, want\n%v", size, got, want)
		}
	}
}

// A token is a place in the list, whatever the size of the page that it came
// from and of the one that it is for.
func listRestAfterPage(k *kit) {
	want := k.fill(25)
	first, token := k.list("app", "user", session.Page{Size: 10})
	for _, size := range []int{0, 15, 100} {
		rest, next := k.list("app", "user", session.Page{Size: size, Token: token})
		if got := append(ids(first), ids(rest)...); !slices.Equal(got, want) || next != "" {
			k.Errorf("10 and then %d: %v and the token %q, want %v", size, got, next, want)
		}
	}
}

// Between two pages people make and delete sessions. Those that are there all
// the time are shown once each, whatever happens around them, to the session
// that the token stands for, or to all that were shown so far.
func listChangesBetweenPages(k *kit) {
	all := k.fill(25)
	stays := slices.Clone(all)
	drop := func(id string) {
		k.delete(key(id))
		stays = slices.DeleteFunc(stays, func(other string) bool { return other == id })
	}
	var got []string
	token := ""
	for page := 0; ; page++ {
		sessions, next := k.list("app", "user", session.Page{Size: 3, Token: token})
		shown := ids(sessions)
		got = append(got, shown...)
		if next == "" {
			break
		}
		token = next
		k.create(key(fmt.Sprint("new", page)), nil)
		k.patch(key(all[24]), set(fmt.Sprint("e", page), "a", "1"))
		switch page {
		case 0:
			drop(shown[2]) // the one that the token stands for
		case 1:
			drop(shown[2])
			k.create(key(shown[2]), nil) // and it comes back as a new one
		case 2:
			for _, id := range shown {
				drop(id)
			}
		case 3:
			drop(all[13]) // not shown yet
			drop(all[20])
		}
		if page > 20 {
			k.Fatalf("the list does not end: %v", got)
		}
	}
	for _, id := range stays {
		if n := count(got, id); n != 1 {
			k.Errorf("%s was shown %d times", id, n)
		}
	}
	for _, id := range []string{all[13], all[20]} {
		if n := count(got, id); n != 0 {
			k.Errorf("%s was shown %d times after it was deleted", id, n)
		}
	}
}

// The same with people who do not wait for the page to be turned.
func listConcurrentChanges(k *kit) {
	const churners, rounds = 3, 30
	stays := k.fill(25)
	done := make(chan struct{}, churners)
	k.together(churners+2, func(i int) error {
		if i < churners {
			defer func() { done <- struct{}{} }()
			for n := range rounds {
				key := key(fmt.Sprintf("churn%d-%d", i, n%4))
				if _, err := k.store.Create(k.Context(), key, nil, nil); err != nil {
					return err
				}
				if err := k.store.Delete(k.Context(), key); err != nil {
					return err
				}
			}
			return nil
		}
		for len(done) < churners {
			var got []string
			for token := ""; ; {
				sessions, next, err := k.store.List(k.Context(), "app", "user", session.Page{Size: i, Token: token})
				if err != nil {
					return err
				}
				got = append(got, ids(sessions)...)
				if token = next; token == "" {
					break
				}
			}
			got = slices.DeleteFunc(got, func(id string) bool { return strings.HasPrefix(id, "churn") })
			if !slices.Equal(got, stays) {
				return fmt.Errorf("pages of %d:\n%v, want\n%v", i, got, stays)
			}
		}
		return nil
	})
}

func count(list []string, id string) int {
	n := 0
	for _, other := range list {
		if other == id {
			n++
		}
	}
	return n
}

// Tokens come back through clients. One that is not ours is the client's
// mistake, and neither the store's failure nor the first page again.
func listBadToken(k *kit) {
	k.fill(3)
	for _, token := range []string{
		"!", "next", " ", "-1", "-", "1.5", " 1", "0x1", "1e3", "1;", "' OR 1=1 --", "null", "\x00", "\xff", "😀",
		"99999999999999999999999999", strings.Repeat("A", 10_000),
	} {
		for _, user := range []string{"user", "unknown"} {
			sessions, next, err := k.store.List(k.Context(), "app", user, session.Page{Size: 2, Token: token})
			if !errors.Is(err, session.ErrBadToken) {
				k.Errorf("token %.30q: error %v, want ErrBadToken", token, err)
			}
			if len(sessions) != 0 || next != "" {
				k.Errorf("token %.30q: %d sessions and the token %q with the error", token, len(sessions), next)
			}
		}
	}
}

// Page.Ends adds the first and the last entries, each once, and none that is too
// long to be shown.
func listEnds(k *kit) {
	k.create(key("empty"), nil)
	k.create(key("short"), nil)
	k.patch(key("short"), entry(&event.Event{ID: "only", Author: "user"}))
	k.create(key("long"), nil)
	for i := range 7 {
		ev := &event.Event{ID: fmt.Sprint("e", i+1), Author: "user"}
		if i == 5 {
			ev.ErrorMessage = strings.Repeat("x", session.MaxEnd)
		}
		k.patch(key("long"), entry(ev))
	}
	sessions, _ := k.list("app", "user", session.Page{Ends: 2})
	if len(sessions) == 3 && len(sessions[0].Entries) == 0 {
		k.Skip("the store has no ends of logs")
	}
	for i, want := range [][]int64{{1, 2, 7}, {1}, {}} {
		got := []int64{}
		for _, e := range sessions[i].Entries {
			got = append(got, e.Seq)
			if ev, err := e.Decode(); err != nil || ev.Author != "user" {
				k.Errorf("entry %d of %s: %v, %v", e.Seq, sessions[i].ID, ev, err)
			}
		}
		if !slices.Equal(got, want) {
			k.Errorf("the ends of %s: %v, want %v", sessions[i].ID, got, want)
		}
	}
	if plain := k.listed("long"); len(plain.Entries) != 0 {
		k.Errorf("a list without ends has %d entries", len(plain.Entries))
	}
}

package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/session"
)

// Delete makes sure that a session is gone. A client that got no answer asks
// again, and must not be told that something is wrong.
func deleteIdempotent(k *kit) {
	k.create(key("s"), state("a", "1"), number("e", 3)...)
	k.create(key("sibling"), state("a", "2"), say("e0"))
	k.delete(key("s"))
	k.missing(key("s"))
	k.delete(key("s"))
	k.delete(key("never"))
	k.together(10, func(int) error { return k.store.Delete(k.Context(), key("sibling")) })
	k.missing(key("sibling"))
	if sessions, _ := k.list("app", "user", session.Page{}); len(sessions) != 0 {
		k.Errorf("%d sessions are listed after all were deleted", len(sessions))
	}
}

// What a session shares does not belong to it: not even the last session of a
// user takes the user's state along.
func deleteSharedStateStays(k *kit) {
	k.create(key("s"), state("a", "1", "user:a", "2", "app:a", "3"))
	k.create(key("sibling"), nil)
	k.patch(key("s"), set("e", "b", "1", "user:b", "2", "app:b", "3"))
	k.delete(key("s"))
	k.hasState(k.get(key("sibling")), "user:a", "2", "user:b", "2", "app:a", "3", "app:b", "3")
	k.delete(key("sibling"))
	k.hasState(k.create(key("later"), nil), "user:a", "2", "user:b", "2", "app:a", "3", "app:b", "3")
}

// A session with the name of a deleted one is another session.
func deleteFreshAfterwards(k *kit) {
	for round := range 3 {
		made := k.create(key("s"), state("given", fmt.Sprint(round)))
		k.hasState(made, "given", fmt.Sprint(round))
		k.hasLog(made)
		epoch := k.acquire(key("s"))
		k.append(key("s"), epoch, set("e0", "a", "1", fmt.Sprint("b", round), "1"), say("e1"))
		k.append(key("s"), epoch, number("f", 20)...)
		k.hasLog(k.get(key("s")), append([]*session.Entry{
			set("e0", "a", "1", fmt.Sprint("b", round), "1"), say("e1"),
		}, number("f", 20)...)...)
		k.delete(key("s"))
		k.missing(key("s"))
	}
	k.create(key("other"), nil)
	k.create(key("s"), nil, say("new"))
	s := k.get(key("s"))
	k.hasState(s)
	k.hasLog(s, say("new"))
	k.hasEntries(k.read(key("s"), session.Read{After: 1}), 1, nil)
	if got := k.pages("app", "user", 0); !slices.Equal(got, []string{"s", "other"}) {
		k.Errorf("listed are %v, want s and other", got)
	}
}

// A session is deleted and made again while others write to it. Every write
// either happened before or fails, and what was written
// to the old session is not in the new one.
func deleteUnderWriters(k *kit) {
	const rounds, writers, writes = 10, 4, 25
	k.create(key("s"), nil)
	for round := range rounds {
		epoch := k.acquire(key("s"))
		k.together(writers+1, func(i int) error {
			if i == writers {
				if err := k.store.Delete(k.Context(), key("s")); err != nil {
					return err
				}
				_, err := k.store.Create(k.Context(), key("s"), nil, []*session.Entry{say("first")})
				return err
			}
			for n := range writes {
				e := say(fmt.Sprintf("%d-%d-%d", round, i, n))
				if i == 0 {
					err := k.store.Append(k.Context(), key("s"), epoch, e)
					if errors.Is(err, session.ErrFenced) {
						return nil
					} else if err != nil {
						return err
					}
				} else if err := k.store.Patch(k.Context(), key("s"), e); err != nil && !errors.Is(err, session.ErrNotFound) {
					return err
				}
			}
			return nil
		})
		ids := k.dense(k.get(key("s")))
		if len(ids) == 0 || ids[0] != "first" {
			k.Fatalf("the new session begins with %v", ids)
		}
		owner := fmt.Sprintf("%d-0-", round)
		if slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, owner) }) {
			k.Fatalf("the new session has what the owner of the old one wrote: %v", ids)
		}
		k.fenced(key("s"), epoch, "after Delete and Create under writers")
		k.delete(key("s"))
		k.create(key("s"), nil)
		k.hasLog(k.get(key("s")))
	}
}

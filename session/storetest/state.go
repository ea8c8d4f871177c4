package storetest

import (
	"fmt"

	"github.com/parley-run/parley/session"
)

// The prefix of a key says what shares it: only this session, all sessions of the
// user in the application, or all sessions of the application. State of one user
// is never visible to another user or in another application.
func stateScopes(k *kit) {
	var (
		mine    = session.Key{App: "app", User: "ann", ID: "mine"}
		sibling = session.Key{App: "app", User: "ann", ID: "sibling"}
		bob     = session.Key{App: "app", User: "bob", ID: "mine"}
		foreign = session.Key{App: "other", User: "ann", ID: "mine"}
		odd     = session.Key{App: "ann", User: "app", ID: "mine"}
	)
	for _, key := range []session.Key{mine, sibling, bob, foreign, odd} {
		k.create(key, nil)
	}
	k.append(mine, k.acquire(mine), set("e", "k", "1", "user:k", "2", "app:k", "3", "users:k", "4", "application", "5"))
	k.hasState(k.get(mine), "k", "1", "user:k", "2", "app:k", "3", "users:k", "4", "application", "5")
	k.hasState(k.get(sibling), "user:k", "2", "app:k", "3")
	k.hasState(k.get(bob), "app:k", "3")
	k.hasState(k.get(foreign))
	k.hasState(k.get(odd))

	// All who share a key may change it, and all see the last change.
	k.patch(sibling, set("e", "k", "10", "user:k", "20"))
	k.patch(bob, set("e", "user:k", "200", "app:k", "300"))
	k.hasState(k.get(mine), "k", "1", "user:k", "20", "app:k", "300", "users:k", "4", "application", "5")
	k.hasState(k.get(sibling), "k", "10", "user:k", "20", "app:k", "300")
	k.hasState(k.get(bob), "user:k", "200", "app:k", "300")
	k.hasState(k.get(foreign))

	// A later session has it, by every way of reading.
	late := session.Key{App: "app", User: "ann", ID: "late"}
	k.hasState(k.create(late, state("k", "5")), "k", "5", "user:k", "20", "app:k", "300")
	k.hasState(k.read(late, session.Read{NoEvents: true}), "k", "5", "user:k", "20", "app:k", "300")
	s, _, err := k.store.Acquire(k.Context(), late)
	if err != nil {
		k.Fatal(err)
	}
	k.hasState(s, "k", "5", "user:k", "20", "app:k", "300")
	k.hasState(k.create(session.Key{App: "app", User: "carol", ID: "s"}, nil), "app:k", "300")
	k.hasState(k.create(session.Key{App: "third", User: "ann", ID: "s"}, nil))
}

// State that is given when a session is made goes the same ways.
func stateAtCreate(k *kit) {
	ann := session.Key{App: "app", User: "ann", ID: "s"}
	k.hasState(k.create(ann, state("k", "1", "user:k", "2", "app:k", "3")), "k", "1", "user:k", "2", "app:k", "3")
	k.hasState(k.create(session.Key{App: "app", User: "ann", ID: "t"}, state("user:l", "4")), "user:k", "2", "user:l", "4", "app:k", "3")
	k.hasState(k.create(session.Key{App: "app", User: "bob", ID: "s"}, state("app:k", "5")), "app:k", "5")
	k.hasState(k.create(session.Key{App: "other", User: "ann", ID: "s"}, nil))
	k.hasState(k.get(ann), "k", "1", "user:k", "2", "user:l", "4", "app:k", "5")
}

// null deletes, in every scope and for everyone who shares the key. A null
// inside of a value is a value.
func stateNullDeletes(k *kit) {
	k.create(key("s"), state("a", "1", "b", "1", "user:a", "1", "user:b", "1", "app:a", "1", "app:b", "1"))
	k.create(key("sibling"), state("a", "2"))
	k.create(session.Key{App: "app", User: "bob", ID: "s"}, state("user:a", "3"))

	k.patch(key("s"), set("e0", "a", "null", "user:a", "null", "app:a", "null", "never", "null", "user:never", "null", "app:never", "null"))
	k.hasState(k.get(key("s")), "b", "1", "user:b", "1", "app:b", "1")
	k.hasState(k.get(key("sibling")), "a", "2", "user:b", "1", "app:b", "1")
	k.hasState(k.get(session.Key{App: "app", User: "bob", ID: "s"}), "user:a", "3", "app:b", "1")

	k.append(key("s"), k.acquire(key("s")), set("e1", "a", `[null]`, "b", `"null"`, "user:a", `{"x":null}`, "user:b", "null", "app:b", "null"))
	k.hasState(k.get(key("s")), "a", `[null]`, "b", `"null"`, "user:a", `{"x":null}`)
}

// A state to begin with is a delta on nothing, and on what is shared.
func stateNullAtCreate(k *kit) {
	k.create(key("s"), state("user:a", "1", "user:b", "1", "app:a", "1", "app:b", "1"))
	s := k.create(key("t"), state("a", "null", "b", "2", "user:a", "null", "app:a", "null", "user:never", "null"))
	k.hasState(s, "b", "2", "user:b", "1", "app:b", "1")
	k.hasState(k.get(key("t")), "b", "2", "user:b", "1", "app:b", "1")
	k.hasState(k.get(key("s")), "user:b", "1", "app:b", "1")
}

// temp: keys live only as long as a run: a store never has them.
func stateTempIsNowhere(k *kit) {
	made := k.create(key("s"), state("temp:a", "1", "temp:", "2", "kept", "3", "temperature", "4"))
	k.create(key("sibling"), nil)
	acquired, _, err := k.store.Acquire(k.Context(), key("s"))
	if err != nil {
		k.Fatal(err)
	}
	for _, s := range []*session.Session{made, acquired, k.get(key("s")), k.listed("s")} {
		k.hasState(s, "kept", "3", "temperature", "4")
	}
	k.hasState(k.get(key("sibling")))
}

// Sessions that write different keys of a shared state for the first time, all
// at once: a store that reads the shared state, changes it and writes it back
// loses all but the last, and one that makes it when it is missing makes it
// twenty times.
func stateConcurrentFirstWrites(k *kit) {
	for app := range firstRounds {
		for i := range firstWriters {
			k.create(nth(app, i), nil)
		}
		k.together(firstWriters, func(i int) error {
			n, key := fmt.Sprint(i), nth(app, i)
			delta := set("e", "k", n, "user:k"+n, n, "app:k"+n, n)
			if i%2 == 0 {
				return k.store.Patch(k.Context(), key, delta)
			}
			_, epoch, err := k.store.Acquire(k.Context(), key)
			if err != nil {
				return err
			}
			return k.store.Append(k.Context(), key, epoch, delta)
		})
		k.noneLost(app)
	}
}

// The same by the way of Create, when neither the user nor the application
// exists in the store.
func stateConcurrentFirstCreates(k *kit) {
	for app := range firstRounds {
		k.together(firstWriters, func(i int) error {
			n := fmt.Sprint(i)
			_, err := k.store.Create(k.Context(), nth(app, i), state("k", n, "user:k"+n, n, "app:k"+n, n), nil)
			return err
		})
		k.noneLost(app)
	}
}

// There is one first time for each application, so it takes several.
const firstRounds, firstWriters = 10, 20

func nth(app, i int) session.Key {
	return session.Key{App: fmt.Sprint("app", app), User: "user", ID: fmt.Sprint("s", i)}
}

// noneLost wants the sessions of an application to have a key k of their own,
// and user:kN and app:kN of every one of them.
func (k *kit) noneLost(app int) {
	k.Helper()
	var shared []string
	for i := range firstWriters {
		n := fmt.Sprint(i)
		shared = append(shared, "user:k"+n, n, "app:k"+n, n)
	}
	sessions, _ := k.list(nth(app, 0).App, "user", session.Page{})
	if len(sessions) != firstWriters {
		k.Errorf("%d sessions, want %d", len(sessions), firstWriters)
	}
	for _, s := range sessions {
		k.hasState(s, append(shared, "k", s.ID[1:])...)
	}
}

// Sessions that each keep counting in keys of their own, in all scopes: every
// count arrives, and none is overwritten with what another session had read.
func stateConcurrentCounters(k *kit) {
	const writers, counts = 20, 30
	for i := range writers {
		k.create(key(fmt.Sprint("s", i)), nil)
	}
	k.together(writers, func(i int) error {
		key := key(fmt.Sprint("s", i))
		s, epoch, err := k.store.Acquire(k.Context(), key)
		if err != nil {
			return err
		}
		for n := range counts {
			names := []string{"k", fmt.Sprint("user:k", i), fmt.Sprint("app:k", i)}
			var delta []string
			for _, name := range names {
				was := 0
				if v, ok := s.State[name]; ok {
					if _, err := fmt.Sscan(string(v), &was); err != nil {
						return err
					}
				}
				if was != n {
					return fmt.Errorf("%s is %d, want %d", name, was, n)
				}
				delta = append(delta, name, fmt.Sprint(was+1))
			}
			if err := k.store.Append(k.Context(), key, epoch, set(fmt.Sprint("e", n), delta...)); err != nil {
				return err
			}
			if s, err = k.store.Get(k.Context(), key, session.Read{NoEvents: true}); err != nil {
				return err
			}
		}
		return nil
	})
	s := k.get(key("s0"))
	for i := range writers {
		for _, name := range []string{fmt.Sprint("user:k", i), fmt.Sprint("app:k", i)} {
			if got := string(s.State[name]); got != fmt.Sprint(counts) {
				k.Errorf("%s is %s, want %d", name, got, counts)
			}
		}
	}
}

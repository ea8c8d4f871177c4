package storetest

import (
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// rewind is an entry that rewinds what an invocation has said.
func rewind(id, invocation string) *session.Entry {
	return entry(&event.Event{ID: id, InvocationID: "i-" + id, Author: "user", Timestamp: 1.5, Actions: event.Actions{RewindBeforeInvocationID: invocation}})
}

// rewound wants all ways of reading to say where the log was last rewound.
func (k *kit) rewound(key session.Key, want int64) {
	k.Helper()
	s := k.get(key)
	for what, got := range map[string]*session.Session{
		"Get": s, "Get without events": k.read(key, session.Read{NoEvents: true}), "Get after the end": k.read(key, session.Read{After: s.Seq}), "List": k.listed(key.ID),
	} {
		if got.Rewound != want {
			k.Errorf("%s says that the log was last rewound at %d, want %d", what, got.Rewound, want)
		}
	}
}

// Readers leave out what was rewound, and look for it only when they are
// told to: if a store forgot to, people would see again what they have undone.
// Every way into the log counts.
func rewoundMark(k *kit) {
	k.create(key("s"), nil, say("e0"))
	k.rewound(key("s"), 0)
	k.patch(key("s"), rewind("r1", "i"))
	k.rewound(key("s"), 2)
	k.patch(key("s"), say("e2"))
	k.rewound(key("s"), 2)
	req := asked("one", key("s"))
	req.Message = rewind("r3", "i")
	begun := k.begin(req)
	if begun.Session.Rewound != 2 {
		k.Errorf("Begin says that the log was last rewound at %d, want 2", begun.Session.Rewound)
	}
	k.rewound(key("s"), 4)
	k.append(key("s"), begun.Run.Epoch, say("e4"), rewind("r5", "none"), say("e6"))
	k.rewound(key("s"), 6)
	k.append(key("s"), begun.Run.Epoch, rewind("r7", "i"), rewind("r8", "i"))
	k.rewound(key("s"), 9)
	k.end(key("s"), begun.Run.Epoch, session.End{Status: session.Completed, Entries: []*session.Entry{say("e9"), rewind("r10", "i")}})
	k.rewound(key("s"), 11)
	if begun := k.begin(asked("two", key("s"))); begun.Session.Rewound != 11 {
		k.Errorf("Begin says that the log was last rewound at %d, want 11", begun.Session.Rewound)
	}

	made := k.create(key("import"), nil, say("e0"), rewind("r1", "i"), say("e2"))
	if made.Rewound != 2 {
		k.Errorf("Create says that the log was last rewound at %d, want 2", made.Rewound)
	}
	k.rewound(key("import"), 2)
	k.hasLog(k.get(key("import")), say("e0"), rewind("r1", "i"), say("e2")) // nothing is lost

	k.delete(key("import"))
	k.create(key("import"), nil, say("e0"))
	k.rewound(key("import"), 0)
}

// hasInitial wants the state that the session was made with.
func (k *kit) hasInitial(s *session.Session, want session.State) {
	k.Helper()
	if want, got := texts(want), texts(s.Initial); !maps.Equal(want, got) {
		k.Errorf("the initial state of %v (-want +got):\n%s", s.Key, cmp.Diff(want, got))
	}
}

// What a session was made with is where everything can be worked out from
// again. It is the session's own, and no later change touches it.
func initialStays(k *kit) {
	given := state("a", "1", "b", `"\u0000"`, "n", "null", "user:u", "2", "app:p", "3", "temp:t", "4", "x", "1e400")
	want := state("a", "1", "b", `"\u0000"`, "x", "1e400")
	ask := session.Read{Initial: true}
	k.create(key("s"), given, set("e0", "a", "5", "c", "6"))
	k.hasState(k.get(key("s")), "a", "5", "b", `"\u0000"`, "c", "6", "x", "1e400", "user:u", "2", "app:p", "3")
	k.hasInitial(k.read(key("s"), ask), want)
	k.patch(key("s"), set("e1", "a", "null", "b", "7", "d", "8"))
	req := asked("run", key("s"))
	req.Read, req.Message = ask, set("e2", "x", "null")
	begun := k.begin(req)
	k.hasInitial(begun.Session, want)
	k.handOver(key("s"), begun.Run.Epoch)
	begun, err := k.store.Claim(k.Context(), key("s"), session.Read{Initial: true, After: 2})
	if err != nil {
		k.Fatal(err)
	}
	k.hasInitial(begun.Session, want)
	k.hasInitial(k.read(key("s"), session.Read{Initial: true, NoEvents: true}), want)
	k.hasState(k.get(key("s")), "b", "7", "c", "6", "d", "8", "user:u", "2", "app:p", "3")

	k.create(key("bare"), nil, set("e0", "a", "5"))
	k.hasInitial(k.read(key("bare"), ask), nil)
	k.delete(key("s"))
	k.create(key("s"), state("new", "1"))
	k.hasInitial(k.read(key("s"), ask), state("new", "1"))
}

// An imported log tells what the session has been through. What its user and
// its application have by now is more recent, and must not be set back by it.
func importOwnScope(k *kit) {
	k.create(key("s"), state("user:a", `"now"`, "user:b", `"now"`, "app:a", `"now"`))
	made := k.create(key("import"), state("own", "0", "user:c", `"given"`, "app:c", `"given"`),
		set("e0", "own", "1", "user:a", `"then"`, "user:b", "null", "user:c", `"then"`, "user:d", `"then"`, "app:a", "null", "app:d", `"then"`),
		set("e1", "own", "2", "more", "3"), set("e2", "more", "null"))
	shared := []string{"user:a", `"now"`, "user:b", `"now"`, "user:c", `"given"`, "app:a", `"now"`, "app:c", `"given"`}
	k.hasState(made, append(shared, "own", "2")...)
	k.hasState(k.get(key("import")), append(shared, "own", "2")...)
	k.hasState(k.get(key("s")), shared...)
	k.hasLog(made, set("e0", "own", "1", "user:a", `"then"`, "user:b", "null", "user:c", `"then"`, "user:d", `"then"`, "app:a", "null", "app:d", `"then"`),
		set("e1", "own", "2", "more", "3"), set("e2", "more", "null"))
}

// Sessions that had the same name one after the other are distinguished, by
// whatever way they are read: a cache would mix their logs.
func ordinalDistinguishes(k *kit) {
	last := int64(0)
	for range 3 {
		made := k.create(key("s"), nil)
		if made.Ordinal <= last {
			k.Errorf("the ordinal %d comes after %d", made.Ordinal, last)
		}
		last = made.Ordinal
		k.patch(key("s"), say("e"))
		begun := k.begin(asked("run", key("s")))
		for what, got := range map[string]*session.Session{
			"Get": k.get(key("s")), "Get without events": k.read(key("s"), session.Read{NoEvents: true}), "List": k.listed("s"), "Begin": begun.Session,
		} {
			if got.Ordinal != made.Ordinal {
				k.Errorf("%s says that the ordinal is %d, want %d", what, got.Ordinal, made.Ordinal)
			}
		}
		if other := k.create(key("other"), nil); other.Ordinal == made.Ordinal {
			k.Errorf("two sessions have the ordinal %d", other.Ordinal)
		}
		k.delete(key("other"))
		k.delete(key("s"))
	}
}

// A fork knows where it comes from, wherever it is read, and the branches of a
// session are found by its root.
func originKept(k *kit) {
	k.create(key("root"), nil)
	k.create(key("other"), nil)
	elsewhere := key("root")
	elsewhere.User = "other-user"
	k.create(elsewhere, nil)
	fork := func(id, of, at string) *session.Origin {
		k.Helper()
		o := &session.Origin{Session: of, Event: at, Root: "root"}
		made, err := k.store.Store.Create(k.Context(), session.NewSession{Key: key(id), Log: number(id, 2), Origin: o})
		if err != nil {
			k.Fatalf("Create: %v", err)
		}
		if diff := cmp.Diff(o, made.Origin); diff != "" {
			k.Errorf("the origin of what was made (-want +got):\n%s", diff)
		}
		return o
	}
	want := map[string]*session.Origin{"root": nil, "one": fork("one", "root", "e-1"), "two": fork("two", "one", "")}
	k.complete(key("two"), k.start("run", key("two")))
	for id, origin := range want {
		if diff := cmp.Diff(origin, k.get(key(id)).Origin); diff != "" {
			k.Errorf("the origin of %s (-want +got):\n%s", id, diff)
		}
	}
	list := func(page session.Page) (ids []string) {
		k.Helper()
		found, _, err := k.store.List(k.Context(), key("").App, key("").User, page)
		if err != nil {
			k.Fatalf("List: %v", err)
		}
		for _, s := range found {
			ids = append(ids, s.ID)
			if diff := cmp.Diff(want[s.ID], s.Origin); diff != "" {
				k.Errorf("the origin of %s in a list (-want +got):\n%s", s.ID, diff)
			}
		}
		return ids
	}
	for root, ids := range map[string][]string{"root": {"two", "one", "root"}, "one": {"one"}, "none": nil} {
		if got := list(session.Page{Filter: session.Filter{Root: root}}); !slices.Equal(got, ids) {
			k.Errorf("the branches of %s are %v, want %v", root, got, ids)
		}
	}
	if got := list(session.Page{}); len(got) != 4 {
		k.Errorf("all sessions are %v", got)
	}
	k.delete(key("root"))
	if got, ids := list(session.Page{Filter: session.Filter{Root: "root"}}), []string{"two", "one"}; !slices.Equal(got, ids) {
		k.Errorf("the branches of a session that is gone are %v, want %v", got, ids)
	}
}

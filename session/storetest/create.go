package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parley-run/parley/session"
)

// What Create answers is what Get answers: the client that made a session and
// the one that reads it must not disagree, not even about the time.
func createRoundTrip(k *kit) {
	given := state("n", "1", "s", `"text"`, "o", `{"b":[1,2],"a":null}`, "user:u", "true", "app:a", "[]")
	made := k.create(key("s"), given)

	if made.Key != key("s") {
		k.Errorf("Key is %v", made.Key)
	}
	k.hasState(made, "n", "1", "s", `"text"`, "o", `{"b":[1,2],"a":null}`, "user:u", "true", "app:a", "[]")
	k.hasLog(made)
	if made.Created.IsZero() || made.Updated.Before(made.Created) {
		k.Errorf("created %v, updated %v", made.Created, made.Updated)
	}
	k.same("Get after Create", look(made), look(k.get(key("s"))))

	// The map stays the caller's.
	clear(given)
	given["n"] = []byte("2")
	k.same("Get after the caller changed its map", look(made), look(k.get(key("s"))))

	bare := k.create(key("bare"), nil)
	k.hasState(bare, "user:u", "true", "app:a", "[]")
	k.hasLog(bare)
}

// Two clients that create one session must not both be told that it is theirs,
// and nothing of a loser may be left: not its log, and not what it would have
// shared.
func createOneWins(k *kit) {
	const rounds, clients = 20, 10
	for round := range rounds {
		key := session.Key{App: fmt.Sprint("app", round), User: "user", ID: "s"}
		winners := make(chan int, clients)
		k.together(clients, func(i int) error {
			n := fmt.Sprint(i)
			_, err := k.store.Create(k.Context(), key,
				state("winner", n, "user:winner", n, "app:winner", n, "user:by"+n, n), []*session.Entry{say("e" + n)})
			if err == nil {
				winners <- i
			} else if !errors.Is(err, session.ErrExists) {
				return fmt.Errorf("create %d: error %w, want ErrExists", i, err)
			}
			return nil
		})
		if len(winners) != 1 {
			k.Fatalf("%d of %d creates won, want 1", len(winners), clients)
		}
		n := fmt.Sprint(<-winners)
		s := k.get(key)
		k.hasState(s, "winner", n, "user:winner", n, "app:winner", n, "user:by"+n, n)
		k.hasLog(s, say("e"+n))
	}
}

// A session is not there, or it is there with all that it was made with: a
// reader who comes in between must not take the beginning for the whole.
func createSeenWhole(k *kit) {
	const rounds = 20
	log := number("e", 30)
	for round := range rounds {
		key := key(fmt.Sprint("s", round))
		k.together(4, func(i int) error {
			if i == 0 {
				_, err := k.store.Create(k.Context(), key, state("a", "1"), number("e", len(log)))
				return err
			}
			for k.Context().Err() == nil {
				s, err := k.store.Get(k.Context(), key, session.Read{})
				if errors.Is(err, session.ErrNotFound) {
					continue
				}
				if err == nil && (s.Seq != int64(len(log)) || len(s.Entries) != len(log) || len(s.State) != 1) {
					err = fmt.Errorf("there were %d entries of %d and %d keys", len(s.Entries), s.Seq, len(s.State))
				}
				return err
			}
			return nil
		})
		s := k.get(key)
		k.hasLog(s, log...)
		k.hasState(s, "a", "1")
	}
}

// A create that is refused leaves the session, its log and the shared state as
// they were.
func createRefusedChangesNothing(k *kit) {
	k.create(key("s"), state("a", "1", "user:u", "1", "app:p", "1"), say("e0"))
	epoch := k.acquire(key("s"))
	before := look(k.get(key("s")))

	_, err := k.store.Create(k.Context(), key("s"), state("a", "2", "b", "2", "user:u", "2", "app:p", "null"), number("other", 3))
	if !errors.Is(err, session.ErrExists) {
		k.Fatalf("second Create: error %v, want ErrExists", err)
	}
	k.same("after a refused Create", before, look(k.get(key("s"))))
	k.append(key("s"), epoch, say("e1")) // its owner still owns it
}

// A key is three strings, compared byte by byte. Nothing may fold case, trim,
// normalise, split, truncate or match patterns: the names come from clients, and
// a client that could make two of them collide would read another user's session.
// Every key that session.Key.Check accepts can be stored.
func createNamesakes(k *kit) {
	keys := []session.Key{
		{App: "app", User: "user", ID: "s"},
		{App: "app", User: "other", ID: "s"},
		{App: "other", User: "user", ID: "s"},
		{App: "user", User: "app", ID: "s"},
		// Joined by a separator these would meet.
		{App: "a/b", User: "c", ID: "d"},
		{App: "a", User: "b/c", ID: "d"},
		{App: "a", User: "b", ID: "c/d"},
		{App: "a:b", User: "c", ID: "d"},
		{App: "a", User: "b:c", ID: "d"},
		{App: "ab", User: "c", ID: "d"},
		{App: "a", User: "bc", ID: "d"},
	}
	// As long as can be, and too varied to be made much smaller.
	var wide strings.Builder
	for i := range 255 {
		wide.WriteRune(rune(0x20000 + i*i%40_000))
	}
	long := wide.String()
	keys = append(keys, session.Key{App: long + "a", User: long + "b", ID: long + "c"}, session.Key{App: long + "a", User: long + "b", ID: long + "d"})
	for _, id := range []string{
		"S", "s ", " s", "s.", "%", "_", "s%", "*", "'", `"`, `\`, "'; DROP TABLE sessions; --", "$1", "?", "../s", "%2e",
		"1", "01", "1.0", "1e0", "null", "true",
		"é", "e\u0301", "ı", "i", "I", "ß", "ss", "ﬀ", "😀", "\u200bs", "\ufeffs", "\ufffd", "\u202es",
		strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 255) + "y", long + "x", long + "y",
	} {
		keys = append(keys, key(id), session.Key{App: "app", User: id, ID: "same"}, session.Key{App: id, User: "user", ID: "same"})
	}
	for i, key := range keys {
		if err := key.Check(); err != nil {
			k.Fatalf("%q: %v", key, err)
		}
		k.create(key, state("n", fmt.Sprint(i)), say(fmt.Sprint("e", i)))
	}
	for i, key := range keys {
		s := k.get(key)
		if s.Key != key {
			k.Errorf("Get(%q) is the session %q", key, s.Key)
		}
		k.hasState(s, "n", fmt.Sprint(i))
		k.hasLog(s, say(fmt.Sprint("e", i)))
	}
	for i, key := range keys {
		if i%2 == 0 {
			k.delete(key)
		}
	}
	for i, key := range keys {
		if i%2 == 0 {
			k.missing(key)
		} else {
			k.get(key)
		}
	}
}

// A log that was written elsewhere is numbered from 1 like any other, keeps its
// bytes, and continues where it ends.
func createWithLog(k *kit) {
	log := number("e", 12)
	made := k.create(key("s"), state("a", "1"), log...)
	k.hasLog(made, log...)
	for i, e := range log {
		if e.Seq != int64(i)+1 {
			k.Errorf("the caller's entry %d got the sequence %d", i, e.Seq)
		}
	}
	k.same("Get after Create", look(made), look(k.get(key("s"))))

	next := say("next")
	k.append(key("s"), k.acquire(key("s")), next)
	k.hasLog(k.get(key("s")), append(log, next)...)
}

// The ids of events belong to their session: the same export can be imported
// any number of times.
func createSameLogTwice(k *kit) {
	for _, id := range []string{"one", "two", "three"} {
		k.create(key(id), nil, number("e", 3)...)
	}
	k.delete(key("two"))
	k.hasLog(k.get(key("one")), number("e", 3)...)
	k.hasLog(k.get(key("three")), number("e", 3)...)
}

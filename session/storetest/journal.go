package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/parley-run/parley/session"
)

// hasJournal wants a run to be given just these notes.
func (k *kit) hasJournal(begun *session.Begun, want session.Journal) {
	k.Helper()
	if names := slices.Sorted(maps.Keys(begun.Journal)); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
		k.Errorf("%s has the notes %q, want %q", begun.Run.ID, names, slices.Sorted(maps.Keys(want)))
	}
	for name, note := range want {
		if !bytes.Equal(begun.Journal[name], note) {
			k.Errorf("the note %q of %s is %q, want %q", name, begun.Run.ID, clip(begun.Journal[name]), clip(note))
		}
	}
}

// again takes a run over and wants it to have these notes.
func (k *kit) again(key session.Key, want session.Journal) int64 {
	k.Helper()
	begun := k.claim(key)
	k.hasJournal(begun, want)
	return begun.Run.Epoch
}

// Notes say what a run has done that cannot be done again. Each stays until it
// is written over or taken away, over any number of takeovers.
func journalKeeps(k *kit) {
	k.create(key("s"), nil)
	k.start("run", key("s"))
	epoch := k.again(key("s"), nil)
	k.note(key("s"), epoch, session.Journal{"a": []byte("1"), "b": []byte("2"), "c": []byte("3")}, say("e0"))
	epoch = k.again(key("s"), session.Journal{"a": []byte("1"), "b": []byte("2"), "c": []byte("3")})
	k.note(key("s"), epoch, session.Journal{"b": nil, "c": []byte("4"), "never": nil})
	k.append(key("s"), epoch, say("e1")) // without notes
	epoch = k.again(key("s"), session.Journal{"a": []byte("1"), "c": []byte("4")})
	k.note(key("s"), epoch, session.Journal{"a": nil, "c": nil})
	epoch = k.again(key("s"), nil)
	k.note(key("s"), epoch, session.Journal{"b": []byte("5")})
	k.again(key("s"), session.Journal{"b": []byte("5")})
	k.hasLog(k.get(key("s")), say("e0"), say("e1"))
}

// A note and the entries that it is about are written together or not at all.
// A tool would be called again whose answer is in the log, or never.
func journalAtomic(k *kit) {
	k.create(key("s"), nil)
	old := k.start("run", key("s"))
	epoch := k.again(key("s"), nil)
	k.note(key("s"), epoch, session.Journal{"a": []byte("1")})
	err := k.store.Store.Append(k.Context(), key("s"), old, session.Journal{"a": nil, "b": []byte("2")}, say("e"))
	if !errors.Is(err, session.ErrFenced) {
		k.Errorf("Append under a stale epoch: error %v, want ErrFenced", err)
	}
	err = k.store.Store.Append(k.Context(), key("s"), old, session.Journal{"a": []byte("3")})
	if !errors.Is(err, session.ErrFenced) {
		k.Errorf("notes under a stale epoch: error %v, want ErrFenced", err)
	}
	epoch = k.again(key("s"), session.Journal{"a": []byte("1")})
	k.hasLog(k.get(key("s")))

	// A process that takes over in the meantime sees both the note and the entry, or
	// neither.
	for n := range 30 {
		var next *session.Begun
		k.together(2, func(i int) (err error) {
			if i == 0 {
				next, err = k.store.Claim(k.Context(), key("s"), session.Read{})
				return err
			}
			err = k.store.Store.Append(k.Context(), key("s"), epoch, session.Journal{fmt.Sprint("n", n): []byte("x")}, say(fmt.Sprint("e", n)))
			if errors.Is(err, session.ErrFenced) {
				return nil
			}
			return err
		})
		if epoch = next.Run.Epoch; int64(len(next.Journal)) != next.Session.Seq+1 {
			k.Fatalf("there are %d notes and %d entries", len(next.Journal), next.Session.Seq)
		}
	}
}

// The journal is of one run. The next one would believe that it had done what
// the one before did.
func journalGone(k *kit) {
	k.create(key("s"), nil)
	for i, end := range []session.End{
		{Status: session.Completed}, {Status: session.Failed}, {Status: session.Cancelled}, {Status: session.Waiting}, {Discard: true},
	} {
		begun := k.begin(asked(fmt.Sprint("begun", i), key("s")))
		k.hasJournal(begun, nil)
		k.enqueue(fmt.Sprint("line", i), key("s"))
		k.note(key("s"), begun.Run.Epoch, session.Journal{"a": []byte("1")})
		k.end(key("s"), begun.Run.Epoch, end)
		epoch := k.again(key("s"), nil)
		epoch = k.againAfter(key("s"), epoch)
		k.note(key("s"), epoch, session.Journal{"b": []byte("2")})
		k.end(key("s"), epoch, end)
	}
	// Nor does it come back with a session of the same name.
	epoch := k.start("last", key("s"))
	k.note(key("s"), epoch, session.Journal{"c": []byte("3")})
	k.delete(key("s"))
	k.create(key("s"), nil)
	k.start("new", key("s"))
	k.again(key("s"), nil)
}

// againAfter takes a run over that has noted nothing.
func (k *kit) againAfter(key session.Key, epoch int64) int64 {
	k.Helper()
	next := k.again(key, nil)
	if next <= epoch {
		k.Errorf("the epoch %d comes after %d", next, epoch)
	}
	return next
}

// Notes are bytes under any name. They are not text, and not seen by clients.
func journalBytes(k *kit) {
	k.create(key("s"), nil, say("e"))
	before := look(k.get(key("s")))
	epoch := k.start("run", key("s"))
	notes := session.Journal{
		"": []byte("nameless"), "zero": {0, 1, 0xff}, "empty": {}, "large": bytes.Repeat([]byte("0123456789abcdef"), 1<<16),
		"a.b": []byte("1"), "A.B": []byte("2"), "%": []byte("3"), "'": []byte("4"), "é😀": []byte("5"), "e\u0301": []byte("6"), " ": []byte("7"),
	}
	k.note(key("s"), epoch, notes)
	k.same("after something was noted", before, look(k.get(key("s"))))
	k.again(key("s"), notes)
}

// What a run was given does not change under its hands, and what it has given
// away is not its own any more.
func journalSnapshot(k *kit) {
	k.create(key("s"), nil)
	epoch := k.start("run", key("s"))
	k.note(key("s"), epoch, session.Journal{"a": []byte("1")})
	begun := k.claim(key("s"))
	notes := session.Journal{"b": []byte("2")}
	k.note(key("s"), begun.Run.Epoch, notes)
	k.note(key("s"), begun.Run.Epoch, session.Journal{"a": nil})
	k.hasJournal(begun, session.Journal{"a": []byte("1")})
	begun.Journal["c"] = []byte("3")
	notes["d"] = []byte("4")
	k.again(key("s"), session.Journal{"b": []byte("2")})
}

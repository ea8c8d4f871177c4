package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// memoryTests are about what was said in earlier sessions.
var memoryTests = []test{
	{"Memory/RoundTrip", memoryRoundTrip},
	{"Memory/Order", memoryOrder},
	{"Memory/Again", memoryAgain},
	{"Memory/Apart", memoryApart},
	{"Memory/Missing", memoryMissing},
	{"Memory/GoesWithItsSession", memoryGoesWithItsSession},
	{"Memory/OutlivesOldSessions", memoryOutlivesOldSessions},
	{"Memory/Forget", memoryForget},
	{"Memory/Concurrent", memoryConcurrent},
	{"Memory/List", memoryList},
	{"Memory/Edit", memoryEdit},
}

// noon is when the first thing was said.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)

// memories are memories with the ids of events m0, m1, …, one minute apart, each
// with some words.
func memories(words ...string) []*session.Remembered {
	var all []*session.Remembered
	for i, w := range words {
		all = append(all, &session.Remembered{
			Event: fmt.Sprint("m", i), Author: "user", Time: noon.Add(time.Duration(i) * time.Minute),
			Content: []byte(`{"parts":[{"text":"` + w + `"}]}`), Words: strings.Fields(w),
		})
	}
	return all
}

func (k *kit) remember(key session.Key, all []*session.Remembered) {
	k.Helper()
	if err := k.store.Remember(k.Context(), key, all); err != nil {
		k.Fatalf("Remember(%v): %v", key, err)
	}
}

// recall is the ids of the events that are found for words.
func (k *kit) recall(user, words string) string {
	k.Helper()
	found, err := k.store.Recall(k.Context(), "app", user, strings.Fields(words), 10)
	if err != nil {
		k.Fatalf("Recall(%q): %v", words, err)
	}
	var ids []string
	for _, one := range found {
		ids = append(ids, one.Event)
	}
	return strings.Join(ids, " ")
}

func (k *kit) recalls(user, words, want string) {
	k.Helper()
	if got := k.recall(user, words); got != want {
		k.Errorf("for %q of %s %q is found, want %q", words, user, got, want)
	}
}

// What comes back changed is not what was said.
func memoryRoundTrip(k *kit) {
	k.create(key("s"), nil)
	one := &session.Remembered{
		Event: "é\x00😀", Author: "the \x00 author", Time: noon, Content: []byte("{\"a\":\"\x00\xff\"}"),
		Words: []string{"word", "語", "'; DROP TABLE memories; --", `"quoted" OR NOT *`, "%", "\x00\xff"},
	}
	k.remember(key("s"), []*session.Remembered{one})
	for _, word := range one.Words {
		found, err := k.store.Recall(k.Context(), "app", "user", []string{"none", word, word}, 5)
		if err != nil || len(found) != 1 {
			k.Fatalf("%q finds %v (%v)", word, found, err)
		}
		got := found[0]
		if got.Event != one.Event || got.Author != one.Author || !got.Time.Equal(one.Time) || string(got.Content) != string(one.Content) {
			k.Errorf("remembered was %+v, and recalled %+v", one, got)
		}
	}
	for _, word := range []string{"wor", "WORD", "word*", "_", "*", ""} {
		if found, err := k.store.Recall(k.Context(), "app", "user", []string{word}, 5); err != nil || len(found) != 0 {
			k.Errorf("%q finds %v (%v)", word, found, err)
		}
	}
	if found, err := k.store.Recall(k.Context(), "app", "user", nil, 5); err != nil || len(found) != 0 {
		k.Errorf("no words find %v (%v)", found, err)
	}
}

// A model is shown the first few: they must be those that matter.
func memoryOrder(k *kit) {
	k.create(key("s"), nil)
	k.remember(key("s"), memories("the cat", "the dog", "the cat and dog", "the bird", "the the"))
	k.recalls("user", "cat dog", "m2 m1 m0")        // both, then the latest
	k.recalls("user", "the bird", "m3 m4 m2 m1 m0") // the rare word counts more
	found, err := k.store.Recall(k.Context(), "app", "user", []string{"the"}, 2)
	if err != nil || len(found) != 2 || found[0].Event != "m4" || found[1].Event != "m3" {
		k.Errorf("the latest two are %v (%v)", found, err)
	}
}

// A session is added after every turn: nothing is there twice, and what was
// rewound is not found.
func memoryAgain(k *kit) {
	k.create(key("s"), nil)
	k.create(key("t"), nil)
	k.remember(key("s"), memories("a", "b"))
	k.remember(key("t"), memories("a"))
	k.remember(key("s"), memories("a", "b", "c a"))
	k.recalls("user", "a", "m2 m0 m0")
	k.recalls("user", "b", "m1")
	k.remember(key("s"), memories("a"))
	k.recalls("user", "a", "m0 m0")
	k.recalls("user", "b c", "")
	k.remember(key("s"), nil)
	k.recalls("user", "a", "m0")
}

// Memories of other users are not found.
func memoryApart(k *kit) {
	for _, other := range []session.Key{
		{App: "app", User: "user", ID: "s"},
		{App: "app", User: "other", ID: "s"},
		{App: "other", User: "user", ID: "s"},
		{App: "ap", User: "puser", ID: "s"},
	} {
		k.create(other, nil)
		k.remember(other, memories(strings.Repeat("x", len(other.App))+" "+other.User+" common"))
	}
	k.recalls("user", "common", "m0")
	k.recalls("user", "other puser xx xxxxx", "")
	k.recalls("unknown", "common", "")
}

func memoryMissing(k *kit) {
	if err := k.store.Remember(k.Context(), key("none"), memories("a")); !errors.Is(err, session.ErrNotFound) {
		k.Errorf("Remember: %v, want %v", err, session.ErrNotFound)
	}
	k.recalls("user", "a", "")
	if err := k.store.Forget(k.Context(), "app", "user"); err != nil {
		k.Error(err)
	}
}

// Who deletes a conversation does not want to be reminded of it.
func memoryGoesWithItsSession(k *kit) {
	k.create(key("s"), nil)
	k.create(key("t"), nil)
	k.remember(key("s"), memories("a"))
	k.remember(key("t"), memories("b"))
	k.delete(key("s"))
	k.recalls("user", "a", "")
	k.recalls("user", "b", "m0")
	k.create(key("s"), nil)
	k.recalls("user", "a", "")
}

// What is long-term outlives what is not.
func memoryOutlivesOldSessions(k *kit) {
	k.living(key("s"), moment)
	k.remember(key("s"), memories("a"))
	k.growOld()
	deleted, _, err := k.store.Sweep(k.Context(), 0)
	if err != nil || len(deleted) != 1 || deleted[0] != key("s") {
		k.Fatalf("deleted are %v (%v)", deleted, err)
	}
	k.recalls("user", "a", "m0")
	k.create(key("s"), nil) // another one with that name
	k.remember(key("s"), memories("b"))
	k.recalls("user", "a b", "m0 m0")
	k.delete(key("s"))
	k.recalls("user", "a b", "m0")
}

func memoryForget(k *kit) {
	k.create(key("s"), nil)
	other := session.Key{App: "app", User: "other", ID: "s"}
	k.create(other, nil)
	k.remember(key("s"), memories("a"))
	k.remember(other, memories("a"))
	if err := k.store.Forget(k.Context(), "app", "user"); err != nil {
		k.Fatal(err)
	}
	k.recalls("user", "a", "")
	k.recalls("other", "a", "m0")
	k.remember(key("s"), memories("a")) // if it is wanted
	k.recalls("user", "a", "m0")
}

// Several may add one session at once.
func memoryConcurrent(k *kit) {
	k.create(key("s"), nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range 5 {
				if err := k.store.Remember(k.Context(), key("s"), memories("a", "a", "a", "a", "a", "a")[:n+1]); err != nil {
					k.Errorf("Remember: %v", err)
				}
			}
		})
	}
	wg.Wait()
	k.remember(key("s"), memories("a", "a"))
	k.recalls("user", "a", "m1 m0")
}

// memorized is the contents of a page of what is remembered, and the token of the next.
func (k *kit) memorized(user, words string, page session.Page) (texts string, list []*session.ListedMemory, next string) {
	k.Helper()
	if k.store.MemoryEditor == nil {
		k.Skip("the store cannot list memories")
	}
	list, next, err := k.store.MemoryEditor.ListMemories(k.Context(), "app", user, strings.Fields(words), page)
	if err != nil {
		k.Fatalf("ListMemories: %v", err)
	}
	var all []string
	for _, one := range list {
		all = append(all, one.Session+"/"+one.Event)
	}
	return strings.Join(all, " "), list, next
}

func (k *kit) lists(user, words, want string) []*session.ListedMemory {
	k.Helper()
	got, list, _ := k.memorized(user, words, session.Page{})
	if got != want {
		k.Errorf("of %s, %q is remembered with %q, want %q", user, got, words, want)
	}
	return list
}

// People see everything that is remembered of a user, page by page.
func memoryList(k *kit) {
	other := session.Key{App: "app", User: "other", ID: "s"}
	for _, one := range []session.Key{key("s"), key("t"), other} {
		k.create(one, nil)
	}
	k.lists("user", "", "")
	k.remember(key("s"), memories("a", "a b"))
	k.remember(other, memories("a"))
	k.remember(key("t"), memories("b"))
	list := k.lists("user", "", "t/m0 s/m1 s/m0")
	if len(list) == 3 {
		first := list[0]
		if first.Author != "user" || !first.Time.Equal(noon) || string(first.Content) != `{"parts":[{"text":"b"}]}` || first.ID <= list[1].ID {
			k.Errorf("listed is %+v", first)
		}
	}
	k.lists("user", "a", "s/m1 s/m0")
	k.lists("user", "a b", "s/m1")
	k.lists("user", "a c", "")
	k.lists("other", "", "s/m0")
	k.lists("unknown", "", "")
	first, _, next := k.memorized("user", "", session.Page{Size: 2})
	rest, _, end := k.memorized("user", "", session.Page{Size: 2, Token: next})
	if first != "t/m0 s/m1" || rest != "s/m0" || next == "" || end != "" {
		k.Errorf("the pages are %q and %q, with %q and %q after them", first, rest, next, end)
	}
	if _, _, err := k.store.MemoryEditor.ListMemories(k.Context(), "app", "user", nil, session.Page{Token: "x"}); !errors.Is(err, session.ErrBadToken) {
		k.Errorf("a wrong token: %v", err)
	}
}

// What a person has corrected or deleted stays so when the session is added again.
func memoryEdit(k *kit) {
	k.create(key("s"), nil)
	k.remember(key("s"), memories("a", "b", "c"))
	list := k.lists("user", "", "s/m2 s/m1 s/m0")
	if len(list) != 3 {
		k.FailNow()
	}
	edit, ctx := k.store.MemoryEditor, k.Context()
	if err := edit.EditMemory(ctx, "app", "user", list[1].ID, []byte(`{"parts":[{"text":"new"}]}`), []string{"new", "new"}); err != nil {
		k.Fatal(err)
	}
	if err := edit.DeleteMemory(ctx, "app", "user", list[0].ID); err != nil {
		k.Fatal(err)
	}
	for range 2 {
		k.recalls("user", "b c", "")
		k.recalls("user", "new", "m1")
		k.recalls("user", "a", "m0")
		if after := k.lists("user", "", "s/m1 s/m0"); len(after) > 0 && string(after[0].Content) != `{"parts":[{"text":"new"}]}` {
			k.Errorf("edited is %s", after[0].Content)
		}
		k.remember(key("s"), memories("a", "b", "c"))
	}
	for _, wrong := range []struct {
		user string
		id   int64
	}{{"user", list[0].ID}, {"other", list[2].ID}, {"user", list[0].ID + 100}} {
		if err := edit.EditMemory(ctx, "app", wrong.user, wrong.id, []byte("{}"), nil); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("editing %v: %v", wrong, err)
		}
		if err := edit.DeleteMemory(ctx, "app", wrong.user, wrong.id); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("deleting %v: %v", wrong, err)
		}
	}
	if err := k.store.Forget(ctx, "app", "user"); err != nil {
		k.Fatal(err)
	}
	k.remember(key("s"), memories("a", "b", "c")) // if it is wanted
	k.lists("user", "", "s/m2 s/m1 s/m0")
}

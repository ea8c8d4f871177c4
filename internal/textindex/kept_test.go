package textindex_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/feedback"
	"github.com/parley-run/parley/internal/textindex"
	"github.com/parley-run/parley/session"
)

func entryOf(t *testing.T, seq int64, ev *event.Event) *session.Entry {
	t.Helper()
	e, err := session.NewEntry(ev)
	if err != nil {
		t.Fatal(err)
	}
	e.Seq = seq
	return e
}

func textOf(t *testing.T, seq int64, text string) *session.Entry {
	t.Helper()
	return entryOf(t, seq, &event.Event{ID: text, Author: "user", Content: event.Text(event.RoleUser, text)})
}

// What is kept is the step that the log would give.
func TestKept(t *testing.T) {
	t.Parallel()
	const ordinal, timeline = 7, 1
	rated := entryOf(t, 3, &event.Event{ID: "rated", CustomMetadata: map[string]json.RawMessage{feedback.Key: json.RawMessage(`{}`)}})
	back := entryOf(t, 3, &event.Event{ID: "back", Actions: event.Actions{RewindBeforeInvocationID: "x"}})
	one, two, three, four := textOf(t, 1, "one"), entryOf(t, 2, &event.Event{ID: "call"}), textOf(t, 3, "three three"), textOf(t, 4, "four")
	take := func(k *textindex.Kept, indexed, until int64, want ...int64) {
		t.Helper()
		step, ok := k.Take("p", ordinal, timeline, indexed, until)
		if want == nil {
			if ok {
				t.Fatalf("Take(%d, %d) = %+v, want nothing", indexed, until, step)
			}
			return
		}
		log := textindex.Next("p", slices.DeleteFunc([]*session.Entry{one, two, three, four}, func(e *session.Entry) bool { return e.Seq > until }), indexed, 0)
		var got []int64
		for _, row := range step.Add {
			got = append(got, row.Seq)
		}
		if !ok || !slices.Equal(got, want) || step.Until != until || !slices.Equal(step.Add, log.Add) || step.Until != log.Until {
			t.Fatalf("Take(%d, %d) = %+v, %t, want %v, and as from the log: %+v", indexed, until, step, ok, want, log)
		}
	}

	k := &textindex.Kept{}
	take(k, 0, 1)
	k.Add(ordinal, timeline, one, two)
	k.Add(ordinal, timeline, three)
	k.Add(ordinal+1, timeline, four)
	take(k, 0, 3, 1, 3)
	take(k, 0, 3) // it was taken

	k.Add(ordinal, timeline, one, two, three)
	take(k, 0, 2, 1) // the others were stored after the caller looked
	k.Add(ordinal, timeline, four)
	take(k, 2, 4, 3, 4)

	k.Add(ordinal, timeline, one, two, three)
	take(k, 1, 3, 3) // another process has indexed the first one

	k.Add(ordinal, timeline, one)
	k.Add(ordinal, timeline, three) // another process has added the second one
	take(k, 1, 3)

	for _, e := range []*session.Entry{rated, back} { // which are indexed in another way
		k.Add(ordinal, timeline, one, two)
		k.Add(ordinal, timeline, e)
		k.Add(ordinal, timeline, four)
		take(k, 0, 4)
	}

	k.Add(ordinal, timeline+1, one, two) // the database has lost something
	take(k, 0, 2)
	k.Add(ordinal, timeline, one)
	k.Add(ordinal, timeline+1, two)
	take(k, 0, 2)

	// It does not grow without bounds.
	k.Add(ordinal, timeline, one)
	for i := range int64(100_000) {
		k.Add(1000+i, timeline, three)
	}
	take(k, 0, 1)
}

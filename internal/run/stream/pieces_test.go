package stream

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/parley-run/parley/event"
)

// The pieces of a message are kept only for readers that have yet to read them.
func TestFeedDropsPiecesThatWereRead(t *testing.T) {
	f := &Feed{}
	say := func(n int) {
		for range n {
			piece(f, "a", "x")
			piece(f, "a", "y")
			whole(f, "a", fmt.Sprint(len(f.entries)))
		}
	}
	holds := func(when string, want int) {
		t.Helper()
		if len(f.pieces) != want {
			t.Errorf("%s, the pieces of %d messages are kept, want %d", when, len(f.pieces), want)
		}
	}
	quick := f.Follow(0)
	say(2)
	slow := f.Follow(0)
	say(3)
	expect(t, "a quick reader", quick, "[x] [y] 0 [x] [y] 1 [x] [y] 2 [x] [y] 3 [x] [y] 4")
	holds("while a reader is behind", 3)
	late := f.Follow(0)
	expect(t, "a late reader", late, "0 1 2 3 4")
	holds("after a late reader", 3)
	for range 5 { // both events from before it came, and one with its pieces
		if _, ok, err := slow.Take(); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	holds("after the first of a slow reader", 2)
	slow.Close()
	slow.Close()
	holds("when the slow one has left", 0)
	say(1)
	holds("with something new", 1)
	late.Close()
	holds("for one reader", 1)
	expect(t, "a quick reader", quick, "[x] [y] 5")
	holds("when all was read", 0)
}

// The pieces of a text are numbered, from 0. One that several were joined into
// has the number of the first.
func TestFeedNumbersPieces(t *testing.T) {
	f := &Feed{}
	indexes := func(one *Follower) (all []string) {
		t.Helper()
		for {
			item, ok, err := one.Take()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return all
			}
			var ev event.Event
			if err := ev.UnmarshalJSON(item.JSON); err != nil {
				t.Fatal(err)
			}
			index := string(ev.CustomMetadata["pieceIndex"])
			if item.Entry != nil && index != "" {
				t.Errorf("the event has the index %s", index)
			}
			all = append(all, index)
		}
	}
	quick := f.Follow(0)
	own := map[string]json.RawMessage{"own": json.RawMessage("1")}
	for range 3 {
		if err := f.Piece(&event.Event{ID: "p", Author: "a", Partial: true, CustomMetadata: own, Content: event.Text(event.RoleModel, "x")}); err != nil {
			t.Fatal(err)
		}
	}
	if got := indexes(quick); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("the pieces are %q", got)
	}
	late := f.Follow(0)
	if got := indexes(late); !slices.Equal(got, []string{"0"}) {
		t.Errorf("a late reader gets %q", got)
	}
	for range window + 5 {
		piece(f, "a", "x")
	}
	if got := indexes(quick); !slices.Equal(got, []string{"3"}) {
		t.Errorf("a reader that is behind gets %q", got)
	}
	whole(f, "a", "0")
	piece(f, "a", "x")
	if got := indexes(quick); !slices.Equal(got, []string{"", "0"}) {
		t.Errorf("the next text is %q", got)
	}
	if len(own) != 1 {
		t.Errorf("the metadata of the event were changed: %s", own)
	}
}

// A piece without a content says that a node has begun another attempt. Readers that
// come later get the latest one, alone or with the text that followed it.
func TestFeedKeepsPiecesWithoutContent(t *testing.T) {
	t.Parallel()
	f := &Feed{}
	begin := func(attempt int) {
		t.Helper()
		extra := map[string]json.RawMessage{"nodeInfo": fmt.Appendf(nil, `{"attemptCount":%d}`, attempt)}
		if err := f.Piece(&event.Event{Author: "node", Partial: true, Extra: extra}); err != nil {
			t.Fatal(err)
		}
	}
	reads := func(when string, from *Follower, want ...string) {
		t.Helper()
		var got []string
		for {
			item, ok, err := from.Take()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			ev := &event.Event{}
			if err := ev.UnmarshalJSON(item.JSON); err != nil {
				t.Fatal(err)
			}
			line := string(ev.Extra["nodeInfo"])
			if ev.Content != nil {
				line += ev.Content.Text()
			}
			got = append(got, line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	early := f.Follow(0)
	defer early.Close()
	begin(2)
	begin(3)
	reads("early", early, `{"attemptCount":2}`, `{"attemptCount":3}`)
	late := f.Follow(0)
	defer late.Close()
	reads("late", late, `{"attemptCount":3}`)
	reads("late again", late)
	piece(f, "node", "text")
	latest := f.Follow(0)
	defer latest.Close()
	reads("with a text", latest, `{"attemptCount":3}text`)
	whole(f, "node", "text")
	reads("after the event", f.Follow(0), "text")
}

// The index is a member of customMetadata like any other, at the place that the contract has for it.
func TestIndexIsEncodedLikeOtherMetadata(t *testing.T) {
	usage := &event.Usage{Total: 3}
	extra := map[string]json.RawMessage{"groundingMetadata": json.RawMessage(`{}`)}
	mine := map[string]json.RawMessage{"a": json.RawMessage(`1`), "z": json.RawMessage(`2`)}
	for _, ev := range []event.Event{
		{},
		{ID: "1", Author: "a", Partial: true, Content: event.Text(event.RoleModel, "x"), Usage: usage, ModelVersion: "m"},
		{ID: "1", Author: "a", Partial: true, Extra: extra},
		{ID: "1", Author: "a", Partial: true, Content: event.Text(event.RoleModel, "x"), CustomMetadata: mine, Extra: extra},
	} {
		got, err := appendNumbered([]byte("data: "), &ev, 12)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]json.RawMessage{pieceIndex: json.RawMessage(`12`)}
		maps.Copy(all, ev.CustomMetadata)
		ev.CustomMetadata = all
		want, err := ev.AppendJSON([]byte("data: "))
		if err != nil || string(got) != string(want) {
			t.Errorf("got %s\nwant %s, %v", got, want, err)
		}
	}
}

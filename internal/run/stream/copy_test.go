package stream

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

func partial(author, text string, thought bool) *event.Event {
	return &event.Event{Author: author, Partial: true, Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{Text: text, Thought: thought}}}}
}

// pump copies what a follower finds to another feed, as it arrives on another server.
func pump(t *testing.T, from *Follower, to *Feed) {
	t.Helper()
	for {
		item, ok, err := from.Take()
		if !ok || err != nil {
			return
		}
		if item.Entry != nil {
			to.Store(item.Entry)
			continue
		}
		ev := new(event.Event)
		if err := ev.UnmarshalJSON(item.JSON); err != nil {
			t.Fatal(err)
		}
		if err := to.Copy(item.EventID, item.Start, ev); err != nil {
			t.Fatal(err)
		}
	}
}

// shown is what a follower gets.
func shown(f *Follower) (list []string) {
	for {
		item, ok, err := f.Take()
		if !ok || err != nil {
			return list
		}
		list = append(list, string(item.JSON))
	}
}

// A copy of a feed shows what the feed shows, also when the connection between them
// breaks.
func TestCopy(t *testing.T) {
	t.Parallel()
	var origin, copied Feed
	here, there := origin.Follow(0), copied.Follow(0)
	var want, got []string
	for range 4 {
		link := origin.Follow(0) // repeats the text so far
		for _, ev := range []*event.Event{partial("a", "thinks ", true), partial("a", "ä says ", false), partial("b", "too ", false)} {
			if err := origin.Piece(ev); err != nil {
				t.Fatal(err)
			}
			pump(t, link, &copied)
			want, got = append(want, shown(here)...), append(got, shown(there)...)
		}
		link.Close()
	}
	entry, err := session.NewEntry(&event.Event{ID: origin.EventID(&event.Event{Author: "a"}), Author: "a", Content: event.Text(event.RoleModel, "x")})
	if err != nil {
		t.Fatal(err)
	}
	entry.Seq = 1
	origin.Store(entry)
	link := origin.Follow(0)
	pump(t, link, &copied)
	want, got = append(want, shown(here)...), append(got, shown(there)...)
	if w, g := strings.Join(want, "\n"), strings.Join(got, "\n"); w != g {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	late := shown(copied.Follow(0))
	if len(late) != 2 || !strings.Contains(late[1], "too too too too ") || !strings.Contains(late[1], `"pieceIndex":0`) {
		t.Errorf("a follower that comes late gets %q", late)
	}
}

func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	var f Feed
	follower := f.Follow(0)
	numbered := func(text, index string) *event.Event {
		ev := partial("a", text, false)
		ev.CustomMetadata = map[string]json.RawMessage{pieceIndex: json.RawMessage(index)}
		return ev
	}
	if err := f.Copy("1", 0, numbered("one ", "0")); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a gap":               f.Copy("1", 7, numbered("x", "2")),
		"a negative position": f.Copy("1", -1, numbered("x", "2")),
		"no index":            f.Copy("1", 4, partial("a", "x", false)),
		"a negative index":    f.Copy("1", 4, numbered("x", "-1")),
		"another index":       f.Copy("1", 4, numbered("x", `"2"`)),
	} {
		if err == nil {
			t.Errorf("a piece with %s was added", name)
		}
	}
	// The other server has dropped the message, and begins again.
	if err := f.Copy("2", 0, numbered("new ", "0")); err != nil {
		t.Fatal(err)
	}
	got := shown(follower)
	if len(got) != 1 || !strings.Contains(got[0], "new ") || f.EventID(&event.Event{Author: "a"}) != "2" {
		t.Errorf("got %q", got)
	}
}

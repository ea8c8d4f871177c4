package face_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/session"
)

// A client sends all of the state that it was told. Only what it may have changed is
// written, and nothing that others share: its copy may be old.
func TestStateDelta(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	client := map[string]json.RawMessage{
		"same": raw("1"), "new": raw("2"), "changed": raw("3"), "gone": raw("null"), "never": raw("null"),
		"user:lang": raw(`"de"`), "app:count": raw("1"), "temp:x": raw("1"), "secret:key": raw(`"k"`),
	}
	current := session.State{"same": raw("1"), "changed": raw("4"), "gone": raw("5"), "other": raw("6"), "app:count": raw("2")}
	delta := face.StateDelta(client, current)
	if got := slices.Sorted(maps.Keys(delta)); !slices.Equal(got, []string{"changed", "gone", "new"}) {
		t.Errorf("%v", delta)
	}
}

func TestRunIDsAreSeparate(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range []session.Key{{App: "a", User: "b", ID: "c"}, {App: "a", User: "bc", ID: ""}, {App: "ab", User: "", ID: "c"}, {App: "a", User: "b", ID: "d"}} {
		for _, name := range []string{"agui", "aisdk"} {
			id := face.RunID(name, key, "r")
			if seen[id] || session.CheckIdentifier("run id", id) != nil || id != face.RunID(name, key, "r") {
				t.Errorf("%v: %s", key, id)
			}
			seen[id] = true
		}
	}
}

// A message that is answered again has an id that events can have.
func TestLongMessageID(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 240, 241, 256, 257, 5000} {
		id := face.MessageID(strings.Repeat("é", n))
		if err := session.CheckIdentifier("id", id+"~999"); err != nil || id != face.MessageID(id) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// A reader of many agents that speak at the same time can continue where it was.
func TestLongPosition(t *testing.T) {
	t.Parallel()
	position := "7" + strings.Repeat(",0123456789abcdef0123456789abcdef:1:100000:ffffffff:x", 500)
	tr := &face.Transcript{}
	if after, err := tr.Resume(position); err != nil || after != 7 || tr.Position() != position {
		t.Errorf("%d, %v", after, err)
	}
}

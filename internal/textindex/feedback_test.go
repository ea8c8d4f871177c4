package textindex_test

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/textindex"
	"github.com/parley-run/parley/session"
)

// A log is not read again for every event that has the word in it.
func TestRates(t *testing.T) {
	t.Parallel()
	given := map[string]json.RawMessage{"feedback": json.RawMessage(`{"runId":"r","author":"a","rating":"up"}`)}
	for name, test := range map[string]struct {
		ev    event.Event
		after int64
		want  bool
	}{
		"feedback":          {event.Event{InvocationID: "p-1", CustomMetadata: given}, 0, true},
		"indexed before":    {event.Event{InvocationID: "p-1", CustomMetadata: given}, 1, false},
		"metadata of a run": {event.Event{InvocationID: "e-1", CustomMetadata: given}, 0, false},
		"state":             {event.Event{InvocationID: "p-1", Actions: event.Actions{StateDelta: given}}, 0, false},
		"text":              {event.Event{InvocationID: "p-1", Content: event.Text(event.RoleUser, "feedback")}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry, err := session.NewEntry(&test.ev)
			if err != nil {
				t.Fatal(err)
			}
			entry.Seq = 1
			if got := textindex.Rates([]*session.Entry{entry}, test.after); got != test.want {
				t.Errorf("it is %t for %s", got, entry.JSON)
			}
		})
	}
}

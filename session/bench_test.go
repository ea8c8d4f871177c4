package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/session"
)

// BenchmarkNewEntry measures the encoding of an event of a model: its bytes stay
// in memory, so B/op is what counts.
func BenchmarkNewEntry(b *testing.B) {
	ev := &event.Event{
		ID: event.NewID(), InvocationID: ident.Invocation(), Author: "helper", Timestamp: 1.7e9,
		Content: event.Text(event.RoleModel, strings.Repeat("A sentence of an answer. ", 20)),
	}
	ev.Actions.StateDelta = map[string]json.RawMessage{"topic": json.RawMessage(`"weather"`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := session.NewEntry(ev); err != nil {
			b.Fatal(err)
		}
	}
}

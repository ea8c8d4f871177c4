package agui

import (
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
)

// BenchmarkPieces translates and encodes a piece of a text.
func BenchmarkPieces(b *testing.B) {
	t, e := &face.Transcript{}, &encoder{current: true, root: "weather_agent"}
	item := run.Item{EventID: "k3b2m7wq5x4z6c8d", Piece: &event.Event{Author: "weather_agent", Content: event.Text(event.RoleModel, "sunny ")}}
	var steps []face.Step
	var frames []byte
	for b.Loop() {
		var err error
		if steps, err = t.Item(steps[:0], item); err != nil {
			b.Fatal(err)
		}
		frames = frames[:0]
		for i := range steps {
			frames = e.Step(frames, &steps[i], t.Position())
		}
	}
}

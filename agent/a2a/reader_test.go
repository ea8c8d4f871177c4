package a2a

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// A server that sends pieces without end is given up, and pieces cost what they are
// long, however many there are.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	r := &reader{}
	piece := &a2a.TaskArtifactUpdateEvent{
		TaskID: "t", Append: true, Artifact: &a2a.Artifact{ID: "a", Parts: a2a.ContentParts{a2a.NewTextPart(strings.Repeat("x", 1000))}},
	}
	for sent := 0; ; sent += 1000 {
		if _, err := r.read(piece); err != nil {
			if sent < maxAnswer/2 || !strings.Contains(err.Error(), "bytes for one task") {
				t.Errorf("after %d bytes: %v", sent, err)
			}
			return
		}
		if sent > maxAnswer {
			t.Fatalf("%d bytes were read", sent)
		}
	}
}

// The pieces of a text are one text.
func TestPiecesOfText(t *testing.T) {
	t.Parallel()
	r := &reader{}
	for i, text := range []string{"one ", "two ", "three"} {
		piece := &a2a.TaskArtifactUpdateEvent{TaskID: "t", Append: i > 0, LastChunk: i == 2, Artifact: &a2a.Artifact{ID: "a", Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}
		updates, err := r.read(piece)
		if err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			if got := updates[len(updates)-1].Event.Content; len(got.Parts) != 1 || got.Text() != "one two three" {
				t.Errorf("got %v", got)
			}
		}
	}
}

package examples

import (
	"context"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
)

// A file that is sent becomes an artifact, and so does its summary.
func TestSummariser(t *testing.T) {
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: "summariser"}, Offline: true, Artifacts: parley.ArtifactConfig{SaveInput: true}, Recording: parley.RecordingConfig{Share: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	say := func(parts ...*event.Part) (said string, saved map[string]int64) {
		t.Helper()
		run := ""
		for ev, err := range srv.Stream(t.Context(), parley.Request{
			App: "summariser", User: "u", Session: "s", Message: &event.Content{Role: event.RoleUser, Parts: parts},
		}) {
			if err != nil {
				t.Fatal(err)
			}
			said, run = said+ev.Content.Text(), ev.InvocationID
			if len(ev.Actions.ArtifactDelta) > 0 {
				saved = ev.Actions.ArtifactDelta
			}
		}
		wantSame(t, srv, "summariser", "s", run)
		return said, saved
	}
	const text = "Bees make honey. Honey bees live in hives. The weather was fine. Hives of honey bees are busy."
	said, _ := say(
		&event.Part{Text: "list my files"},
		&event.Part{InlineData: &event.Blob{MIMEType: "text/plain", Data: []byte(text), DisplayName: "bees.txt"}},
	)
	if !strings.Contains(said, "bees.txt") {
		t.Errorf("the files are %q", said)
	}
	for version := range int64(2) {
		said, saved := say(&event.Part{Text: `summarise the file "bees.txt"`})
		if !strings.Contains(said, "oney bees") || strings.Contains(said, "weather") || saved["summaries/bees.txt"] != version {
			t.Errorf("it says %q and saves %v, want version %d", said, saved, version)
		}
	}
	if said, saved := say(&event.Part{Text: `write the note "buy milk"`}); !strings.Contains(said, "version 0 of note.txt") || len(saved) != 1 {
		t.Errorf("it says %q and saves %v", said, saved)
	}
	if said, _ := say(&event.Part{Text: `summarise the file "none.txt"`}); !strings.Contains(said, "There is no file none.txt") {
		t.Errorf("it says %q", said)
	}
}

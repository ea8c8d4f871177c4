package face_test

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// FuzzResume reads positions that clients send. One that is accepted is written as
// it was read, and what follows is translated without a panic.
func FuzzResume(f *testing.F) {
	for _, position := range []string{"0", "12;e1:weather_agent", "3,abc:1:5:1a2b:x;e1:a", "3,abc:1:0:0:-", "1,a:b:c:d:e", "-1", "9;%zz", "1,a:1:2:3:t,b:2:3:4:x"} {
		f.Add(position, "text")
	}
	f.Fuzz(func(t *testing.T, position, text string) {
		tr := &face.Transcript{}
		after, err := tr.Resume(position)
		if err != nil {
			return
		}
		again := &face.Transcript{}
		if same, err := again.Resume(tr.Position()); err != nil || same != after {
			t.Fatalf("%q became %q: %v", position, tr.Position(), err)
		}
		entry, err := session.NewEntry(&event.Event{ID: "abc", InvocationID: "r", Author: "a", Content: event.Text(event.RoleModel, text)})
		if err != nil {
			return // not UTF-8
		}
		entry.Seq = after + 1
		steps, err := tr.Item(nil, run.Item{JSON: entry.JSON, Entry: entry})
		if err != nil {
			t.Fatal(err)
		}
		tr.End(steps)
	})
}

// FuzzContent reads what clients send as the content of files and as results of tools.
func FuzzContent(f *testing.F) {
	for _, text := range []string{"data:text/plain,hi", "data:;base64,aGk=", "data:x", "https://example.com/a.png", `{"a":1}`, "[1]", "", `{"a":`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if part, err := face.URL(text, "", ""); err == nil && part.InlineData == nil && part.FileData == nil {
			t.Fatalf("%q is neither data nor an address", text)
		}
		if part, err := face.Data("", text, ""); err == nil && part.InlineData.MIMEType == "" {
			t.Fatalf("%q has no type", text)
		}
		if doc := face.WrapText(text); !json.Valid(doc) || doc[0] != '{' {
			t.Fatalf("%q became %s", text, doc)
		}
	})
}

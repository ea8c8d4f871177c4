package gemini_test

import (
	"testing"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/gemini"
)

// Which models cannot have a response schema and tools depends on their version and
// on the API.
func TestSchemaOrTools(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		gemini, vertex bool // want
	}{
		{"gemini-1.5-pro", true, true},
		{"gemini-2.0-flash", true, false},
		{"gemini-2.5-flash", true, false},
		{"models/gemini-2.5-pro", true, false},
		{"gemini-3-pro-preview", false, false},
		{"gemini-10.5", false, false},
		{"gemini-flash-latest", true, true},
		{"gemma-3-27b-it", true, true},
	} {
		for vertex, want := range map[bool]bool{false: test.gemini, true: test.vertex} {
			m, err := gemini.New(test.name, &gemini.Options{APIKey: "k", VertexAI: vertex})
			if err != nil {
				t.Fatal(err)
			}
			if got := model.SchemaOrTools(m); got != want {
				t.Errorf("%s, Vertex AI %v: %v, want %v", test.name, vertex, got, want)
			}
		}
	}
}

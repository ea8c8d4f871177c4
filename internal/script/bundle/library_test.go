package bundle

import (
	"bytes"
	"testing"
)

// The bytecode has the names of functions, for stack traces, and not their text.
func TestLibraryHasNoText(t *testing.T) {
	t.Parallel()
	l, err := compileLibrary(QuickJS, []string{"runtime.js"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"describeApp": true, "function describeApp(": false} {
		if bytes.Contains(l.Code, []byte(text)) != want {
			t.Errorf("the bytecode contains %q: %t", text, !want)
		}
	}
}

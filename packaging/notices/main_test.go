package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestNotices would fail for a dependency without a licence, too.
func TestNotices(t *testing.T) {
	t.Chdir("../..")
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"modernc.org/quickjs v", "Go standard library", "zod (JavaScript)", "Packages of the developer UI"} {
		if !strings.Contains(out.String(), "\n"+part) {
			t.Errorf("there is no notice for %s", part)
		}
	}
}

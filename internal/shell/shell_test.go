package shell

import "testing"

// What a shell reads is what was meant.
func TestQuote(t *testing.T) {
	for word, want := range map[string]string{"--port": "--port", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "a=b,c": "a=b,c", "a?b": "'a?b'"} {
		if got := Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

package bundle

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// lacks finds what the expression finds in the whole text.
func TestLacks(t *testing.T) {
	t.Parallel()
	const name = "__dirname"
	words := []string{
		name, name, name + "2", "__filename", "const", "let", "var", "import", "from", "{", "}", ",", ";", "(", ")", "'", `"`, "=", " ", " ", "\n", "a", "b as", "f" + name,
	}
	found := map[bool]int{}
	check := func(code string) {
		t.Helper()
		want := strings.Contains(code, name) && !declarations[name].MatchString(code)
		if got := lacks(code, name); got != want {
			t.Errorf("%q: %t, want %t", code, got, want)
		}
		found[want]++
	}
	for _, code := range []string{
		"", name, "var " + name, "const {\n a, " + name + " } = path", "const { a } = " + name, "import { b as " + name + " } from 'x'",
		"import a, " + name + "\nfrom 'x'", "import('a'); " + name, "x;import " + name + ",{ c } from 'x'", "use(" + name + "); var " + name + " = '/'",
	} {
		check(code)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		var code strings.Builder
		for range random.IntN(12) {
			code.WriteString(words[random.IntN(len(words))])
			if random.IntN(2) == 0 {
				code.WriteByte(' ')
			}
		}
		check(code.String())
	}
	if found[true] < 1000 || found[false] < 1000 {
		t.Errorf("too few of one kind: %v", found)
	}
}

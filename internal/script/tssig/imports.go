package tssig

import "strings"

// Imports returns where the calls of import are whose argument is computed: the
// offsets of the word. Those that begin with a literal path, which the bundler
// resolves, are left out.
func Imports(code string) (offsets []int) {
	if !strings.Contains(code, "import") {
		return nil
	}
	text := scan(code)
	for i := range text.tokens {
		if text.is(i, "import") && text.is(i+1, "(") && (i == 0 || !text.is(i-1, ".")) && !literal(text, i+2) {
			offsets = append(offsets, text.tokens[i].start)
		}
	}
	return offsets
}

// literal reports whether an argument is a string, or begins with a relative path.
func literal(text *sourceText, i int) bool {
	first := text.text(i)
	switch text.kind(i) {
	case kindString:
		return text.is(i+1, ")", ",") || strings.HasPrefix(first[1:], ".")
	case kindTemplate:
		return strings.HasPrefix(first[1:], ".") || strings.HasSuffix(first, "`")
	}
	return text.is(i, ")")
}

package bundle

import (
	"regexp"
	"strings"
)

var (
	// nameBlock is a static block that only sets the name of its class.
	nameBlock = regexp.MustCompile(`^static ?\{\n? *__name\(this, ?"([\w$]+)"\);?\n? *\}\n?`)
	// named is the beginning of a class that has a name: of the declaration, or of the
	// variable that the class is assigned to.
	named = regexp.MustCompile(`[\s([{},;](?:class ([\w$]+)|([\w$]+) ?= ?class)(?: extends [\w$.]+)? ?\{\s*$`)
)

// dropNames removes the static blocks in which the bundler gives a class the name that
// it has anyway. For each class with a static block or a field, QuickJS counts the lines
// from the beginning of the code, which takes seconds if there are megabytes of it. All
// other lines keep their numbers, which are in the source map.
func dropNames(code string) string {
	const (
		static = "static"
		window = 500 // bytes on either side
	)
	var out strings.Builder
	done := 0
	for at := 0; ; {
		next := strings.Index(code[at:], static)
		if next < 0 {
			break
		}
		at += next
		block := nameBlock.FindStringSubmatch(code[at:min(at+window, len(code))])
		if block == nil {
			at += len(static)
			continue
		}
		if class := named.FindStringSubmatch(code[max(at-window, 0):at]); class != nil && class[1]+class[2] == block[1] {
			out.WriteString(code[done:at])
			out.WriteString(strings.Repeat("\n", strings.Count(block[0], "\n")))
			done = at + len(block[0])
		}
		at += len(block[0])
	}
	out.WriteString(code[done:])
	return out.String()
}

package bundle

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-sourcemap/sourcemap"
)

// Locate adds the position in the author's file to an error that was thrown with
// a stack, and the line at that position.
func (b *Bundle) Locate(err error, stack string) error {
	for _, at := range frames(stack) {
		file, line, column, text := b.source(at[0], at[1])
		if file == "" || strings.HasPrefix(file, "parley:") {
			continue
		}
		err = fmt.Errorf("%s:%d:%d: %w\n\t%s", file, line, column+1, err, text)
		if advice := b.Advice(stack); advice != "" {
			err = fmt.Errorf("%w\n%s", err, advice)
		}
		return err
	}
	return err
}

// UseNode tells authors how Node.js runs an agent.
const UseNode = `put "parley": {"engine": "node"} into the package.json of the agent`

// Advice says what to do about an error of a package that QuickJS may not be able to
// run; empty if the author's own code has thrown it.
func (b *Bundle) Advice(stack string) string {
	for _, at := range frames(stack) {
		file, _, _, _ := b.source(at[0], at[1])
		if file == "" || strings.HasPrefix(file, "parley:") {
			continue
		}
		if name := packageName(file); name != "" && b.Target == QuickJS {
			return fmt.Sprintf("if the package %q needs Node.js itself, %s", name, UseNode)
		}
		return ""
	}
	return ""
}

// packageName is the name of the package that a file in node_modules belongs to.
func packageName(file string) string {
	parts := strings.Split("/"+filepath.ToSlash(file), "/node_modules/")
	if len(parts) == 1 {
		return ""
	}
	names := strings.SplitN(parts[len(parts)-1], "/", 3)
	if strings.HasPrefix(names[0], "@") && len(names) > 1 {
		return names[0] + "/" + names[1]
	}
	return names[0]
}

// libraryFrame matches the place of a function of the library, which has no positions
// (js/prelude/polyfill.js). The engine uses this name also for what Go evaluates.
var libraryFrame = regexp.MustCompile(`<eval>(?::\d+:\d+)?`)

// frame matches a position in the bundle, which Node.js gives with its URL.
var frame = regexp.MustCompile(`(?:file://[^\s()]*/)?` + regexp.QuoteMeta(Name) + `:(\d+):(\d+)`)

// frames are the lines and columns of a stack trace, the innermost first.
func frames(stack string) [][2]int {
	var out [][2]int
	for _, m := range frame.FindAllStringSubmatch(stack, -1) {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		out = append(out, [2]int{line, column})
	}
	return out
}

// MapStack maps the positions in a stack trace to the author's files.
func (b *Bundle) MapStack(stack string) string {
	stack = libraryFrame.ReplaceAllString(strings.TrimRight(stack, "\n"), "parley")
	return frame.ReplaceAllStringFunc(stack, func(m string) string {
		at := frames(m)[0]
		if file, line, column, _ := b.source(at[0], at[1]); file != "" {
			return fmt.Sprintf("%s:%d:%d", file, line, column+1)
		}
		return m
	})
}

var traceLine = regexp.MustCompile(`(?m)^ +at .*$`)

// MapTraces maps the positions in the stack traces within a text to the author's
// files.
func (b *Bundle) MapTraces(text string) string {
	if !strings.Contains(text, "  at ") {
		return text
	}
	return traceLine.ReplaceAllStringFunc(text, b.MapStack)
}

// source returns the position in the author's files of a position in the bundle.
func (b *Bundle) source(line, column int) (file string, sourceLine, sourceColumn int, text string) {
	b.parse.Do(func() { b.positions, _ = sourcemap.Parse("", b.SourceMap) }) // only errors need it
	if b.positions == nil {
		return "", 0, 0, ""
	}
	file, _, sourceLine, sourceColumn, ok := b.positions.Source(line, column-1)
	if !ok {
		return "", 0, 0, ""
	}
	if lines := strings.Split(b.positions.SourceContent(file), "\n"); sourceLine > 0 && sourceLine <= len(lines) {
		text = strings.TrimSpace(lines[sourceLine-1])
	}
	return filepath.ToSlash(file), sourceLine, sourceColumn, text
}

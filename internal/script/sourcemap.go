package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-sourcemap/sourcemap"
)

// located is err with the place in the author's file where it was thrown, and
// the line that stands there.
func (b *bundle) located(err error) error {
	thrown, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	for _, at := range frames(thrown.Stack) {
		file, line, column, text := b.source(at[0], at[1])
		if file == "" || strings.HasPrefix(file, "parley:") {
			continue
		}
		return fmt.Errorf("%s:%d:%d: %w\n\t%s", file, line, column+1, err, text)
	}
	return err
}

// packFrame is a place in a pack, which nobody can look up: the engine gives
// no other name to what came as bytecode.
var packFrame = regexp.MustCompile(`<eval>:\d+:\d+`)

var frame = regexp.MustCompile(regexp.QuoteMeta(bundleName) + `:(\d+):(\d+)`)

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

// mapStack is a stack trace with the author's files in it.
func (b *bundle) mapStack(stack string) string {
	stack = packFrame.ReplaceAllString(strings.TrimRight(stack, "\n"), "parley")
	return frame.ReplaceAllStringFunc(stack, func(m string) string {
		at := frames(m)[0]
		if file, line, column, _ := b.source(at[0], at[1]); file != "" {
			return fmt.Sprintf("%s:%d:%d", file, line, column+1)
		}
		return m
	})
}

var traceLine = regexp.MustCompile(`(?m)^ +at .*$`)

// mapTraces is a text with the author's files in the stack traces that are in
// it.
func (b *bundle) mapTraces(text string) string {
	if !strings.Contains(text, "  at ") {
		return text
	}
	return traceLine.ReplaceAllStringFunc(text, b.mapStack)
}

// source is the place in the author's files that a place in the bundle came
// from.
func (b *bundle) source(line, column int) (file string, sourceLine, sourceColumn int, text string) {
	b.parse.Do(func() { b.places, _ = sourcemap.Parse("", b.SourceMap) }) // needed only when something goes wrong
	if b.places == nil {
		return "", 0, 0, ""
	}
	file, _, sourceLine, sourceColumn, ok := b.places.Source(line, column-1)
	if !ok {
		return "", 0, 0, ""
	}
	if lines := strings.Split(b.places.SourceContent(file), "\n"); sourceLine > 0 && sourceLine <= len(lines) {
		text = strings.TrimSpace(lines[sourceLine-1])
	}
	return filepath.ToSlash(file), sourceLine, sourceColumn, text
}

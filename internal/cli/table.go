package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// table writes rows to standard output. A column STATUS is coloured in a terminal.
type table struct {
	out      *tabwriter.Writer
	coloured int // the column; -1 for none
}

// Colours of statuses. They have the same length, because the width of a column counts
// them.
const (
	colourPlain  = "\x1b[39m"
	colourRed    = "\x1b[31m"
	colourGreen  = "\x1b[32m"
	colourYellow = "\x1b[33m"
)

func statusColour(status string) string {
	switch status {
	case "failed":
		return colourRed
	case "completed":
		return colourGreen
	case "queued", "running", "waiting":
		return colourYellow
	}
	return colourPlain
}

// styled reports whether standard output shows styles.
func (e *Env) styled() bool {
	_, plain := e.getenv("NO_COLOR")
	return e.StdoutTerminal && !plain && !e.dumb()
}

// dumb reports whether the terminal understands no control sequences.
func (e *Env) dumb() bool {
	terminal, _ := e.getenv("TERM")
	return terminal == "dumb"
}

// colour colours a text, if standard output shows styles.
func (e *Env) colour(text, colour string) string {
	if !e.styled() {
		return text
	}
	return colour + text + styleReset
}

func newTable(env *Env, columns ...string) *table {
	t := &table{out: tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0), coloured: -1}
	for i, name := range columns {
		if name == "STATUS" && env.styled() {
			t.coloured = i
		}
	}
	t.row(columns...)
	return t
}

// row writes a row; an empty cell is shown as a dash, except for the last one.
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cell = printable(cell)
		if cell == "" && i < len(cells)-1 {
			cell = "-"
		}
		if i == t.coloured {
			cell = statusColour(cell) + cell + styleReset
		}
		cells[i] = cell
	}
	fmt.Fprintln(t.out, strings.Join(cells, "\t"))
}

func (t *table) flush() error { return t.out.Flush() }

// facts writes what is known of one thing, a name and a value on each line.
type facts struct {
	out    *tabwriter.Writer
	styled bool
}

func newFacts(env *Env) *facts {
	return &facts{out: tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0), styled: env.styled()}
}

// row writes a value, unless it is empty.
func (f *facts) row(name, value string) {
	if value == "" {
		return
	}
	value = printable(value)
	if f.styled {
		if name == "status" {
			value = statusColour(value) + value + styleReset
		}
		name = styleDim + name + styleReset
	}
	fmt.Fprintf(f.out, "%s\t%s\n", name, value)
}

func (f *facts) flush() error { return f.out.Flush() }

// instant is a time in seconds, as documents have it.
func instant(seconds float64) time.Time { return time.UnixMicro(int64(seconds * 1e6)) }

// moment formats such a time for people.
func moment(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return instant(seconds).UTC().Format("2006-01-02T15:04:05Z")
}

// cut shortens a text.
func cut(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"
)

// editor reads lines from a terminal, in which they can be edited, and brought back
// with the arrow keys. The terminal is in raw mode only while a line is read: at other
// times Ctrl-C is a signal, and output is as usual.
type editor struct {
	env     *Env
	screen  *term.Terminal
	history *history
	other   <-chan string // another source of messages
	read    chan line     // of a line that is being read; nil if none is
}

// line is what was read.
type line struct {
	text string
	err  error
}

func newEditor(env *Env, other <-chan string) *editor {
	e := &editor{env: env, history: openHistory(env.CacheDir), other: other}
	e.screen = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{env.Stdin, env.Stdout}, "")
	e.screen.History = e.history
	return e
}

// next reads a line. Ctrl-C and, in an empty line, Ctrl-D are the end.
func (e *editor) next(ctx context.Context, prompt string) (string, error) {
	restore, err := e.env.Raw()
	if err != nil {
		return "", err
	}
	defer restore()
	if e.env.Size != nil {
		if columns, rows := e.env.Size(); columns > 0 && rows > 0 {
			_ = e.screen.SetSize(columns, rows)
		}
	}
	e.screen.SetPrompt(prompt)
	if e.read == nil {
		e.read = make(chan line, 1)
		go func(read chan<- line) {
			text, err := e.screen.ReadLine()
			read <- line{text, err}
		}(e.read)
	} else if _, err := io.WriteString(e.env.Stdout, prompt); err != nil { // a message from elsewhere came in between
		return "", err
	}
	select {
	case one := <-e.read:
		e.read = nil
		if one.err == nil {
			one.text += "\n" // it was typed
		}
		return one.text, one.err
	case text := <-e.other:
		return text, nil
	case <-ctx.Done():
		return "", io.EOF
	}
}

// maxHistory is how many lines are kept for the next conversation.
const maxHistory = 500

// history has the lines that were typed, the oldest first, also those of earlier
// conversations.
type history struct {
	lines []string
	file  string // empty for none
}

func openHistory(dir string) *history {
	h := &history{}
	if dir == "" {
		return h
	}
	h.file = filepath.Join(dir, "history")
	text, err := os.ReadFile(h.file)
	if err != nil {
		return h
	}
	for one := range strings.Lines(string(text)) {
		h.Add(strings.TrimSpace(one))
	}
	if len(h.lines) > 2*maxHistory { // it grows by a line at a time
		h.lines = slices.Clone(h.lines[len(h.lines)-maxHistory:])
		_ = os.WriteFile(h.file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// Add implements term.History: it adds a line to those of this conversation.
func (h *history) Add(text string) {
	if text != "" && (len(h.lines) == 0 || h.lines[len(h.lines)-1] != text) {
		h.lines = append(h.lines, text)
	}
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History: 0 is the last line.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// keep stores a message for later conversations. Answers to questions and logins are
// not kept: they may be secrets.
func (h *history) keep(text string) error {
	if h.file == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(h.file), 0o700)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text + "\n")
	return errors.Join(err, file.Close())
}

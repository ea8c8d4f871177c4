package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
)

// editable is an environment whose terminal is in raw mode anyway.
func editable(cache string) *Env {
	return &Env{CacheDir: cache, Raw: func() (func(), error) { return func() {}, nil }, Size: func() (int, int) { return 80, 24 }}
}

// press presses keys. It does not wait for them to be read: the terminal shows each.
func (p *terminal) press(keys string) {
	go func() { _, _ = io.WriteString(p.in, keys) }()
}

const (
	keyUp, keyLeft, keyEnter = "\x1b[A", "\x1b[D", "\r"
	keyCtrlC                 = "\x03"
)

// Lines can be edited and brought back; Ctrl-C stops an answer, and then ends the
// conversation.
func TestEditing(t *testing.T) {
	cache := t.TempDir()
	interrupts := make(chan os.Signal)
	cfg := parley.Config{Agents: map[string]*agent.Agent{"assistant": assistant(t)}}
	p := openIn(t.Context(), t, editable(cache), cfg, runOptions{interrupts: interrupts})
	p.until(prompt)
	p.press("wait forevr" + keyLeft + "e" + keyEnter)
	p.until("→ wait_forever")
	interrupts <- os.Interrupt
	p.until("Stopped.")
	p.until(prompt)
	p.press(keyUp + keyEnter)
	p.until("→ wait_forever")
	interrupts <- os.Interrupt
	p.until("Stopped.")
	p.until(prompt)
	p.press("/help" + keyEnter)
	p.until("Ctrl-C stops an answer")
	p.until(prompt)
	p.press("/nothing" + keyEnter)
	p.until("/nothing is not a command")
	p.until(prompt)
	p.press("half a message" + keyCtrlC)
	if _, err := p.end(); err != nil {
		t.Error(err)
	}
	kept, err := os.ReadFile(filepath.Join(cache, "history"))
	if err != nil || string(kept) != "wait forever\nwait forever\n" {
		t.Errorf("%q is kept, %v", kept, err)
	}

	// The next conversation has what was said in this one.
	p = openIn(t.Context(), t, editable(cache), cfg, runOptions{interrupts: interrupts})
	p.until(prompt)
	p.press(keyUp + keyEnter)
	p.until("→ wait_forever")
	interrupts <- os.Interrupt
	p.until("Stopped.")
	p.until(prompt)
	p.press("exit" + keyEnter)
	if _, err := p.end(); err != nil {
		t.Error(err)
	}
}

// Ctrl-C between answers ends the conversation, also where lines cannot be edited.
func TestInterruptAtThePrompt(t *testing.T) {
	interrupts := make(chan os.Signal)
	cfg := parley.Config{Agents: map[string]*agent.Agent{"assistant": assistant(t)}}
	p := openIn(t.Context(), t, &Env{}, cfg, runOptions{interrupts: interrupts})
	p.until(prompt)
	interrupts <- os.Interrupt
	if _, err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "history")
	if err := os.WriteFile(file, []byte(strings.Repeat("a\nb\n", maxHistory)+"c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHistory(dir)
	if h.Len() != maxHistory || h.At(0) != "c" || h.At(1) != "b" {
		t.Errorf("there are %d lines, and the last is %q", h.Len(), h.At(0))
	}
	if err := h.keep("d"); err != nil {
		t.Error(err)
	}
	if again := openHistory(dir); again.Len() != maxHistory+1 || again.At(0) != "d" {
		t.Errorf("there are %d lines, and the last is %q", again.Len(), again.At(0))
	}
	if err := openHistory("").keep("nowhere"); err != nil {
		t.Error(err)
	}
}

func TestMarkdown(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"plain", "One * two, 2*3, a_b.\n", "One * two, 2*3, a_b.\n"},
		{"strong", "This is **very** good.", "This is \x1b[0m\x1b[1mvery\x1b[0m good.\x1b[0m"},
		{"open", "This **is\nnext", "This \x1b[0m\x1b[1mis\x1b[0m\nnext"},
		{"code", "Use `a*b**c` so", "Use \x1b[0m\x1b[36ma*b**c\x1b[0m so\x1b[0m"},
		{"heading", "## A *b*\n#hash\n", "\x1b[1mA *b*\x1b[0m\n#hash\n"},
		{"list", "- one\n  * two\n-3\n", "• one\n  • two\n-3\n"},
		{"fence", "```go\nx := **p\n# y\n```\n**z**", "\x1b[2m```go\x1b[0m\n\x1b[36mx := **p\x1b[0m\n\x1b[36m# y\x1b[0m\n\x1b[2m```\x1b[0m\n\x1b[0m\x1b[1mz\x1b[0m\x1b[0m"},
		{"unfinished", "*", "*"},
		{"unfinished heading", "##", "##"},
		{"broken between words", "one two three four five six seven", "one two three four \nfive six seven"},
		{"broken item", "- one two three four five six", "• one two three four\n  five six"},
		{"long word", "a 123456789012345678901234 b", "a \n123456789012345678901234\nb"},
		{"letters", "ååååå ååååå ååååå åååå å", "ååååå ååååå ååååå \nåååå å"},
	} {
		for _, size := range []int{1, 2, 1000} {
			m, got := markdown{width: 20}, ""
			runes := []rune(test.text)
			for i := 0; i < len(runes); i += size {
				got += m.write(string(runes[i:min(i+size, len(runes))]))
			}
			if got += m.end(); got != test.want {
				t.Errorf("%s, %d at once:\n got %q\nwant %q", test.name, size, got, test.want)
			}
		}
	}
}

// A conversation continues in another process: with its last turn, and with what it
// waits for.
func TestResume(t *testing.T) {
	cfg := parley.Config{Agents: map[string]*agent.Agent{"assistant": assistant(t)}}
	cfg.Sessions.URL = "sqlite:///" + filepath.ToSlash(filepath.Join(t.TempDir(), "chats.db"))
	p := openIn(t.Context(), t, &Env{}, cfg, runOptions{resume: true})
	if _, err := p.end(); err == nil || !strings.Contains(err.Error(), "no session of assistant to continue") {
		t.Errorf("without a session: %v", err)
	}
	p = openIn(t.Context(), t, &Env{}, cfg, runOptions{session: "first"})
	p.until(prompt)
	p.say("Ask for approval of 100")
	waits := p.until(prompt)
	_, waits, _ = strings.Cut(waits, "/answer ")
	id, _, _ := strings.Cut(waits, " ")
	p.say("exit")
	if rest, err := p.end(); err != nil || !strings.Contains(rest, "--session first") {
		t.Errorf("it ends with %q, %v", rest, err)
	}
	for _, opts := range []runOptions{{resume: true}, {session: "first"}} {
		p = openIn(t.Context(), t, &Env{}, cfg, opts)
		shown := p.until(prompt) + p.until(prompt) // the first is that of the message before
		if !strings.Contains(shown, "Continuing the session first") || !strings.Contains(shown, "Ask for approval of 100") || !strings.Contains(shown, "waits for an answer") {
			t.Errorf("it begins with %q", shown)
		}
		if opts.resume {
			p.say("exit")
			if _, err := p.end(); err != nil {
				t.Error(err)
			}
		}
	}
	p.say("/answer " + id + ` "approved"`)
	if shown := p.until(prompt); !strings.Contains(shown, "approved") {
		t.Errorf("after the answer: %q", shown)
	}
	p.say("exit")
	if _, err := p.end(); err != nil {
		t.Error(err)
	}
}

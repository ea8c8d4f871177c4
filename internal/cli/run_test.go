package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// terminal is a person who talks to the agent in testdata/assistant.
type terminal struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	stderr *bytes.Buffer
	ended  chan int
}

func open(ctx context.Context, t *testing.T, args ...string) *terminal {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	p := &terminal{t: t, in: in, out: bufio.NewReader(out), stderr: &bytes.Buffer{}, ended: make(chan int, 1)}
	go func() {
		p.ended <- Main(ctx, &Env{
			Args: append([]string{"run", "assistant", "--offline"}, args...), Dir: dir,
			Environ: []string{"TERM=xterm"}, Stdin: stdin, Stdout: stdout, Stderr: p.stderr,
			StdinTerminal: true, StdoutTerminal: true,
		})
		stdout.Close()
		stdin.Close()
	}()
	return p
}

// say types a line.
func (p *terminal) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// until reads what is shown up to a text, which it includes.
func (p *terminal) until(text string) string {
	p.t.Helper()
	var shown strings.Builder
	for !strings.HasSuffix(shown.String(), text) {
		b, err := p.out.ReadByte()
		if err != nil {
			p.t.Fatalf("%v: %q is not in %q; errors: %s", err, text, shown.String(), p.stderr)
		}
		shown.WriteByte(b)
	}
	return shown.String()
}

// end waits for the exit code, and returns the last of what is shown.
func (p *terminal) end() (int, string) {
	rest, _ := io.ReadAll(p.out)
	return <-p.ended, string(rest)
}

const prompt = "[user]: "

func TestConversation(t *testing.T) {
	p := open(t.Context(), t)
	if got, want := p.until(prompt), "Talking to assistant. Type exit or quit to end.\n[user]: "; got != want {
		t.Errorf("it begins with %q, want %q", got, want)
	}
	p.say("Ask for approval of 100")
	shown := p.until(prompt)
	waits := regexp.MustCompile(`/answer (\S+) `).FindStringSubmatch(shown)
	if waits == nil {
		t.Fatalf("no call waits in %q", shown)
	}
	want := "\x1b[2m  → ask_for_approval {\"amount\":100}\x1b[0m\n" +
		"\x1b[2m  ← ask_for_approval {\"status\":\"pending\",\"amount\":100}\x1b[0m\n" +
		"[assistant]: ask_for_approval is waiting for its result.\n" +
		"ask_for_approval waits for an answer. To give one: /answer ID {\"status\": \"done\"}\n" + prompt
	if diff := cmp.Diff(want, strings.ReplaceAll(shown, waits[1], "ID")); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}

	// A mistake is told, and the conversation goes on.
	for _, mistake := range []string{"/answer", "/answer nothing {}", "/answer " + waits[1] + " yes"} {
		p.say(mistake)
		p.until(prompt)
	}
	if got := p.stderr.String(); strings.Count(got, "error: no call with the id") != 2 || !strings.Contains(got, "is not JSON: yes") {
		t.Errorf("errors: %s", got)
	}

	// It waits until there is a final answer.
	p.say("/answer " + waits[1] + ` {"status": "pending", "note": "soon"}`)
	if shown := p.until(prompt); !strings.Contains(shown, "waits for an answer") {
		t.Errorf("after an interim answer: %q", shown)
	}
	p.say("/answer " + waits[1] + ` "approved"`)
	if shown := p.until(prompt); !strings.Contains(shown, "approved") || strings.Contains(shown, "waits for an answer") {
		t.Errorf("after the answer: %q", shown)
	}
	p.say("Quit")
	if code, rest := p.end(); code != ExitOK || rest != "" {
		t.Errorf("exit code %d, and then %q", code, rest)
	}
}

func TestEndOfInput(t *testing.T) {
	p := open(t.Context(), t)
	p.until(prompt)
	p.say("") // nothing to say
	p.until(prompt)
	p.in.Close()
	if code, rest := p.end(); code != ExitOK || rest != "\n" {
		t.Errorf("exit code %d, and then %q", code, rest)
	}
}

func TestInterruptBetweenTurns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := open(ctx, t)
	p.until(prompt)
	cancel()
	if code, rest := p.end(); code != ExitOK || rest != "\n" {
		t.Errorf("exit code %d, and then %q", code, rest)
	}
}

func TestInterruptWithinATurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "session.json")
	p := open(ctx, t, "--save-session", file)
	p.until(prompt)
	p.say("wait forever")
	p.until("→ wait_forever")
	cancel()
	if code, _ := p.end(); code != ExitFailure || p.stderr.String() != "parley: interrupted\n" {
		t.Errorf("exit code %d, errors: %s", code, p.stderr)
	}
	// What was cut off is closed in what is kept.
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(text, []byte(`"status": "cancelled"`)) {
		t.Errorf("the session is %s, %v", text, err)
	}
}

func TestReplayFiles(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a.txt", "\n one \r\ntwo\n\n", `{"state":null,"queries":["one","two"]}`},
		{"empty", "", `{"state":null,"queries":null}`},
		{"a.json", `{"state":{"a":1},"queries":["one\ntwo"]}`, `{"state":{"a":1},"queries":["one\ntwo"]}`},
		{"state.json", `{"state":{"a":1}}`, `{"state":{"a":1},"queries":null}`},
		{"noname", `{"queries":["one"]}`, `{"state":null,"queries":["one"]}`},
		{"message.txt", `{"city":"Paris"}`, `{"state":null,"queries":["{\"city\":\"Paris\"}"]}`},
		{"bad.JSON", `{"queries":`, "unexpected end"},
	} {
		file := filepath.Join(t.TempDir(), test.name)
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := readReplay(file)
		got, bad := json.Marshal(r)
		if err = errors.Join(err, bad); err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/offline"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// assistant has a tool that is answered from outside, and one that never is.
func assistant(t *testing.T) *agent.Agent {
	t.Helper()
	type amount struct {
		Amount int `json:"amount"`
	}
	ask := tool.Must(tool.New(tool.Declaration{Name: "ask_for_approval", Description: "Asks for the approval of an amount.", LongRunning: true},
		func(_ *tool.Context, in amount) (map[string]any, error) {
			return map[string]any{"status": "pending", "amount": in.Amount}, nil
		}))
	wait := tool.Must(tool.New(tool.Declaration{Name: "wait_forever", Description: "Waits forever."},
		func(ctx *tool.Context, _ struct{}) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
	root, err := agent.NewLLM(agent.LLMConfig{Name: "assistant", Model: offline.New(), Tools: []tool.Tool{ask, wait}})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// terminal is a person who talks to the assistant.
type terminal struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	stderr *bytes.Buffer
	ended  chan error
}

func open(ctx context.Context, t *testing.T, opts runOptions) *terminal {
	t.Helper()
	return openWith(ctx, t, parley.Config{Agents: map[string]*agent.Agent{"assistant": assistant(t)}}, opts)
}

func openWith(ctx context.Context, t *testing.T, cfg parley.Config, opts runOptions) *terminal {
	t.Helper()
	return openIn(ctx, t, &Env{}, cfg, opts)
}

// openIn opens a conversation in an environment, which gets a terminal.
func openIn(ctx context.Context, t *testing.T, env *Env, cfg parley.Config, opts runOptions) *terminal {
	t.Helper()
	cfg.Log, opts.user = slog.New(slog.DiscardHandler), "user"
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	p := &terminal{t: t, in: in, out: bufio.NewReader(out), stderr: &bytes.Buffer{}, ended: make(chan error, 1)}
	env.Environ, env.Stdin, env.Stdout, env.Stderr = []string{"TERM=xterm"}, stdin, stdout, p.stderr
	env.StdinTerminal, env.StdoutTerminal = true, true
	go func() {
		p.ended <- converse(ctx, env, cfg, opts)
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

// end waits for the end, and returns the last of what is shown.
func (p *terminal) end() (string, error) {
	rest, _ := io.ReadAll(p.out)
	return string(rest), <-p.ended
}

const prompt = "[user]: "

func TestConversation(t *testing.T) {
	p := open(t.Context(), t, runOptions{})
	if got, want := p.until(prompt), "Talking to assistant. Type exit or quit to end, /help for more.\n[user]: "; got != want {
		t.Errorf("it begins with %q, want %q", got, want)
	}
	p.say("Ask for approval of 100")
	shown := p.until(prompt)
	waits := regexp.MustCompile(`/answer (\S+) `).FindStringSubmatch(shown)
	if waits == nil {
		t.Fatalf("no call waits in %q", shown)
	}
	want := "\x1b[2m  → ask_for_approval {\"amount\":100}\x1b[0m\n" +
		"\x1b[2m  ← ask_for_approval {\"amount\":100,\"status\":\"pending\"}\x1b[0m\n" +
		"[assistant]: ask_for_approval is waiting for its result.\n" +
		"ask_for_approval waits for an answer. To give one: /answer ID {\"status\": \"done\"}\n" + prompt
	if diff := cmp.Diff(want, strings.ReplaceAll(shown, waits[1], "ID")); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}

	// A mistake is told, and the conversation continues.
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
	if rest, err := p.end(); err != nil || rest != "" {
		t.Errorf("it ends with %v, and then %q", err, rest)
	}
}

func TestEndOfInput(t *testing.T) {
	p := open(t.Context(), t, runOptions{})
	p.until(prompt)
	p.say("") // nothing to say
	p.until(prompt)
	p.in.Close()
	if rest, err := p.end(); err != nil || rest != "\n" {
		t.Errorf("it ends with %v, and then %q", err, rest)
	}
}

func TestInterruptBetweenTurns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := open(ctx, t, runOptions{})
	p.until(prompt)
	cancel()
	if rest, err := p.end(); err != nil || rest != "\n" {
		t.Errorf("it ends with %v, and then %q", err, rest)
	}
}

func TestInterruptWithinATurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "session.json")
	p := open(ctx, t, runOptions{save: file})
	p.until(prompt)
	p.say("wait forever")
	p.until("→ wait_forever")
	cancel()
	if _, err := p.end(); err == nil || err.Error() != "interrupted" {
		t.Errorf("it ends with %v", err)
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

// What the command says itself is not in its log as well.
func TestRunSaysErrorsOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte("export const x = ;"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, stderr := command(t, nil, "run", dir); strings.Count(stderr, "does not work") != 1 {
		t.Errorf("it says %q", stderr)
	}
}

// The session to continue is the one that changed last, wherever it is in the list, and
// not the replay of one.
func TestLatestSession(t *testing.T) {
	s := newService(t, nil)
	run := s.say(t, "one", "Hello")
	if _, err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	latest := func(want string) {
		t.Helper()
		talk := &chat{server: s.Server, app: "assistant", user: "user"}
		if _, err := talk.find(t.Context(), true); err != nil || talk.session != want {
			t.Errorf("it continues %q, want %q: %v", talk.session, want, err)
		}
	}
	key := session.Key{App: "assistant", User: "user", ID: "one"}
	if _, err := s.Replay(t.Context(), key, run.ID(), replay.Plan{}); err != nil {
		t.Fatal(err)
	}
	latest("one")
	for i := range 120 { // more than a page
		key.ID = fmt.Sprint("later", i)
		if _, err := s.Sessions().Create(t.Context(), parley.NewSession{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	latest("later119")
	if _, err := s.say(t, "one", "Hello again").Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	latest("one")
}

// A user who only has replays has nothing to continue.
func TestNoSessionToContinue(t *testing.T) {
	s := newService(t, nil)
	run := s.say(t, "one", "Hello")
	if _, err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := session.Key{App: "assistant", User: "user", ID: "one"}
	if _, err := s.Replay(t.Context(), key, run.ID(), replay.Plan{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Sessions().Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	talk := &chat{server: s.Server, app: "assistant", user: "user"}
	if _, err := talk.find(t.Context(), true); err == nil || !strings.Contains(err.Error(), "user has no session of assistant to continue") {
		t.Errorf("%q: %v", talk.session, err)
	}
}

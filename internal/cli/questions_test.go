package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func TestQuestions(t *testing.T) {
	type file struct {
		Path string `json:"path"`
	}
	remove := tool.Confirm(tool.Must(tool.New(tool.Declaration{Name: "remove"}, func(_ *tool.Context, in file) (map[string]any, error) {
		return map[string]any{"removed": in.Path}, nil
	})), nil)
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "assistant", Tools: []tool.Tool{remove, tool.RequestInput(), tool.UserChoice()},
		Model: scripted.New(
			scripted.Call("remove", file{"/a"}), scripted.Say("Wait."), scripted.Say("Gone."),
			scripted.Call("remove", file{"/b"}), scripted.Say("Kept."),
			scripted.Call(tool.InputCall, json.RawMessage(`{"message":"How many?","responseSchema":{"type":"integer"}}`)), scripted.Say("Hello to you."), scripted.Say("That many."),
			scripted.Call(tool.ChoiceCall, json.RawMessage(`{"options":["red","blue"]}`)), scripted.Say("Chosen."),
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "session.json")
	p := openWith(t.Context(), t, parley.Config{Agents: map[string]*agent.Agent{"assistant": root}}, runOptions{save: saved})
	p.until(prompt)
	for _, turn := range []struct{ say, shows, until string }{
		{"Remove a", "Please approve or reject the call of remove.\n  remove {\"path\":\"/a\"}\n", "[y/n]: "},
		{"maybe", "Type y to approve the call or n to reject it.", "[y/n]: "},
		{"/say Why?", "[assistant]: Wait.\n", "[y/n]: "}, // decides nothing
		{"YES", `← remove {"removed":"/a"}`, prompt},
		{"Remove b", "", "[y/n]: "},
		{"n", "This tool call is rejected.", prompt},
		{"Well", "How many?\n", "[answer]: "},
		{"some", "How many?\n", "[answer]: "}, // does not fit
		{"/say hello", "[assistant]: Hello to you.\n", "[answer]: "},
		{"4", "That many.", prompt},
		{"Colour", "  1. red\n  2. blue\n", "[choice]: "},
		{"2", "Chosen.", prompt},
	} {
		p.say(turn.say)
		if shown := p.until(turn.until); !strings.Contains(shown, turn.shows) || strings.Contains(shown, "/answer") || strings.Contains(shown, "requires confirmation") {
			t.Errorf("after %q: %q, want %q", turn.say, shown, turn.shows)
		}
	}
	if got := p.stderr.String(); !strings.Contains(got, "does not fit what was asked for") {
		t.Errorf("errors: %q", got)
	}
	p.say("exit")
	if _, err := p.end(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	text, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"result": "4"`, `"result": "blue"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in the session", want)
		}
	}
}

// TestQuestionAskedAgain has a node that asks the same question until the answer is
// right: each time under the same id.
func TestQuestionAskedAgain(t *testing.T) {
	guess := workflow.Func("guess", func(ctx *workflow.Context, _ string) (string, error) {
		answer, err := ctx.RequestInput(workflow.InputRequest{ID: "guess", Message: "Which colour?"})
		if err != nil {
			return "", err
		}
		if string(answer) != `"red"` {
			ctx.SetRoute("wrong")
			return "", nil
		}
		ctx.SetRoute("right")
		return "Right.", nil
	}, workflow.NodeConfig{RerunOnResume: true})
	praise := workflow.Func("praise", func(_ *workflow.Context, _ string) (string, error) { return "Well done.", nil }, workflow.NodeConfig{})
	root, err := workflow.New(workflow.Config{Name: "game", Edges: []workflow.Edge{
		{To: guess}, {From: guess, To: guess, Routes: []string{"wrong"}}, {From: guess, To: praise, Routes: []string{"right"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := openWith(t.Context(), t, parley.Config{Agents: map[string]*agent.Agent{"game": root}}, runOptions{})
	p.until(prompt)
	for _, turn := range []struct{ say, shows, until string }{
		{"Let us play", "Which colour?\n", "[answer]: "},
		{"blue", "Which colour?\n", "[answer]: "},
		{"red", "Well done.", prompt},
	} {
		p.say(turn.say)
		if shown := p.until(turn.until); !strings.Contains(shown, turn.shows) {
			t.Errorf("after %q: %q, want %q", turn.say, shown, turn.shows)
		}
	}
	p.say("exit")
	if _, err := p.end(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// A line of a pipe that is neither yes nor no does not reach the agent, and the end of the
// pipe ends the conversation.
func TestUndecidedPipe(t *testing.T) {
	for _, test := range []struct{ input, want string }{
		{"Remove a\nmaybe\n", "[y/n]: maybe\nType y to approve the call or n to reject it."},
		{"Remove a\nmaybe\ny\n", "[assistant]: Gone.\n"},
	} {
		remove := tool.Confirm(tool.Must(tool.New(tool.Declaration{Name: "remove"}, func(*tool.Context, struct{}) (map[string]any, error) {
			return map[string]any{}, nil
		})), nil)
		root, err := agent.NewLLM(agent.LLMConfig{
			Name: "assistant", Tools: []tool.Tool{remove}, Model: scripted.New(scripted.Call("remove", struct{}{}), scripted.Say("Gone.")),
		})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		env := &Env{Stdin: strings.NewReader(test.input), Stdout: &out, Stderr: io.Discard}
		cfg := parley.Config{Agents: map[string]*agent.Agent{"assistant": root}, Log: slog.New(slog.DiscardHandler)}
		if err := converse(t.Context(), env, cfg, runOptions{user: "user"}); err != nil || !strings.Contains(out.String(), test.want) {
			t.Errorf("%q: %v: %s", test.input, err, out.String())
		}
	}
}

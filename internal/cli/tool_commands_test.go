package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// equipped is a change that adds agents with tools; made counts the calls that change
// something.
func equipped(t *testing.T, made *atomic.Int64) func(*parley.Config) {
	t.Helper()
	type in struct {
		Name string `json:"name"`
	}
	look := tool.Must(tool.New(tool.Declaration{Name: "look_up", Description: "Looks a name up.", Effect: tool.Pure},
		func(_ *tool.Context, in in) (map[string]any, error) {
			if in.Name == "Atlantis" {
				return nil, errors.New("it is \x1b[31mnowhere")
			}
			return map[string]any{"name": in.Name, "found": true}, nil
		}))
	write := tool.Must(tool.New(tool.Declaration{Name: "write_down", Effect: tool.Once},
		func(_ *tool.Context, in in) (map[string]any, error) {
			return map[string]any{"written": in.Name, "calls": made.Add(1)}, nil
		}))
	ask := tool.Must(tool.New(tool.Declaration{Name: "approve", Effect: tool.Pure, LongRunning: true},
		func(*tool.Context, struct{}) (map[string]any, error) { return map[string]any{"status": "pending"}, nil }))
	child, err := agent.NewLLM(agent.LLMConfig{Name: "helper", Model: scripted.New(), Tools: []tool.Tool{look}})
	if err != nil {
		t.Fatal(err)
	}
	root, err := agent.NewLLM(agent.LLMConfig{Name: "clerk", Model: scripted.New(), Tools: []tool.Tool{look, write, ask}, SubAgents: []*agent.Agent{child}})
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *parley.Config) { cfg.Agents, cfg.UI.Enabled = map[string]*agent.Agent{"clerk": root}, true }
}

// Tools are listed with what a call does, and called: those that change something only
// when that is confirmed.
func TestToolCommands(t *testing.T) {
	var made atomic.Int64
	s := newService(t, equipped(t, &made))
	do, contains := s.command(t, nil, "tools")
	server := "--server=" + s.url
	contains(do(ExitOK, "list", server), "look_up", "helper", "only reads", "write_down", "changes something, at most once", "has its result later")
	contains(do(ExitOK, "call", "look_up", "--agent", "clerk", "--args", `{"name":"Oslo"}`, server), "look_up of clerk: a call only reads.", `"found": true`, `"name": "Oslo"`)
	contains(do(ExitUsage, "call", "look_up", server), "give --agent: ", "clerk", "helper")
	contains(do(ExitFailure, "call", "look_down", server), "there are approve, look_up, write_down")
	contains(do(ExitFailure, "call", "look_up", "--agent", "x", server), "no agent with that name")
	contains(do(ExitUsage, "call", "write_down", "--args", `["x"]`, server), "--args must be a JSON object")
	contains(do(ExitUsage, "list", "--session_db_url", s.database, "--app_name", "clerk"), "need a server")
	failed := do(ExitFailure, "call", "look_up", "--agent", "helper", "--args", `{"name":"Atlantis"}`, server)
	contains(failed, "the call has failed: it is", "nowhere")
	if strings.Contains(failed, "\x1b") {
		t.Errorf("control characters are shown: %q", failed)
	}
	contains(do(ExitOK, "call", "approve", "--user", "ann", server), s.url+"/ui/apps/clerk/users/ann/sessions/___tool___session___")

	contains(do(ExitFailure, "call", "write_down", "--yes", server), "the call has failed", "missing properties")
	contains(do(ExitUsage, "call", "write_down", server), "give --yes")
	contains(do(ExitUsage, "call", "write_down", "--json", server), "give --yes")
	ask := func(answer string) (int, string) {
		var out, errs bytes.Buffer
		code := Main(t.Context(), &Env{Args: []string{"tools", "call", "write_down", "--args", `{"name":"x"}`, server}, Dir: s.dir, Stdin: strings.NewReader(answer), StdinTerminal: true, Stdout: &out, Stderr: &errs})
		return code, out.String() + errs.String()
	}
	for _, no := range []string{"n\n", "\n", ""} {
		code, text := ask(no)
		contains(text, `Call write_down with {"name":"x"} as user (y/N)?`, "nothing was called")
		if code != ExitFailure || made.Load() != 0 {
			t.Fatalf("%q: exit code %d, and %d calls", no, code, made.Load())
		}
	}
	if code, text := ask("y\n"); code != ExitOK || made.Load() != 1 || !strings.Contains(text, `"written": "x"`) {
		t.Errorf("exit code %d, %d calls: %s", code, made.Load(), text)
	}
	var got calledTool
	if err := json.Unmarshal([]byte(do(ExitOK, "call", "write_down", "--yes", "--json", "--args", `{"name":"y"}`, server)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Status != "completed" || got.Run == "" || got.Session == "" || !strings.Contains(string(got.Result), `"written":"y"`) {
		t.Errorf("the call is %+v, with %s", got, got.Result)
	}
	contains(do(ExitOK, "call", "write_down", "--yes", "--session", got.Session, "--args", `{"name":"z"}`, server), `"calls": 3`)
}

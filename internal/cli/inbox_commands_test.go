package cli

import (
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// asking is a change that has the agent ask the user.
func asking(t *testing.T) func(*parley.Config) {
	t.Helper()
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "clerk", Tools: []tool.Tool{tool.RequestInput()},
		Model: scripted.New(scripted.Call("adk_request_input", map[string]any{"message": "When is it?"}), scripted.Say("Thank you.")),
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *parley.Config) { cfg.Agents["clerk"] = root }
}

// ask returns the id of the entry for the question that the agent asks.
func (s *service) ask(t *testing.T) string {
	t.Helper()
	run, err := s.Start(t.Context(), parley.Request{App: "clerk", User: "ann", Session: "s", Message: event.Text(event.RoleUser, "hi")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, stdout, stderr := s.do(t, nil, "inbox", "list", "--server", s.url)
	fields := strings.Fields(strings.TrimSpace(stdout))
	if len(fields) == 0 {
		t.Fatalf("the inbox is empty: %s", stderr)
	}
	return fields[len(fields)-1]
}

// What waits is listed on a server and in its database, and answered on the server.
func TestInboxCommands(t *testing.T) {
	s := newService(t, asking(t))
	id := s.ask(t)
	do, contains := s.command(t, nil, "inbox")
	server, database := "--server="+s.url, "--session_db_url="+s.database
	contains(do(ExitOK, "list", server, "--kind", "input", "--user", "ann"), "When is it?", "clerk", "ann")
	if got := do(ExitOK, "list", server, "--kind", "login", "--json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("the logins are %s", got)
	}
	contains(do(ExitOK, "list", database, "--app_name", "clerk", "--json"), `"When is it?"`)
	contains(do(ExitUsage, "answer", id, "--approve", "--reject", server), "only one of")
	contains(do(ExitUsage, "answer", id, "--reason", "no", server), "--reject")
	contains(do(ExitUsage, "answer", id, "--response", "x", database, "--app_name", "clerk"), "needs a server")
	contains(do(ExitFailure, "answer", "x", "--response", "x", server), "no such entry")
	contains(do(ExitOK, "answer", id, "--response", "on Tuesday", server), "run")
	contains(do(ExitFailure, "answer", id, "--response", "on Friday", server), "answered already")
}

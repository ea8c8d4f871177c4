package a2a_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// The command-line client of the official library does what it can, over each binding.
func TestCommand(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds a program")
	}
	program := testkit.Build(t, "github.com/a2aproject/a2a-go/v2/cmd/a2a")
	web := serve(t, parley.Config{Agents: testkit.NewFixture().Apps()})
	agent := web.URL + "/a2a/weather"
	for _, transport := range []string{"jsonrpc", "rest"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			command := func(args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), program, append(args, "-o", "json", "--transport", transport, "--timeout", "10m")...)
				var failure strings.Builder
				cmd.Stderr = &failure
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v\n%s%s", args, err, out, failure.String())
				}
				return string(out)
			}
			task := func(args ...string) (got a2a.Task) {
				t.Helper()
				text := command(args...)
				var wrapped struct{ Task *a2a.Task }
				if err := json.Unmarshal([]byte(text), &wrapped); err == nil && wrapped.Task != nil {
					return *wrapped.Task
				}
				if err := json.Unmarshal([]byte(text), &got); err != nil || got.ID == "" {
					t.Fatalf("%s: %v\n%s", args, err, text)
				}
				return got
			}
			var card a2a.AgentCard
			if text := command("discover", agent); json.Unmarshal([]byte(text), &card) != nil || card.Name != "weather_agent" {
				t.Errorf("the card is %s", text)
			}
			first := task("send", agent, "hello")
			if first.Status.State != a2a.TaskStateCompleted || first.Artifacts[0].Parts[0].Text() != "You said: hello" {
				t.Errorf("%+v", first)
			}
			stream := command("send", agent, "--stream", "--context", first.ContextID, "weather in Oslo")
			if !strings.Contains(stream, "It is sunny in Oslo.") || !strings.Contains(stream, first.ContextID) || !strings.Contains(stream, string(a2a.TaskStateCompleted)) {
				t.Errorf("the stream is %s", stream)
			}
			if got := task("get", "task", agent, string(first.ID)); got.ID != first.ID || got.Artifacts[0].Parts[0].Text() != "You said: hello" {
				t.Errorf("%+v", got)
			}
			if list := command("list", "tasks", agent, "--context", first.ContextID); strings.Count(list, `"contextId"`) < 2 || !strings.Contains(list, string(first.ID)) {
				t.Errorf("the tasks are %s", list)
			}
			asked := task("send", agent, "danger one")
			if asked.Status.State != a2a.TaskStateInputRequired {
				t.Errorf("%+v", asked)
			}
			if done := task("send", agent, "--task", string(asked.ID), "--context", asked.ContextID, "yes"); done.ID != asked.ID || done.Status.State != a2a.TaskStateCompleted {
				t.Errorf("%+v", done)
			}
			slow := task("send", agent, "--immediate", "slow never")
			if slow.Status.State.Terminal() {
				t.Errorf("%+v", slow)
			}
			if got := task("cancel", agent, string(slow.ID)); got.ID != slow.ID {
				t.Errorf("%+v", got)
			}
			testkit.Eventually(t, "the end of the task", func() bool {
				return task("get", "task", agent, string(slow.ID)).Status.State == a2a.TaskStateCanceled
			})
		})
	}
}

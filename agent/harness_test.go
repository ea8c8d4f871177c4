package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/tool"
)

func TestMain(m *testing.M) { leak.Main(m) }

// chat is one session with an agent tree.
type chat struct {
	t   *testing.T
	srv *parley.Server
}

func newChat(t *testing.T, root *agent.Agent) *chat {
	t.Helper()
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}, Limits: parley.Limits{ModelCalls: 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	return &chat{t: t, srv: srv}
}

// send sends a message and returns what came of it.
func (c *chat) send(message *event.Content) ([]*event.Event, error) {
	c.t.Helper()
	var events []*event.Event
	for ev, err := range c.srv.Stream(c.t.Context(), parley.Request{App: "app", User: "u", Session: "s", Message: message}) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// say sends a text that must not fail.
func (c *chat) say(text string) []*event.Event {
	c.t.Helper()
	events, err := c.send(event.Text(event.RoleUser, text))
	if err != nil {
		c.t.Fatal(err)
	}
	return events
}

// answer sends the result of a long-running call.
func (c *chat) answer(id, name, result string) []*event.Event {
	c.t.Helper()
	events, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: id, Name: name, Response: json.RawMessage(result)},
	}}})
	if err != nil {
		c.t.Fatal(err)
	}
	return events
}

// story is what happened, one line an event, so that a test can show the whole
// of it.
func story(events []*event.Event) string {
	var lines []string
	for _, ev := range events {
		line := ev.Author
		if ev.Branch != "" {
			line += "@" + ev.Branch
		}
		line += ":"
		if ev.Content != nil {
			for _, p := range ev.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					line += fmt.Sprintf(" call %s%s", p.FunctionCall.Name, p.FunctionCall.Args)
				case p.FunctionResponse != nil:
					line += fmt.Sprintf(" %s returned %s", p.FunctionResponse.Name, p.FunctionResponse.Response)
				default:
					line += " " + p.Text
				}
			}
		}
		if ev.ErrorCode != "" {
			line += " error " + ev.ErrorCode
		}
		if len(ev.Actions.StateDelta) > 0 {
			delta, err := json.Marshal(ev.Actions.StateDelta)
			if err != nil {
				return err.Error()
			}
			line += " state" + string(delta)
		}
		if ev.Actions.TransferToAgent != "" {
			line += " transfer " + ev.Actions.TransferToAgent
		}
		if ev.TurnComplete {
			line += " (end)"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func wantStory(t *testing.T, events []*event.Event, want string) {
	t.Helper()
	if got := story(events); got != strings.TrimSpace(want) {
		t.Errorf("events:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

func mustLLM(cfg agent.LLMConfig) *agent.Agent { return agent.Must(agent.NewLLM(cfg)) }

// lookup is a tool that says what its argument is.
func lookup(name string) tool.Tool {
	type in struct {
		Of string `json:"of"`
	}
	return tool.Must(tool.New(tool.Declaration{Name: name}, func(_ *tool.Context, in in) (map[string]string, error) {
		return map[string]string{"found": in.Of}, nil
	}))
}

// later is a long-running tool.
func later(name string, receipt any) tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: name, LongRunning: true}, func(*tool.Context, struct{}) (any, error) {
		return receipt, nil
	}))
}

package agent_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// changingSet is a toolset whose tools change.
type changingSet struct {
	mu     sync.Mutex
	tools  []tool.Tool
	err    error
	panics bool
	users  []string
	closed int
}

func (s *changingSet) Tools(ctx *tool.Context) ([]tool.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panics {
		panic("secret")
	}
	s.users = append(s.users, ctx.User+" "+ctx.Agent)
	return s.tools, s.err
}

func (s *changingSet) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

func (s *changingSet) put(tools ...tool.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

func TestToolsets(t *testing.T) {
	set := &changingSet{}
	set.put(lookup("one"), later("wait", nil))
	m := scripted.New(
		scripted.Call("one", map[string]string{"of": "x"}), scripted.Call("two", map[string]string{"of": "y"}), scripted.Say("Nothing."),
		scripted.Call("wait", nil), scripted.Say("Answered."))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools(lookup("own")), Toolsets: []tool.Toolset{set}}))
	wantStory(t, c.say("go"), `
a: call one{"of":"x"}
a: one returned {"found":"x"}
a: call two{"of":"y"}
a: two returned {"status":"error","error_message":"There is no tool two. The tools are: one, own, wait."}
a: Nothing. (end)`)
	if set.users[0] != "u a" {
		t.Errorf("it was asked by %v", set.users)
	}
	var names []string
	for _, d := range m.Requests()[0].Tools {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); got != "own one wait" {
		t.Errorf("the model sees %s", got)
	}
	first := c.say("wait")
	set.put(lookup("two"))
	wantStory(t, c.answer(callID(t, first), "wait", `{"ok":true}`), "a: Answered. (end)")
	if req := m.Requests()[4]; len(req.Tools) != 2 || req.Tools[1].Name != "two" {
		t.Errorf("the model sees %d tools after the change", len(req.Tools))
	}
	c.srv.Close(t.Context())
	if set.closed == 0 {
		t.Error("the toolset was not closed with the server")
	}
}

// Tools that have something to say about requests say it from a toolset, too.
func TestToolsetsWithToolsThatWorkOnRequests(t *testing.T) {
	set := &changingSet{}
	set.put(agent.LoadArtifacts(), agent.PreloadMemory())
	save, err := tool.New(tool.Declaration{Name: "save", Description: "Saves."}, func(ctx *tool.Context, _ struct{}) (string, error) {
		_, err := ctx.SaveArtifact("notes.txt", &event.Part{Text: "x"})
		return "saved", err
	})
	if err != nil {
		t.Fatal(err)
	}
	m := scripted.New(scripted.Call("save", nil), scripted.Say("Saved."))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools(save), Toolsets: []tool.Toolset{set}}))
	c.say("save")
	last := m.Requests()[1]
	if len(last.Tools) != 2 || last.Tools[1].Name != "load_artifacts" || !strings.Contains(last.Instruction, `You have these artifacts: ["notes.txt"]`) {
		t.Errorf("the model was told of %v and %q", last.Tools, last.Instruction)
	}
}

func TestToolsetsThatFail(t *testing.T) {
	for want, set := range map[string]*changingSet{
		"no route":                    {err: errors.New("no route")},
		"two are called own":          {tools: tools(lookup("own"))},
		"adk_request_confirmation":    {tools: tools(lookup("adk_request_confirmation"))},
		"toolset of agent a panicked": {panics: true},
	} {
		c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Say("Hi.")), Tools: tools(lookup("own")), Toolsets: []tool.Toolset{set}}))
		if _, err := c.send(event.Text(event.RoleUser, "go")); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// keeper is a tool that saves a file.
func keeper() tool.Tool {
	type in struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	return tool.Must(tool.New(tool.Declaration{Name: "keep"}, func(ctx *tool.Context, in in) (any, error) {
		version, err := ctx.SaveArtifact(in.Name, &event.Part{Text: in.Text})
		return map[string]int64{"version": version}, err
	}))
}

func keep(name, text string) scripted.Step {
	return scripted.Call("keep", map[string]string{"name": name, "text": text})
}

// A file that a tool saves is in the actions of its event and in instructions, and
// can be loaded.
func TestArtifacts(t *testing.T) {
	m := scripted.New(keep("a.txt", "one"), keep("a.txt", "two"), keep("user:b/c.txt", "mine"), keep("../x", ""), scripted.Say("Done."), scripted.Say("Again."))
	read := ""
	c := newChat(t, mustLLM(agent.LLMConfig{
		Name: "a", Model: m, Instruction: "[{artifact.a.txt?}] [{artifact.user:b/c.txt?}]", Tools: []tool.Tool{keeper()},
		AfterAgent: []agent.Callback{func(ctx *tool.Context) (*event.Content, error) {
			first, err := ctx.LoadArtifact("a.txt", 0)
			if err != nil {
				return nil, err
			}
			names, err := ctx.ListArtifacts()
			if err != nil {
				return nil, err
			}
			versions, err := ctx.ArtifactVersions("a.txt")
			read = fmt.Sprint(first.Text, names, len(versions))
			return nil, err
		}},
	}))
	events := c.say("go")
	var saved []string
	for _, ev := range events {
		if len(ev.Actions.ArtifactDelta) > 0 {
			saved = append(saved, fmt.Sprint(ev.Actions.ArtifactDelta))
		}
	}
	if got := strings.Join(saved, " "); got != "map[a.txt:0] map[a.txt:1] map[user:b/c.txt:0]" {
		t.Errorf("the events tell of %s", got)
	}
	if !strings.Contains(story(events), "The name of an artifact must be a path") {
		t.Errorf("a bad name: %s", story(events))
	}
	if read != "one[a.txt user:b/c.txt] 2" {
		t.Errorf("read was %s", read)
	}
	if got := m.Requests()[0].Instruction; got != "[] []" {
		t.Errorf("before anything is saved, the instruction is %q", got)
	}
	if got := m.Requests()[4].Instruction; got != "[two] [mine]" {
		t.Errorf("the instruction is %q", got)
	}
	c.say("again")
}

func TestArtifactMissingInInstruction(t *testing.T) {
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(), Instruction: "{artifact.none}"}))
	if _, err := c.send(event.Text(event.RoleUser, "x")); err == nil || !strings.Contains(err.Error(), "artifact not found: `none`") {
		t.Errorf("got %v", err)
	}
}

// A model sees the files that it asks for, and only until it has answered.
func TestLoadArtifacts(t *testing.T) {
	load := scripted.Call("load_artifacts", map[string]any{"artifact_names": []string{"a.txt", "none"}})
	m := scripted.New(keep("a.txt", "the content"), load, scripted.Say("It says so."), scripted.Say("Later."))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Instruction: "Be brief.", Tools: []tool.Tool{agent.LoadArtifacts(), keeper()}}))
	c.say("go")
	c.say("and now?")
	reqs := m.Requests()
	if reqs[0].Instruction != "Be brief." || len(reqs[0].Tools) != 2 {
		t.Errorf("without files, the instruction is %q", reqs[0].Instruction)
	}
	if !strings.Contains(reqs[1].Instruction, `You have these artifacts: ["a.txt"]`) {
		t.Errorf("the instruction is %q", reqs[1].Instruction)
	}
	shown := func(i int) string {
		var b strings.Builder
		for _, content := range reqs[i].Contents() {
			b.WriteString(content.Text() + "|")
		}
		return b.String()
	}
	if got := shown(2); !strings.HasSuffix(got, "|Artifact a.txt is:the content|Artifact none is:[There is no such artifact.]|") {
		t.Errorf("after the call the model sees %s", got)
	}
	if got := shown(3); strings.Contains(got, "the content") {
		t.Errorf("in the next turn the model sees %s", got)
	}
}

func TestLoadArtifactsShowsFilesAsTheyAre(t *testing.T) {
	save := tool.Must(tool.New(tool.Declaration{Name: "save"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		for name, mimeType := range map[string]string{"a.json": "application/json; charset=utf-8", "b.png": "image/png"} {
			if _, err := ctx.SaveArtifact(name, &event.Part{InlineData: &event.Blob{MIMEType: mimeType, Data: []byte("{}")}}); err != nil {
				return nil, err
			}
		}
		_, err := ctx.WriteArtifact(tool.Artifact{Name: "large"}, strings.NewReader(strings.Repeat("x", 21<<20)))
		return nil, err
	}))
	m := scripted.New(scripted.Call("save", nil), scripted.Call("load_artifacts", map[string]any{"artifact_names": []string{"a.json", "b.png", "large"}}), scripted.Say("ok"))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: []tool.Tool{agent.LoadArtifacts(), save}}))
	c.say("go")
	contents := m.Requests()[2].Contents()
	contents = contents[len(contents)-3:]
	if p := contents[0].Parts[1]; p.Text != "{}" {
		t.Errorf("JSON is shown as %+v", p)
	}
	if p := contents[1].Parts[1]; p.InlineData == nil || p.InlineData.MIMEType != "image/png" {
		t.Errorf("an image is shown as %+v", p)
	}
	if p := contents[2].Parts[1]; !strings.Contains(p.Text, "too large") {
		t.Errorf("a large file is shown as %.100s", p.Text)
	}
}

// An agent that is a tool shares the files of who calls it.
func TestArtifactsOfAgentsAsTools(t *testing.T) {
	inner := mustLLM(agent.LLMConfig{Name: "inner", Model: scripted.New(keep("a", "1"), scripted.Say("kept")), Tools: []tool.Tool{keeper()}})
	m := scripted.New(scripted.Call("inner", map[string]string{"request": "keep"}), scripted.Say("ok"))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "outer", Model: m, Instruction: "{artifact.a?}", Tools: []tool.Tool{agent.AsTool(inner)}}))
	events := c.say("go")
	if got := m.Requests()[1].Instruction; got != "1" {
		t.Errorf("the instruction is %q", got)
	}
	if v, ok := events[1].Actions.ArtifactDelta["a"]; !ok || v != 0 {
		t.Errorf("the event tells of %v", events[1].Actions.ArtifactDelta)
	}
}

// What was said in one session is found in another one of the same user.
func TestMemory(t *testing.T) {
	add := tool.Must(tool.New(tool.Declaration{Name: "add"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		return "added", ctx.AddSessionToMemory()
	}))
	m := scripted.New(
		scripted.Call("add", nil), scripted.Say("I will not forget."),
		scripted.Call("load_memory", map[string]string{"query": "what is my CAT called?"}), scripted.Say("Tom."),
		scripted.Say("I do not know."),
	)
	root := mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: []tool.Tool{agent.LoadMemory(), agent.PreloadMemory(), add}})
	c := newChat(t, root)
	say := func(user, session, text string) []*event.Event {
		t.Helper()
		var events []*event.Event
		for ev, err := range c.srv.Stream(t.Context(), parley.Request{App: "app", User: user, Session: session, Message: event.Text(event.RoleUser, text)}) {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, ev)
		}
		return events
	}
	say("u", "first", "My cat is Tom.")
	events := say("u", "second", "Who is the cat?")
	if got := string(events[1].FunctionResponses()[0].Response); !strings.Contains(got, `"author":"user"`) || !strings.Contains(got, "My cat is Tom.") {
		t.Errorf("found is %s", got)
	}
	say("other", "first", "Who is the cat?")
	reqs := m.Requests()
	if got := reqs[2].Instruction; !strings.Contains(got, "user: My cat is Tom.") || !strings.Contains(got, "call load_memory") {
		t.Errorf("the instruction is %q", got)
	}
	if got := reqs[4].Instruction; strings.Contains(got, "Tom") {
		t.Errorf("another user's model is told %q", got)
	}
	for _, d := range reqs[0].Tools {
		if d.Name == "preload_memory" {
			t.Error("the model is told of preload_memory")
		}
	}
}

package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// recordingObserver observes everything, and records the steps of models.
type recordingObserver struct{ inputs, origins, outputs []string }

func (*recordingObserver) Detailed() bool              { return true }
func (*recordingObserver) Wants(agentrt.StepKind) bool { return true }
func (*recordingObserver) Close(*agentrt.Step)         {}

func (o *recordingObserver) Begin(ctx context.Context, s *agentrt.Step) context.Context {
	if s.Kind == agentrt.StepModel {
		o.inputs, o.origins = append(o.inputs, string(s.Input)), append(o.origins, string(s.Origins))
	}
	return ctx
}

func (o *recordingObserver) Done(s *agentrt.Step) {
	if s.Kind == agentrt.StepModel {
		o.outputs = append(o.outputs, string(s.Output))
	}
}

// watch runs an agent after a history, and returns what an observer has heard.
func watch(t *testing.T, root *agent.Agent, history ...*event.Event) *recordingObserver {
	t.Helper()
	o := &recordingObserver{}
	for _, ev := range history {
		ev.InvocationID = "e-before"
	}
	log := agentrt.NewPrivateLog(nil, history)
	inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: "e-1", Log: log, MaxModelCalls: 5, Observer: o}
	if err := inv.Start(t.Context(), root, log.Emit); err != nil {
		t.Fatal(err)
	}
	return o
}

// copies is a hook that hands back copies of what it was given, as code in
// another language does, and says something of its own.
func copies(own string) func(*tool.Context, *model.Request) (*model.Response, error) {
	return func(_ *tool.Context, req *model.Request) (*model.Response, error) {
		var out []*event.Content
		for _, c := range req.Contents() {
			doc, err := json.Marshal(c)
			if err != nil {
				return nil, err
			}
			same := new(event.Content)
			if err := json.Unmarshal(doc, same); err != nil {
				return nil, err
			}
			out = append(out, same)
		}
		if own != "" {
			out = append(out, event.Text(event.RoleUser, own))
		}
		req.SetContents(out)
		return nil, nil
	}
}

func TestOriginsAfterCopies(t *testing.T) {
	t.Parallel()
	root := mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Say("ok"))})
	wrapped, err := agent.WithPlugins(root, &agent.Plugin{Name: "first", BeforeModel: copies("mine")}, &agent.Plugin{Name: "second", BeforeModel: copies("")}, &agent.Plugin{Name: "third", BeforeModel: copies("yes")})
	if err != nil {
		t.Fatal(err)
	}
	o := watch(t, wrapped,
		&event.Event{ID: "1", Author: event.User, Content: event.Text(event.RoleUser, "yes")},
		&event.Event{ID: "2", Author: "a", Content: event.Text(event.RoleModel, "sure?")},
		&event.Event{ID: "3", Author: event.User, Content: event.Text(event.RoleUser, "yes")})
	want := `[{"path":"contents[0]","origin":"message of the user","event":"1"},{"path":"contents[1]","origin":"said by agent a","event":"2"},` +
		`{"path":"contents[2]","origin":"message of the user","event":"3"},{"path":"contents[3]","origin":"plugin first"},{"path":"contents[4]","origin":"plugin third"}]`
	if len(o.origins) != 1 || o.origins[0] != want {
		t.Errorf("the origins are\n%v, want\n%s", o.origins, want)
	}
}

// A tool of the client is not said to be of a toolset.
func TestOriginOfClientTools(t *testing.T) {
	t.Parallel()
	o := &recordingObserver{}
	log := agentrt.NewPrivateLog(nil, []*event.Event{{ID: "1", InvocationID: "e-before", Author: event.User, Content: event.Text(event.RoleUser, "yes")}})
	inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: "e-1", Log: log, MaxModelCalls: 5, Observer: o, Tools: []tool.Declaration{{Name: "paint"}}}
	if err := inv.Start(t.Context(), mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Say("ok"))}), log.Emit); err != nil {
		t.Fatal(err)
	}
	want := `[{"path":"config.tools[0]","origin":"tool of the client"},{"path":"contents[0]","origin":"message of the user","event":"1"}]`
	if len(o.origins) != 1 || o.origins[0] != want {
		t.Errorf("the origins are\n%v, want\n%s", o.origins, want)
	}
}

// What is shown of requests does not have large files in it, but for a note.
func TestLargeFilesAreNotShown(t *testing.T) {
	t.Parallel()
	file := func(size int) *event.Content {
		return &event.Content{Role: event.RoleUser, Parts: []*event.Part{
			{Text: "look"}, {InlineData: &event.Blob{MIMEType: "image/png", DisplayName: "cat.png", Data: bytes.Repeat([]byte("x"), size)}},
		}}
	}
	root := mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Respond(&model.Response{Content: file(9_000)})), BeforeModel: []agent.BeforeModel{copies("")}})
	o := watch(t, root,
		&event.Event{ID: "1", Author: event.User, Content: file(1_000_000)},
		&event.Event{ID: "2", Author: event.User, Content: file(10)})
	if len(o.inputs) != 1 || len(o.outputs) != 1 {
		t.Fatalf("%d requests, %d answers", len(o.inputs), len(o.outputs))
	}
	const note = `{"inlineData":{"mimeType":"image/png","displayName":"cat.png","omitted":"%d bytes, which are not shown here"}}`
	for _, want := range []string{strings.Replace(note, "%d", "1000000", 1), `"data":"eHh4eHh4eHh4eA=="`, `"text":"look"`} {
		if !strings.Contains(o.inputs[0], want) {
			t.Errorf("there is no %s in %.2000s", want, o.inputs[0])
		}
	}
	if !strings.Contains(o.outputs[0], strings.Replace(note, "%d", "9000", 1)) || !strings.Contains(o.outputs[0], `"role":"user"`) {
		t.Errorf("the answer is %.2000s", o.outputs[0])
	}
	if want := `[{"path":"contents[0]","origin":"message of the user","event":"1"},{"path":"contents[1]","origin":"message of the user","event":"2"}]`; o.origins[0] != want {
		t.Errorf("the origins are\n%s, want\n%s", o.origins[0], want)
	}
}

// What came from the state is marked in the instruction, in the units of JavaScript.
func TestOriginsOfValues(t *testing.T) {
	t.Parallel()
	root := mustLLM(agent.LLMConfig{
		Name: "a", Model: scripted.New(scripted.Say("ok")), Instruction: "Be 😀 to {user:name}. Notes: {notes?} {\"json\": 1} {x.y}",
		Introduce: true, DisallowTransferToParent: true, SubAgents: []*agent.Agent{mustLLM(agent.LLMConfig{Name: "b", Description: "B."})},
	})
	o := &recordingObserver{}
	log := agentrt.NewPrivateLog(map[string]json.RawMessage{"user:name": json.RawMessage(`"Zoë 😀"`)}, nil)
	if err := (&agentrt.Invocation{ID: "e-1", Log: log, Observer: o}).Start(t.Context(), root, log.Emit); err != nil {
		t.Fatal(err)
	}
	var got []struct {
		Path   string
		Values []struct {
			From, To             int
			Key, Source, Written string
		}
	}
	var request struct {
		Config struct{ SystemInstruction []string }
	}
	if err := errors.Join(json.Unmarshal([]byte(o.origins[0]), &got), json.Unmarshal([]byte(o.inputs[0]), &request)); err != nil {
		t.Fatal(err)
	}
	text := utf16.Encode([]rune(request.Config.SystemInstruction[0]))
	var marked []string
	for _, v := range got[0].Values {
		marked = append(marked, fmt.Sprintf("%s=%q from %s, %s", v.Written, string(utf16.Decode(text[v.From:v.To])), v.Source, v.Key))
	}
	want := []string{`{user:name}="Zoë 😀" from user state, user:name`, `{notes?}="" from session state, notes`}
	if !slices.Equal(marked, want) {
		t.Errorf("marked is %q, want %q", marked, want)
	}
	if got[1].Values != nil {
		t.Errorf("the transfer note has values: %s", o.origins[0])
	}
}

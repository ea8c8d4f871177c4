package skill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/skill"
)

func toolset(t *testing.T) (*skill.Toolset, map[string]tool.Tool) {
	t.Helper()
	s, err := skill.Load(fstest.MapFS{
		"SKILL.md": file("---\nname: tidy\ndescription: Tidies <up> & more.\nallowed-tools: sweep\n---\nSweep."),
		"a.md":     file("A."), "large.md": file(strings.Repeat("x", skill.MaxText+1)), "dot.png": file("\x89PNG\r\n\x1a\n\xff"),
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := skill.NewToolset(skill.Config{Skills: []*skill.Skill{s}})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := set.Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]tool.Tool{}
	for _, one := range tools {
		if one.Declaration().Effect != tool.Pure {
			t.Errorf("%s is not pure", one.Declaration().Name)
		}
		byName[one.Declaration().Name] = one
	}
	return set, byName
}

func call(t *testing.T, one tool.Tool, args string) (string, error) {
	t.Helper()
	result, err := one.Call(&tool.Context{Context: t.Context(), Actions: &event.Actions{}}, json.RawMessage(args))
	if err != nil {
		return "", err
	}
	text, err := toolresult.Of(result)
	return string(text), err
}

func TestToolset(t *testing.T) {
	_, tools := toolset(t)
	for _, test := range []struct{ tool, args, want string }{
		{"load_skill", `{"name":"tidy"}`, `{"skill_name":"tidy","instructions":"Sweep.","allowed_tools":"sweep","files":["a.md","dot.png","large.md"]}`},
		{"load_skill", `{"name":"other"}`, `error: there is no skill "other"; the skills are: tidy`},
		{"load_skill_resource", `{"skill_name":"tidy","path":"./a.md"}`, `{"skill_name":"tidy","path":"a.md","content":"A."}`},
		{"load_skill_resource", `{"skill_name":"tidy","path":"../a.md"}`, `error: skill tidy has no file "../a.md"; its files are: a.md, dot.png, large.md`},
		{"load_skill_resource", `{"skill_name":"tidy","path":"large.md"}`, `error: the file large.md of skill tidy has more than 262144 bytes`},
	} {
		got, err := call(t, tools[test.tool], test.args)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != test.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", test.tool, test.args, got, test.want)
		}
	}
}

// The model is told the skills, and is shown a file that is not text right after it
// has asked for it.
func TestToolsetChangesRequests(t *testing.T) {
	_, tools := toolset(t)
	result, err := call(t, tools["load_skill_resource"], `{"skill_name":"tidy","path":"dot.png"}`)
	if err != nil {
		t.Fatal(err)
	}
	answer := &event.Content{Role: event.RoleUser, Parts: []*event.Part{
		{FunctionResponse: &event.FunctionResponse{Name: "load_skill_resource", Response: json.RawMessage(result)}},
		{FunctionResponse: &event.FunctionResponse{Name: "load_skill_resource", Response: json.RawMessage(strings.ReplaceAll(result, "dot.png", "../x.png"))}},
	}}
	req := model.NewRequest(func() []*event.Content { return []*event.Content{answer} })
	req.Instruction = "Help."
	for _, name := range []string{"load_skill", "load_skill_resource"} {
		if err := tools[name].(agent.Requester).Request(nil, req); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(req.Instruction, "Help.\n\nYou have skills") || !strings.Contains(req.Instruction, "<name>tidy</name>\n    <description>Tidies &lt;up&gt; &amp; more.</description>") {
		t.Errorf("the instruction is %s", req.Instruction)
	}
	contents := req.Contents()
	if len(contents) != 3 {
		t.Fatalf("there are %d contents", len(contents))
	}
	if data := contents[1].Parts[1].InlineData; data == nil || data.MIMEType != "image/png" {
		t.Errorf("the file is shown as %v", data)
	}
	if text := contents[2].Parts[1].Text; text != "[The file cannot be read any more.]" {
		t.Errorf("got %q", text)
	}
}

func TestNewToolsetRefuses(t *testing.T) {
	one := &skill.Skill{Name: "a"}
	many := make([]*skill.Skill, skill.MaxSkills+1)
	for i, want := range []string{"there are none", "two are called a", "there are 101, and at most 100 are allowed"} {
		_, err := skill.NewToolset(skill.Config{Skills: [][]*skill.Skill{nil, {one, one}, many}[i]})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func ExampleNewToolset() {
	// Of a program, these are files on disk: skill.LoadAll(skill.Dir("skills")).
	skills, err := skill.LoadAll(fstest.MapFS{
		"invoices/SKILL.md":          {Data: []byte("---\nname: invoices\ndescription: Writes invoices. Use it when the user bills a customer.\n---\nRead references/vat.md first.")},
		"invoices/references/vat.md": {Data: []byte("Add 19 %.")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := skill.NewToolset(skill.Config{Skills: skills})
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, _ := set.Tools(nil) // an agent does this for the sets in its Toolsets
	ctx := &tool.Context{Context: context.Background(), Actions: &event.Actions{}}
	for i, args := range []string{`{"name":"invoices"}`, `{"skill_name":"invoices","path":"references/vat.md"}`} {
		value, _ := tools[i].Call(ctx, json.RawMessage(args))
		result, err := toolresult.Of(value)
		fmt.Printf("%s %v\n", result, err)
	}
	// Output:
	// {"skill_name":"invoices","instructions":"Read references/vat.md first.","files":["references/vat.md"]} <nil>
	// {"skill_name":"invoices","path":"references/vat.md","content":"Add 19 %."} <nil>
}

package skill_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
	"github.com/parley-run/parley/tool/code/javascript"
	"github.com/parley-run/parley/tool/skill"
)

// recorder is an executor that keeps its last request.
type recorder struct{ last *code.Request }

func (r *recorder) Execute(_ *tool.Context, req *code.Request) (*code.Result, error) {
	r.last = req
	return &code.Result{Stdout: "swept", Stderr: "slowly"}, nil
}

// scripts is a toolset with scripts, and its tool that runs them.
func scripts(t *testing.T, e code.Executor) (*skill.Toolset, tool.Tool) {
	t.Helper()
	s, err := skill.Load(fstest.MapFS{
		"SKILL.md": file("---\nname: tidy\ndescription: Tidies up.\n---\nSweep."),
		"a.md":     file("A."), "assets/rooms.json": file("[1,2]"), "scripts/sweep.py": file("print()"), "scripts/lib/mop.sh": file("echo"),
		"scripts/dust.js": file("console.log(process.argv.slice(2).join(' '), require('../assets/rooms.json').length)"), "scripts/air.rb": file("puts"),
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := skill.NewToolset(skill.Config{Skills: []*skill.Skill{s}, Executor: e})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := set.Tools(nil)
	if err != nil || len(tools) != 3 || tools[2].Declaration().Name != skill.RunTool {
		t.Fatalf("the tools are %v, %v", tools, err)
	}
	return set, tools[2]
}

func TestRunScript(t *testing.T) {
	e := &recorder{}
	_, run := scripts(t, e)
	if effect := run.Declaration().Effect; effect != tool.Once {
		t.Errorf("the effect is %q", effect)
	}
	got, err := call(t, run, `{"skill_name":"tidy","script_path":"scripts/sweep.py","args":{"room":"hall","times":2}}`)
	if err != nil || got != `{"stdout":"swept","stderr":"slowly"}` {
		t.Errorf("%s %v", got, err)
	}
	names := []string{}
	for _, f := range e.last.Files {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"assets/rooms.json", "scripts/air.rb", "scripts/dust.js", "scripts/lib/mop.sh", "scripts/sweep.py"}, names); diff != "" {
		t.Error(diff)
	}
	e.last.Files = nil
	want := &code.Request{
		Code: "import runpy\nrunpy.run_path('./scripts/sweep.py', run_name='__main__')", Language: "python",
		Args: []code.Arg{{Name: "room", Value: "hall"}, {Name: "times", Value: "2"}},
	}
	if diff := cmp.Diff(want, e.last); diff != "" {
		t.Error(diff)
	}
	if _, err := call(t, run, `{"skill_name":"tidy","script_path":"lib/mop.sh"}`); err != nil || e.last.Code != ". './scripts/lib/mop.sh'" || e.last.Language != "shell" {
		t.Errorf("%+v %v", e.last, err)
	}
}

func TestRunScriptFailures(t *testing.T) {
	e := &recorder{}
	_, run := scripts(t, e)
	for args, want := range map[string]string{
		`{"skill_name":"other","script_path":"scripts/sweep.py"}`:             `there is no skill "other"`,
		`{"skill_name":"tidy","script_path":"scripts/gone.py"}`:               `skill tidy has no script "scripts/gone.py"; its scripts are: scripts/air.rb, scripts/dust.js`,
		`{"skill_name":"tidy","script_path":"../tidy/a.md"}`:                  "has no script",
		`{"skill_name":"tidy","script_path":"scripts/../assets/rooms.json"}`:  "has no script",
		`{"skill_name":"tidy","script_path":"scripts/air.rb"}`:                "scripts end with .py, .sh or .js",
		`{"skill_name":"tidy","script_path":"scripts/sweep.py","args":"all"}`: "args",
	} {
		if _, err := call(t, run, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	if e.last != nil {
		t.Errorf("the executor was asked for %+v", e.last)
	}
}

func TestRunScriptInJavaScript(t *testing.T) {
	set, run := scripts(t, javascript.New(javascript.Config{Timeout: 2 * time.Minute}))
	if effect := run.Declaration().Effect; effect != tool.Pure {
		t.Errorf("the effect is %q", effect)
	}
	got, err := call(t, run, `{"skill_name":"tidy","script_path":"scripts/dust.js","args":{"room":"hall"}}`)
	if err != nil || got != `{"stdout":"--room hall 2\n","stderr":""}` {
		t.Errorf("%s %v", got, err)
	}
	tools, err := set.Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	req := &model.Request{}
	if err := tools[0].(interface {
		Request(*tool.Context, *model.Request) error
	}).Request(nil, req); err != nil || !strings.Contains(req.Instruction, "Run their scripts, in scripts/, with run_skill_script.") {
		t.Errorf("the model is told %q, %v", req.Instruction, err)
	}
}

package skill

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/coderun"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// RunTool is the name of the tool that runs a script of a skill, if the toolset has
// an executor.
const RunTool = "run_skill_script"

// runner returns the tool that runs scripts.
func (t *Toolset) runner() (tool.Tool, error) {
	return tool.New(tool.Declaration{
		Name: RunTool, Effect: code.EffectOf(t.executor),
		Description: "Runs a script of a skill, by its path in the directory of the skill, and returns its output.",
	}, t.run)
}

type runArgs struct {
	Skill string         `json:"skill_name" jsonschema:"The name of the skill."`
	Path  string         `json:"script_path" jsonschema:"The path of the script, such as scripts/setup.py."`
	Args  map[string]any `json:"args,omitempty" jsonschema:"Arguments of the script, by name."`
}

type ran struct {
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr"`
	Files  []string `json:"files,omitempty"` // artifacts that the script has written
}

// starters are the code that runs a script among the files of an execution, by the
// extension of the script.
var starters = map[string]struct{ language, before, after string }{
	".py":  {code.Python, "import runpy\nrunpy.run_path('./", "', run_name='__main__')"},
	".sh":  {code.Shell, ". './", "'"},
	".js":  {code.JavaScript, "require('./", "');"},
	".cjs": {code.JavaScript, "require('./", "');"},
}

func (t *Toolset) run(ctx *tool.Context, in runArgs) (*ran, error) {
	s, err := t.find(in.Skill)
	if err != nil {
		return nil, err
	}
	name := path.Clean(in.Path)
	if !strings.HasPrefix(name, "scripts/") {
		name = path.Join("scripts", name)
	}
	if _, found := slices.BinarySearch(s.names, name); !found || !strings.HasPrefix(name, "scripts/") {
		return nil, fmt.Errorf("skill %s has no script %q; its scripts are: %s", s.Name, in.Path, strings.Join(s.scripts(), ", "))
	}
	start, ok := starters[strings.ToLower(path.Ext(name))]
	if !ok || strings.ContainsAny(name, `'\`) {
		return nil, fmt.Errorf("the script %q cannot be run: scripts end with .py, .sh or .js", name)
	}
	req := &code.Request{Code: start.before + name + start.after, Language: start.language, Args: argsOf(in.Args)}
	for _, file := range s.names {
		if top, _, _ := strings.Cut(file, "/"); !slices.Contains([]string{"assets", "references", "scripts"}, top) {
			continue
		}
		data, err := s.ReadFile(file)
		if err != nil {
			return nil, err
		}
		req.Files = append(req.Files, code.File{Name: file, Data: data})
	}
	result, err := coderun.Run(ctx, t.executor, req, 0)
	if err != nil {
		return nil, err
	}
	out := &ran{Stdout: result.Stdout, Stderr: result.Stderr}
	for _, f := range result.Files {
		out.Files = append(out.Files, f.Name)
	}
	return out, nil
}

// scripts are the names of the first scripts of a skill.
func (s *Skill) scripts() (names []string) {
	for _, name := range s.names {
		if strings.HasPrefix(name, "scripts/") && len(names) < 50 {
			names = append(names, name)
		}
	}
	return names
}

// argsOf returns arguments by name. A value that is not a text is its JSON.
func argsOf(args map[string]any) (out []code.Arg) {
	for name, value := range args {
		text, ok := value.(string)
		if doc, err := json.Marshal(value); !ok && err == nil {
			text = string(doc)
		}
		out = append(out, code.Arg{Name: name, Value: text})
	}
	slices.SortFunc(out, func(a, b code.Arg) int { return strings.Compare(a.Name, b.Name) })
	return out
}

package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// The names of the tools.
const (
	LoadTool = "load_skill"          // returns the instructions of a skill
	ReadTool = "load_skill_resource" // returns a file of a skill
)

// Toolset offers skills to a model. It tells the model their names and
// descriptions, and has a tool to load the instructions of one, a tool to read
// its files, and, with an executor, a tool to run its scripts.
type Toolset struct {
	skills   map[string]*Skill
	guide    string
	tools    []tool.Tool
	executor code.Executor // of scripts; nil if there is none
}

var _ tool.Toolset = (*Toolset)(nil)

// Config describes a toolset.
type Config struct {
	Skills []*Skill
	// Executor runs the scripts of the skills, which are in their directories
	// scripts, and end with .py, .sh or .js. Files that they write become
	// artifacts. Without an executor, models can only read scripts.
	Executor code.Executor
}

// NewToolset returns a toolset for an agent.
func NewToolset(cfg Config) (*Toolset, error) {
	switch n := len(cfg.Skills); {
	case n == 0:
		return nil, errors.New("new toolset of skills: there are none")
	case n > MaxSkills:
		return nil, fmt.Errorf("new toolset of skills: there are %d, and at most %d are allowed", n, MaxSkills)
	}
	t := &Toolset{skills: make(map[string]*Skill, len(cfg.Skills)), executor: cfg.Executor}
	for _, s := range cfg.Skills {
		if t.skills[s.Name] != nil {
			return nil, fmt.Errorf("new toolset of skills: two are called %s", s.Name)
		}
		t.skills[s.Name] = s
	}
	t.guide = guide
	if t.executor != nil {
		t.guide += scriptGuide
	}
	t.guide += "The skills are:\n" + list(cfg.Skills)
	load, err := tool.New(tool.Declaration{
		Name: LoadTool, Effect: tool.Pure,
		Description: "Returns the instructions of a skill and the names of its files.",
	}, t.load)
	if err != nil {
		return nil, err
	}
	read, err := tool.New(tool.Declaration{
		Name: ReadTool, Effect: tool.Pure,
		Description: "Returns a file of a skill, by its path in the directory of the skill.",
	}, t.read)
	if err != nil {
		return nil, err
	}
	t.tools = []tool.Tool{&loader{load, t}, &reader{read, t}}
	if t.executor != nil {
		run, err := t.runner()
		if err != nil {
			return nil, err
		}
		t.tools = append(t.tools, run)
	}
	return t, nil
}

// Tools returns the tools. They are always the same.
func (t *Toolset) Tools(*tool.Context) ([]tool.Tool, error) { return t.tools, nil }

// Fixed implements tool.FixedToolset.
func (*Toolset) Fixed() {}

const guide = "You have skills: instructions for special tasks, with files. " +
	"When a skill fits what you are asked to do, call " + LoadTool + " with its name first, and then follow its instructions step by step. " +
	"Read the files that they mention with " + ReadTool + ", and with nothing else. "

const scriptGuide = "Run their scripts, in scripts/, with " + RunTool + ". "

// list is the part of the instruction with the names and descriptions.
func list(skills []*Skill) string {
	var b strings.Builder
	b.WriteString("<available_skills>\n")
	for _, s := range skills {
		fmt.Fprintf(&b, "  <skill>\n    <name>%s</name>\n    <description>%s</description>\n  </skill>\n", html.EscapeString(s.Name), html.EscapeString(s.Description))
	}
	b.WriteString("</available_skills>")
	return b.String()
}

// loader tells the model about the skills, and loads them.
type loader struct {
	tool.Tool
	set *Toolset
}

// Request is for agent.Requester.
func (l *loader) Request(_ *tool.Context, req *model.Request) error {
	if req.Instruction != "" {
		req.Instruction += "\n\n"
	}
	req.Instruction += l.set.guide
	return nil
}

type loadArgs struct {
	Name string `json:"name" jsonschema:"The name of the skill."`
}

type loaded struct {
	Name          string   `json:"skill_name"`
	Instructions  string   `json:"instructions"`
	Compatibility string   `json:"compatibility,omitempty"`
	AllowedTools  string   `json:"allowed_tools,omitempty"`
	Files         []string `json:"files,omitempty"`
}

func (t *Toolset) load(_ *tool.Context, in loadArgs) (*loaded, error) {
	s, err := t.find(in.Name)
	if err != nil {
		return nil, err
	}
	return &loaded{s.Name, s.Instructions, s.Compatibility, s.AllowedTools, s.names}, nil
}

func (t *Toolset) find(name string) (*Skill, error) {
	if s := t.skills[name]; s != nil {
		return s, nil
	}
	names := make([]string, 0, len(t.skills))
	for one := range t.skills {
		names = append(names, one)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("there is no skill %q; the skills are: %s", name, strings.Join(names, ", "))
}

type readArgs struct {
	Skill string `json:"skill_name" jsonschema:"The name of the skill."`
	Path  string `json:"path" jsonschema:"The path of the file, such as references/guide.md."`
}

type content struct {
	Skill   string `json:"skill_name"`
	Path    string `json:"path"`
	Content string `json:"content,omitempty"`
	Status  string `json:"status,omitempty"`
}

// shown is the status of a file that is not text: the next request has it.
const shown = "The file is not text. It is added to the conversation for your next answer."

func (t *Toolset) read(_ *tool.Context, in readArgs) (*content, error) {
	s, err := t.find(in.Skill)
	if err != nil {
		return nil, err
	}
	data, err := s.ReadFile(in.Path)
	switch {
	case err != nil && len(s.names) > 0:
		return nil, fmt.Errorf("%w; its files are: %s", err, strings.Join(s.names[:min(len(s.names), 50)], ", "))
	case err != nil:
		return nil, err
	case !utf8.Valid(data):
		return &content{Skill: s.Name, Path: path.Clean(in.Path), Status: shown}, nil
	case len(data) > MaxText:
		return nil, fmt.Errorf("the file %s of skill %s has more than %d bytes", in.Path, s.Name, MaxText)
	}
	return &content{Skill: s.Name, Path: path.Clean(in.Path), Content: string(data)}, nil
}

// reader reads files, and shows those to the model that are not text.
type reader struct {
	tool.Tool
	set *Toolset
}

// Request is for agent.Requester.
func (r *reader) Request(_ *tool.Context, req *model.Request) error {
	contents := req.Contents()
	if len(contents) == 0 {
		return nil
	}
	var files []*event.Content
	for _, response := range contents[len(contents)-1].FunctionResponses() {
		var result content
		if response.Name != ReadTool || json.Unmarshal(response.Response, &result) != nil || result.Status != shown {
			continue
		}
		part := &event.Part{Text: "[The file cannot be read any more.]"}
		if s := r.set.skills[result.Skill]; s != nil {
			if data, err := s.ReadFile(result.Path); err == nil {
				part = &event.Part{InlineData: &event.Blob{MIMEType: mediaType(result.Path, data), Data: data}}
			}
		}
		files = append(files, &event.Content{Role: event.RoleUser, Parts: []*event.Part{{Text: "The file " + result.Path + " of the skill " + result.Skill + ":"}, part}})
	}
	if len(files) > 0 {
		req.SetContents(append(slices.Clip(contents), files...))
	}
	return nil
}

// mediaType is the type of a file, by its name or else by its content.
func mediaType(name string, data []byte) string {
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return http.DetectContentType(data)
}

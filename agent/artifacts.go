package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/media"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// Requester is a tool that changes the requests of its agent: it adds to the
// instruction, or to what the model sees. Request is called before every model
// call, before the callbacks of the agent.
type Requester interface {
	tool.Tool
	Request(ctx *tool.Context, req *model.Request) error
}

// silent is a tool that is not declared to the model.
type silent interface{ silent() }

// requests lets the tools add to what the model is asked.
func (l *llm) requests(ctx *Context, req *model.Request, trail *trail, actions *event.Actions) (err error) {
	for _, r := range ctx.box.requesters {
		name := r.Declaration().Name
		if err := r.Request(ctx.toolContext(actions), req); err != nil {
			return fmt.Errorf("tool %s of agent %s: %w", name, ctx.agent.name, err)
		}
		if trail != nil {
			trail.note(req, "tool "+name, nil)
		}
	}
	return nil
}

// instruct adds a paragraph to the instruction.
func instruct(req *model.Request, text string) {
	if req.Instruction != "" {
		req.Instruction += "\n\n"
	}
	req.Instruction += text
}

const loadArtifactsTool = "load_artifacts"

// LoadArtifacts returns a tool with which a model reads the files of the
// session and of the user. Their names are in the instruction. The files that the model
// asks for are sent to it until it has answered.
func LoadArtifacts() tool.Tool { return loadArtifacts{} }

type loadArtifacts struct{}

func (loadArtifacts) Declaration() tool.Declaration {
	return tool.Declaration{
		Name: loadArtifactsTool, Description: "Loads the artifacts and adds them to the conversation.", Effect: tool.Pure,
		Parameters: json.RawMessage(`{"type":"object","properties":{"artifact_names":{"type":"array","items":{"type":"string"}}},"required":["artifact_names"]}`),
	}
}

func (loadArtifacts) Call(_ *tool.Context, args json.RawMessage) (any, error) {
	names, err := namesIn(args)
	if err != nil {
		return nil, errors.New("artifact_names must be a list of names")
	}
	return map[string]any{"artifact_names": names, "status": "artifact contents temporarily inserted and removed. to access these artifacts, call load_artifacts tool again."}, nil
}

func namesIn(doc json.RawMessage) ([]string, error) {
	in := struct {
		Names []string `json:"artifact_names"`
	}{[]string{}}
	err := json.Unmarshal(doc, &in)
	return in.Names, err
}

// Request tells the model the names of the files, and shows what it has asked for.
func (loadArtifacts) Request(tc *tool.Context, req *model.Request) error {
	names, err := tc.ListArtifacts()
	if err != nil || len(names) == 0 {
		return err
	}
	list := []byte("You have these artifacts: [")
	for i, name := range names {
		if i > 0 {
			list = append(list, ", "...)
		}
		list = wire.Quote(list, name)
	}
	instruct(req, string(list)+"].\nWhen the user asks about one of them, call "+loadArtifactsTool+" before you answer. "+
		"Do not speak of an artifact's content without having loaded it.")

	// What was asked for is shown right behind the answer to the call.
	contents := req.Contents()
	if len(contents) == 0 {
		return nil
	}
	var shown []*event.Content
	for _, r := range contents[len(contents)-1].FunctionResponses() {
		if r.Name != loadArtifactsTool {
			continue
		}
		asked, err := namesIn(r.Response)
		if err != nil {
			continue // an error, or an interruption
		}
		for _, name := range asked {
			part, err := showArtifact(tc, name)
			if err != nil {
				return err
			}
			shown = append(shown, &event.Content{Role: event.RoleUser, Parts: []*event.Part{{Text: "Artifact " + name + " is:"}, part}})
		}
	}
	if len(shown) > 0 {
		req.SetContents(append(slices.Clip(contents), shown...))
	}
	return nil
}

// maxShown is the largest file that is put into a request to a model.
const maxShown = 20 << 20

// showArtifact is a file as a model can read it: text as text, and a note in
// place of what is not there or too large.
func showArtifact(tc *tool.Context, name string) (*event.Part, error) {
	a, content, err := tc.OpenArtifact(name, tool.LatestArtifact)
	if errors.Is(err, tool.ErrNoArtifact) {
		return &event.Part{Text: "[There is no such artifact.]"}, nil
	}
	if err != nil {
		return nil, err
	}
	defer content.Close()
	if a.Size > maxShown {
		return &event.Part{Text: fmt.Sprintf("[The artifact is too large to be shown: %d bytes of %s.]", a.Size, a.MIMEType)}, nil
	}
	part, err := a.Part(content)
	if err == nil && part.InlineData != nil && media.IsText(a.MIMEType) {
		part = &event.Part{Text: string(part.InlineData.Data)}
	}
	return part, err
}

// artifactText is what {artifact.name} in an instruction stands for.
func artifactText(tc *tool.Context, name string) (text string, there bool, err error) {
	a, content, err := tc.OpenArtifact(name, tool.LatestArtifact)
	if errors.Is(err, tool.ErrNoArtifact) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer content.Close()
	switch {
	case a.FileURI != "":
		return a.FileURI, true, nil
	case !a.Text && !media.IsText(a.MIMEType):
		return fmt.Sprintf("[the file %s, %d bytes of %s]", name, a.Size, a.MIMEType), true, nil
	case a.Size > maxShown:
		return "", true, fmt.Errorf("the artifact %s is too large for an instruction", name)
	}
	data, err := io.ReadAll(content)
	return string(data), true, err
}

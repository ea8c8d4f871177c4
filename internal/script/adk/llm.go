package adk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
)

var errStopped = errors.New("the reader has stopped")

// toolList are functions that the model may call, or a tool that its provider
// runs.
type toolList struct {
	FunctionDeclarations []functionDeclaration `json:"functionDeclarations"`
	provider             json.RawMessage
}

func (l *toolList) UnmarshalJSON(doc []byte) error {
	var functions struct {
		FunctionDeclarations *[]functionDeclaration `json:"functionDeclarations"`
	}
	if err := json.Unmarshal(doc, &functions); err != nil {
		return err
	}
	if functions.FunctionDeclarations != nil {
		*l = toolList{FunctionDeclarations: *functions.FunctionDeclarations}
	} else {
		*l = toolList{provider: slices.Clone(doc)}
	}
	return nil
}

func (l toolList) MarshalJSON() ([]byte, error) {
	if l.provider != nil {
		return l.provider, nil
	}
	return json.Marshal(map[string]any{"functionDeclarations": l.FunctionDeclarations})
}

type functionDeclaration struct {
	Name                 string          `json:"name"`
	Description          string          `json:"description,omitempty"`
	ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

// wireRequest is an LlmRequest.
type wireRequest struct {
	Contents []*event.Content `json:"contents"`
	Config   config           `json:"config"`
}

// requestOf returns a request in the form of JavaScript.
func requestOf(req *model.Request) wireRequest {
	out := wireRequest{Contents: append([]*event.Content{}, req.Contents()...)}
	if req.Config != nil {
		out.Config = configOf(req.Config)
	}
	if req.Instruction != "" {
		out.Config.SystemInstruction = wire.Quote(nil, req.Instruction)
	}
	if len(req.Tools) > 0 {
		var list toolList
		for _, d := range req.Tools {
			list.FunctionDeclarations = append(list.FunctionDeclarations, functionDeclaration{d.Name, d.Description, d.Parameters})
		}
		out.Config.Tools = append([]toolList{list}, out.Config.Tools...)
	}
	return out
}

// withoutOwnIDs replaces contents with calls whose ids Parley has made by copies
// without these ids, which models do not know.
func withoutOwnIDs(contents []*event.Content) {
	for i, c := range contents {
		copied := false
		for j, p := range c.Parts {
			one := *p
			switch {
			case p.FunctionCall != nil && strings.HasPrefix(p.FunctionCall.ID, model.CallIDPrefix):
				call := *p.FunctionCall
				call.ID = ""
				one.FunctionCall = &call
			case p.FunctionResponse != nil && strings.HasPrefix(p.FunctionResponse.ID, model.CallIDPrefix):
				response := *p.FunctionResponse
				response.ID = ""
				one.FunctionResponse = &response
			default:
				continue
			}
			if !copied {
				copied = true
				contents[i] = &event.Content{Role: c.Role, Parts: slices.Clone(c.Parts)}
			}
			contents[i].Parts[j] = &one
		}
	}
}

// changeRequest applies the changes of JavaScript to a request.
func changeRequest(req *model.Request, raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var changed wireRequest
	if err := json.Unmarshal(raw, &changed); err != nil {
		return fmt.Errorf("the callback left a request that cannot be sent: %w", err)
	}
	instruction, err := instructionText(changed.Config.SystemInstruction)
	if err != nil {
		return err
	}
	req.SetContents(changed.Contents)
	req.Instruction, req.Config = instruction, changed.Config.model()
	req.Tools = changed.declarations(req.Tools)
	return nil
}

// declarations returns the tools of the request; known ones keep their schema.
func (r *wireRequest) declarations(known []model.Declaration) []model.Declaration {
	var out []model.Declaration
	for _, list := range r.Config.Tools {
		for _, f := range list.FunctionDeclarations {
			i := slices.IndexFunc(known, func(d model.Declaration) bool { return d.Name == f.Name })
			if i < 0 {
				out = append(out, model.Declaration{Name: f.Name, Description: f.Description, Parameters: f.ParametersJSONSchema})
				continue
			}
			d := known[i]
			d.Description = f.Description
			out = append(out, d)
		}
	}
	return out
}

// instructionText reads a system instruction, which is a text or a content.
func instructionText(raw json.RawMessage) (string, error) {
	var text string
	if isNull(raw) || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	c := &event.Content{}
	if err := c.UnmarshalJSON(raw); err != nil {
		return "", fmt.Errorf("systemInstruction is neither a text nor a content: %w", err)
	}
	return c.Text(), nil
}

// responseOf reads an LlmResponse, which has the members of an event; nil if there
// is none.
func responseOf(raw json.RawMessage) (*model.Response, error) {
	if isNull(raw) {
		return nil, nil
	}
	ev := &event.Event{}
	if err := ev.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("not a response of a model: %w", err)
	}
	return &model.Response{
		Content: ev.Content, Partial: ev.Partial, ErrorCode: ev.ErrorCode, ErrorMessage: ev.ErrorMessage,
		FinishReason: ev.FinishReason, ModelVersion: ev.ModelVersion, Usage: ev.Usage, Interrupted: ev.Interrupted,
		CustomMetadata: ev.CustomMetadata, Extra: ev.Extra,
	}, nil
}

// wireResponse returns a response in the form of JavaScript.
func wireResponse(r *model.Response) *event.Event {
	return &event.Event{
		Content: r.Content, Partial: r.Partial, ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage,
		FinishReason: r.FinishReason, ModelVersion: r.ModelVersion, Usage: r.Usage, Interrupted: r.Interrupted,
		CustomMetadata: r.CustomMetadata, Extra: r.Extra,
	}
}

package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"google.golang.org/genai"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// The API requires the last message to be of the user.
const (
	start = "Do what the system instruction asks for."
	goOn  = "Go on as instructed. When nothing is left to do, sum up what was done."
)

func (m *Model) request(req *model.Request) ([]*genai.Content, *genai.GenerateContentConfig, error) {
	var contents []*genai.Content
	config, err := m.settings(req.Config)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case req.Instruction == "":
	case strings.Contains(m.name, "gemma-3"): // it has no system instruction
		contents = append(contents, genai.NewContentFromText(req.Instruction, genai.RoleUser))
	default:
		config.SystemInstruction = genai.NewContentFromText(req.Instruction, genai.RoleUser)
	}
	if len(req.Tools) > 0 {
		tool := &genai.Tool{}
		for _, t := range req.Tools {
			d := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
			if len(t.Parameters) > 0 {
				if !json.Valid(t.Parameters) { // which the SDK does not support
					return nil, nil, fmt.Errorf("the parameters of tool %s are not JSON", t.Name)
				}
				d.ParametersJsonSchema = t.Parameters
			}
			tool.FunctionDeclarations = append(tool.FunctionDeclarations, d)
		}
		config.Tools = []*genai.Tool{tool}
	}

	if req.Config != nil {
		for _, doc := range req.Config.ProviderTools {
			tool := &genai.Tool{}
			if err := json.Unmarshal(doc, tool); err != nil {
				return nil, nil, fmt.Errorf("the tool %s is not in the form of the Gemini API: %w", call.ToolName(doc), err)
			}
			if !m.vertex() && (tool.EnterpriseWebSearch != nil || tool.Retrieval != nil) {
				return nil, nil, call.NoTool(doc, "only Vertex AI has: set GOOGLE_GENAI_USE_VERTEXAI, or use googleSearch")
			}
			config.Tools = append(config.Tools, tool)
		}
	}

	for _, c := range req.Contents() {
		out := &genai.Content{Role: genai.RoleUser}
		if c.Role == event.RoleModel {
			out.Role = genai.RoleModel
		}
		for _, p := range c.Parts {
			part, err := m.part(p)
			if err != nil {
				return nil, nil, err
			}
			if part != nil {
				out.Parts = append(out.Parts, part)
			}
		}
		if len(out.Parts) > 0 {
			contents = append(contents, out)
		}
	}
	if n := len(contents); n == 0 {
		contents = append(contents, genai.NewContentFromText(start, genai.RoleUser))
	} else if contents[n-1].Role == genai.RoleModel {
		contents = append(contents, genai.NewContentFromText(goOn, genai.RoleUser))
	}
	return contents, config, nil
}

// part converts p for the API; nil if the API accepts nothing of it.
func (m *Model) part(p *event.Part) (*genai.Part, error) {
	if p.Thought && call.Foreign(p.ThoughtSignature) {
		return nil, nil // signed by another provider, whose model the session used before
	}
	out := &genai.Part{Thought: p.Thought, ThoughtSignature: p.ThoughtSignature}
	if call.Foreign(p.ThoughtSignature) {
		out.ThoughtSignature = nil
	}
	if err := m.extra(p.Extra, out); err != nil {
		return nil, err
	}
	var err error
	switch {
	case p.FunctionCall != nil:
		out.FunctionCall = &genai.FunctionCall{ID: callID(p.FunctionCall.ID), Name: p.FunctionCall.Name}
		out.FunctionCall.Args, err = object(p.FunctionCall.Args)
	case p.FunctionResponse != nil:
		out.FunctionResponse = &genai.FunctionResponse{ID: callID(p.FunctionResponse.ID), Name: p.FunctionResponse.Name}
		out.FunctionResponse.Response, err = object(p.FunctionResponse.Response)
	case p.InlineData != nil:
		out.InlineData = &genai.Blob{MIMEType: p.InlineData.MIMEType, Data: p.InlineData.Data, DisplayName: m.title(p.InlineData.DisplayName)}
	case p.FileData != nil:
		out.FileData = &genai.FileData{MIMEType: p.FileData.MIMEType, FileURI: p.FileData.FileURI, DisplayName: m.title(p.FileData.DisplayName)}
	case p.ExecutableCode != nil && foreign(p.ExecutableCode.Language):
		out.Text = call.Code(p)
	case p.ExecutableCode != nil:
		out.ExecutableCode = &genai.ExecutableCode{ID: p.ExecutableCode.ID, Code: p.ExecutableCode.Code, Language: genai.Language(p.ExecutableCode.Language)}
	case p.CodeExecutionResult != nil:
		r := p.CodeExecutionResult
		out.CodeExecutionResult = &genai.CodeExecutionResult{ID: r.ID, Outcome: genai.Outcome(r.Outcome), Output: r.Output}
	default:
		out.Text = p.Text
		if p.Text == "" && len(out.ThoughtSignature) == 0 && out.ToolCall == nil && out.ToolResponse == nil {
			return nil, nil
		}
	}
	return out, err
}

// foreign reports whether the API does not know a language. Code of an executor may
// be in any.
func foreign(language string) bool {
	switch genai.Language(language) {
	case "", genai.LanguageUnspecified, genai.LanguagePython:
		return false
	}
	return true
}

// extra sets the members that Parley passes through.
func (m *Model) extra(extra map[string]json.RawMessage, out *genai.Part) error {
	if len(extra) == 0 {
		return nil
	}
	if m.vertex() { // the SDK rejects these there
		extra = maps.Clone(extra)
		delete(extra, "partMetadata")
		delete(extra, "toolCall")
		delete(extra, "toolResponse")
	}
	doc, err := json.Marshal(extra)
	if err == nil {
		err = json.Unmarshal(doc, out)
	}
	if err != nil {
		return fmt.Errorf("a part of the conversation is not in the form of the Gemini API: %w", err)
	}
	return nil
}

// title returns the name of a file, which only Vertex AI accepts.
func (m *Model) title(name string) string {
	if !m.vertex() {
		return ""
	}
	return name
}

// callID returns the id that the API assigned: it ignores other ids, and some of
// its models reject them.
func callID(id string) string {
	if strings.HasPrefix(id, model.CallIDPrefix) {
		return ""
	}
	return id
}

func object(doc json.RawMessage) (out map[string]any, err error) {
	if len(doc) > 0 {
		err = json.Unmarshal(doc, &out)
	}
	return out, err
}

// fill adds empty members that the SDK omits from a request, and that the API
// requires.
func fill(body map[string]any) map[string]any {
	contents, _ := body["contents"].([]map[string]any)
	for _, c := range contents {
		parts, _ := c["parts"].([]map[string]any)
		for _, p := range parts {
			call, isCall := p["functionCall"].(map[string]any)
			response, isResponse := p["functionResponse"].(map[string]any)
			switch {
			case isCall && call["args"] == nil:
				call["args"] = map[string]any{}
			case isResponse && response["response"] == nil:
				response["response"] = map[string]any{}
			case isSignature(p):
				p["text"] = ""
			}
		}
	}
	return body
}

// isSignature reports whether a signature came with an empty text.
func isSignature(p map[string]any) bool {
	for name := range p {
		if name != "thought" && name != "thoughtSignature" {
			return false
		}
	}
	return true
}

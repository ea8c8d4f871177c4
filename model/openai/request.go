package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/media"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content,omitempty"` // a text, or a list of pieces
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	// The name of the thoughts at a server; see call.Sign.
	ReasoningContent string `json:"reasoning_content,omitempty"`
	Reasoning        string `json:"reasoning,omitempty"`
}

type toolCall struct {
	Index    *int   `json:"index,omitempty"` // in a stream
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	// ExtraContent is where gateways put signatures of other providers.
	ExtraContent json.RawMessage `json:"extra_content,omitempty"`
}

type piece map[string]any

func (m *Model) request(req *model.Request) ([]byte, error) {
	body := map[string]any{"model": m.name}
	if req.Stream {
		body["stream"] = true
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if err := m.settings(body, req.Config); err != nil {
		return nil, err
	}
	var tools []map[string]any
	for _, t := range call.Tools(req) {
		f := map[string]any{"name": t.Name, "description": t.Description}
		if len(t.Parameters) > 0 {
			if !json.Valid(t.Parameters) {
				return nil, fmt.Errorf("the parameters of tool %s are not JSON", t.Name)
			}
			f["parameters"] = t.Parameters
		}
		tools = append(tools, map[string]any{"type": "function", "function": f})
	}
	if tools != nil {
		body["tools"] = tools
		if c := req.Config; c != nil && c.ToolChoice != nil {
			body["tool_choice"] = toolChoice(c.ToolChoice)
		}
	}

	var messages []message
	if req.Instruction != "" {
		messages = append(messages, message{Role: "system", Content: req.Instruction})
	}
	contents := req.Contents()
	turn := lastTurn(contents)
	for i, c := range contents {
		if c.Role == event.RoleModel {
			messages = appendAnswer(messages, c, i > turn)
		} else {
			messages = appendUser(messages, c)
		}
	}
	switch n := len(messages); {
	case n == 0 || n == 1 && messages[0].Role == "system":
		messages = append(messages, message{Role: "user", Content: call.Start})
	case messages[n-1].Role == "assistant":
		messages = append(messages, message{Role: "user", Content: call.GoOn})
	}
	body["messages"] = messages
	return json.Marshal(body)
}

func toolChoice(c *model.ToolChoice) any {
	switch c.Mode {
	case model.ToolsNone:
		return "none"
	case model.ToolsAny:
		if len(c.Allowed) == 1 {
			return map[string]any{"type": "function", "function": map[string]any{"name": c.Allowed[0]}}
		}
		return "required"
	}
	return "auto"
}

// lastTurn returns the index of the user's last message. Models do not need earlier
// thoughts, and some servers reject them.
func lastTurn(contents []*event.Content) int {
	for i, c := range slices.Backward(contents) {
		if c.Role != event.RoleModel && len(c.FunctionResponses()) == 0 {
			return i
		}
	}
	return -1
}

func appendAnswer(messages []message, c *event.Content, thoughts bool) []message {
	out := message{Role: "assistant"}
	var said strings.Builder
	for _, p := range c.Parts {
		switch {
		case p.Thought:
			if member, ok := call.Signature(call.OpenAI, p.ThoughtSignature); ok && thoughts {
				if member == "reasoning" {
					out.Reasoning += p.Text
				} else {
					out.ReasoningContent += p.Text
				}
			}
		case p.FunctionCall != nil:
			one := toolCall{ID: call.ID(p.FunctionCall.ID, p.FunctionCall.Name), Type: "function"}
			one.Function.Name, one.Function.Arguments = p.FunctionCall.Name, cmp.Or(string(p.FunctionCall.Args), "{}")
			if extra, ok := call.Signature(call.OpenAI, p.ThoughtSignature); ok && json.Valid([]byte(extra)) {
				one.ExtraContent = json.RawMessage(extra)
			}
			out.ToolCalls = append(out.ToolCalls, one)
		case p.ExecutableCode != nil || p.CodeExecutionResult != nil:
			said.WriteString(call.Code(p))
		case p.InlineData != nil:
			said.WriteString(call.LeftOut(p.InlineData.DisplayName, p.InlineData.MIMEType))
		case p.FileData != nil:
			said.WriteString(call.LeftOut(p.FileData.DisplayName, p.FileData.MIMEType))
		default:
			said.WriteString(p.Text)
		}
	}
	if said.Len() > 0 {
		out.Content = said.String()
	}
	if out.Content == nil && out.ToolCalls == nil {
		return messages
	}
	return append(messages, out)
}

func appendUser(messages []message, c *event.Content) []message {
	var pieces []piece
	for _, p := range c.Parts {
		switch {
		case p.FunctionResponse != nil:
			messages = append(messages, message{
				Role: "tool", ToolCallID: call.ID(p.FunctionResponse.ID, p.FunctionResponse.Name),
				Content: cmp.Or(string(p.FunctionResponse.Response), "{}"),
			})
		case p.InlineData != nil:
			pieces = append(pieces, inline(p.InlineData))
		case p.FileData != nil:
			pieces = append(pieces, linked(p.FileData))
		case p.ExecutableCode != nil || p.CodeExecutionResult != nil:
			pieces = append(pieces, text(call.Code(p)))
		case p.Text != "":
			pieces = append(pieces, text(p.Text))
		}
	}
	switch {
	case len(pieces) == 0:
		return messages
	case len(pieces) == 1 && pieces[0]["type"] == "text":
		// The form that every server supports.
		return append(messages, message{Role: "user", Content: pieces[0]["text"]})
	}
	return append(messages, message{Role: "user", Content: pieces})
}

func text(t string) piece { return piece{"type": "text", "text": t} }

func inline(b *event.Blob) piece {
	kind := media.Kind(b.MIMEType)
	data := base64.StdEncoding.EncodeToString(b.Data)
	switch {
	case strings.HasPrefix(kind, "image/"):
		return piece{"type": "image_url", "image_url": piece{"url": "data:" + kind + ";base64," + data}}
	case kind == "audio/wav" || kind == "audio/x-wav":
		return piece{"type": "input_audio", "input_audio": piece{"data": data, "format": "wav"}}
	case kind == "audio/mpeg" || kind == "audio/mp3":
		return piece{"type": "input_audio", "input_audio": piece{"data": data, "format": "mp3"}}
	case kind == "application/pdf":
		return piece{"type": "file", "file": piece{"filename": cmp.Or(b.DisplayName, "file.pdf"), "file_data": "data:" + kind + ";base64," + data}}
	case media.IsText(kind):
		return text(strings.TrimPrefix(b.DisplayName+"\n\n", "\n\n") + string(b.Data))
	}
	return text(call.LeftOut(b.DisplayName, b.MIMEType))
}

func linked(f *event.FileData) piece {
	if strings.HasPrefix(media.Kind(f.MIMEType), "image/") && strings.HasPrefix(f.FileURI, "http") {
		return piece{"type": "image_url", "image_url": piece{"url": f.FileURI}}
	}
	return text(call.LeftOut(cmp.Or(f.DisplayName, f.FileURI), f.MIMEType))
}

var errSchema = errors.New("the schema of the response is not JSON")

package anthropic

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/media"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

func (m *Model) params(req *model.Request) (sdk.MessageNewParams, error) {
	p := sdk.MessageNewParams{Model: m.name, MaxTokens: m.maxTokens}
	if req.Instruction != "" {
		p.System = []sdk.TextBlockParam{{Text: req.Instruction}}
	}
	if err := m.settings(&p, req.Config); err != nil {
		return p, err
	}
	for _, t := range call.Tools(req) {
		one, err := toolParam(&t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: one})
	}
	if c := req.Config; c != nil && c.ToolChoice != nil && len(p.Tools) > 0 {
		p.ToolChoice = toolChoice(c.ToolChoice)
	}
	for _, c := range req.Contents() {
		role := sdk.MessageParamRoleUser
		if c.Role == event.RoleModel {
			role = sdk.MessageParamRoleAssistant
		}
		blocks, err := blocksOf(c)
		if err != nil {
			return p, err
		}
		p.Messages = add(p.Messages, role, blocks)
	}
	// The API requires the first and the last message to be of the user.
	if len(p.Messages) == 0 || p.Messages[0].Role == sdk.MessageParamRoleAssistant {
		p.Messages = slices.Insert(p.Messages, 0, sdk.NewUserMessage(sdk.NewTextBlock(call.Start)))
	}
	if p.Messages[len(p.Messages)-1].Role == sdk.MessageParamRoleAssistant {
		p.Messages = append(p.Messages, sdk.NewUserMessage(sdk.NewTextBlock(call.GoOn)))
	}
	return p, nil
}

// add appends blocks to the last message if it has the same role. Results of tools
// must be first in a message.
func add(messages []sdk.MessageParam, role sdk.MessageParamRole, blocks []sdk.ContentBlockParamUnion) []sdk.MessageParam {
	if len(blocks) == 0 {
		return messages
	}
	n := len(messages)
	if n == 0 || messages[n-1].Role != role {
		messages = append(messages, sdk.MessageParam{Role: role})
		n++
	}
	last := &messages[n-1]
	last.Content = append(last.Content, blocks...)
	slices.SortStableFunc(last.Content, func(a, b sdk.ContentBlockParamUnion) int {
		return rank(&a) - rank(&b)
	})
	return messages
}

func rank(b *sdk.ContentBlockParamUnion) int {
	if b.OfToolResult != nil {
		return 0
	}
	return 1
}

func blocksOf(c *event.Content) ([]sdk.ContentBlockParamUnion, error) {
	var out []sdk.ContentBlockParamUnion
	for _, p := range c.Parts {
		switch {
		case p.Thought:
			// The API does not accept thoughts that it has not signed.
			signature, _ := call.Signature(call.Anthropic, p.ThoughtSignature)
			if s, ok := strings.CutPrefix(signature, signed); ok {
				out = append(out, sdk.NewThinkingBlock(s, p.Text))
			} else if s, ok := strings.CutPrefix(signature, redacted); ok {
				out = append(out, sdk.NewRedactedThinkingBlock(s))
			}
		case p.FunctionCall != nil:
			args := p.FunctionCall.Args
			if len(args) == 0 {
				args = json.RawMessage("{}")
			}
			if !json.Valid(args) {
				return nil, fmt.Errorf("the arguments of the call of %s are not JSON", p.FunctionCall.Name)
			}
			out = append(out, sdk.NewToolUseBlock(call.ID(p.FunctionCall.ID, p.FunctionCall.Name), args, p.FunctionCall.Name))
		case p.FunctionResponse != nil:
			r := p.FunctionResponse
			out = append(out, sdk.NewToolResultBlock(call.ID(r.ID, r.Name), cmp.Or(string(r.Response), "{}"), false))
		case p.InlineData != nil:
			out = append(out, inline(p.InlineData))
		case p.FileData != nil:
			out = append(out, linked(p.FileData))
		case p.ExecutableCode != nil || p.CodeExecutionResult != nil:
			out = append(out, sdk.NewTextBlock(call.Code(p)))
		case strings.TrimSpace(p.Text) != "": // the API refuses others
			out = append(out, sdk.NewTextBlock(p.Text))
		}
	}
	return out, nil
}

func inline(b *event.Blob) sdk.ContentBlockParamUnion {
	kind := media.Kind(b.MIMEType)
	data := base64.StdEncoding.EncodeToString(b.Data)
	switch {
	case slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, kind):
		return sdk.NewImageBlockBase64(kind, data)
	case kind == "application/pdf":
		return titled(sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: data}), b.DisplayName)
	case media.IsText(kind):
		return titled(sdk.NewDocumentBlock(sdk.PlainTextSourceParam{Data: string(b.Data)}), b.DisplayName)
	}
	return sdk.NewTextBlock(call.LeftOut(b.DisplayName, b.MIMEType))
}

func linked(f *event.FileData) sdk.ContentBlockParamUnion {
	kind := media.Kind(f.MIMEType)
	if strings.HasPrefix(f.FileURI, "https://") {
		switch {
		case strings.HasPrefix(kind, "image/"):
			return sdk.NewImageBlock(sdk.URLImageSourceParam{URL: f.FileURI})
		case kind == "application/pdf":
			return titled(sdk.NewDocumentBlock(sdk.URLPDFSourceParam{URL: f.FileURI}), f.DisplayName)
		}
	}
	return sdk.NewTextBlock(call.LeftOut(cmp.Or(f.DisplayName, f.FileURI), f.MIMEType))
}

func titled(b sdk.ContentBlockParamUnion, name string) sdk.ContentBlockParamUnion {
	if name != "" {
		b.OfDocument.Title = param.NewOpt(name)
	}
	return b
}

func toolParam(t *model.Declaration) (*sdk.ToolParam, error) {
	schema := map[string]any{}
	if len(t.Parameters) > 0 {
		if err := json.Unmarshal(t.Parameters, &schema); err != nil {
			return nil, fmt.Errorf("the parameters of tool %s are not JSON", t.Name)
		}
	}
	delete(schema, "type") // always object
	out := &sdk.ToolParam{Name: t.Name, InputSchema: sdk.ToolInputSchemaParam{ExtraFields: schema}}
	if t.Description != "" {
		out.Description = param.NewOpt(t.Description)
	}
	return out, nil
}

func toolChoice(c *model.ToolChoice) sdk.ToolChoiceUnionParam {
	switch {
	case c.Mode == model.ToolsNone:
		return sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
	case c.Mode == model.ToolsAny && len(c.Allowed) == 1:
		return sdk.ToolChoiceUnionParam{OfTool: &sdk.ToolChoiceToolParam{Name: c.Allowed[0]}}
	case c.Mode == model.ToolsAny:
		return sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
	}
	return sdk.ToolChoiceUnionParam{OfAuto: &sdk.ToolChoiceAutoParam{}}
}

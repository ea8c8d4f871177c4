package anthropic

import (
	"cmp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// answer assembles the response, block by block.
type answer struct {
	blocks  []*block
	at      map[int64]*block // by their index
	calls   int
	reason  sdk.StopReason
	why     string // of a refusal
	version string
	usage   *sdk.Usage
	done    bool
}

type block struct {
	kind      string
	id, name  string
	text      strings.Builder
	signature strings.Builder
}

// add adds an event, and returns its piece of text, if any.
func (a *answer) add(ev *sdk.MessageStreamEventUnion) *model.Response {
	switch ev.Type {
	case "message_start":
		a.version = ev.Message.Model
		a.usage = &ev.Message.Usage
	case "message_delta":
		a.reason = cmp.Or(ev.Delta.StopReason, a.reason)
		a.why = cmp.Or(ev.Delta.StopDetails.Explanation, a.why)
		a.count(&ev.Usage)
	case "message_stop":
		a.done = true
	case "content_block_start":
		c := &ev.ContentBlock
		b := &block{kind: c.Type, id: c.ID, name: c.Name}
		b.text.WriteString(c.Text + c.Thinking)
		b.signature.WriteString(c.Signature + c.Data)
		if c.Type == "tool_use" {
			// Empty until the pieces arrive, except from servers that send none.
			if raw := c.JSON.Input.Raw(); raw != "{}" {
				b.text.WriteString(raw)
			}
			b.signature.Reset()
			a.calls++
		}
		a.blocks = append(a.blocks, b)
		if a.at == nil {
			a.at = map[int64]*block{}
		}
		if a.at[ev.Index] == nil {
			a.at[ev.Index] = b
		}
		return a.piece(b, c.Text+c.Thinking)
	case "content_block_delta":
		if b := a.at[ev.Index]; b != nil {
			d := &ev.Delta
			b.text.WriteString(d.Text + d.Thinking + d.PartialJSON)
			b.signature.WriteString(d.Signature)
			return a.piece(b, d.Text+d.Thinking)
		}
	}
	return nil
}

func (a *answer) piece(b *block, text string) *model.Response {
	if text == "" || b.kind != "text" && b.kind != "thinking" {
		return nil
	}
	return &model.Response{Partial: true, ModelVersion: a.version, Usage: a.tokens(), Content: &event.Content{
		Role: event.RoleModel, Parts: []*event.Part{{Text: text, Thought: b.kind == "thinking"}},
	}}
}

// count sets the final token counts: totals, of which some servers omit what they
// sent at the start.
func (a *answer) count(u *sdk.MessageDeltaUsage) {
	if a.usage == nil {
		a.usage = &sdk.Usage{}
	}
	a.usage.InputTokens = max(a.usage.InputTokens, u.InputTokens)
	a.usage.OutputTokens = max(a.usage.OutputTokens, u.OutputTokens)
	a.usage.CacheReadInputTokens = max(a.usage.CacheReadInputTokens, u.CacheReadInputTokens)
	a.usage.CacheCreationInputTokens = max(a.usage.CacheCreationInputTokens, u.CacheCreationInputTokens)
	a.usage.OutputTokensDetails.ThinkingTokens = max(a.usage.OutputTokensDetails.ThinkingTokens, u.OutputTokensDetails.ThinkingTokens)
}

func (a *answer) tokens() *event.Usage {
	u := a.usage
	if u == nil {
		return nil
	}
	// The API counts cached tokens separately, and thoughts with the answer; events
	// do the opposite.
	prompt, thoughts := u.InputTokens+u.CacheReadInputTokens+u.CacheCreationInputTokens, u.OutputTokensDetails.ThinkingTokens
	return &event.Usage{
		Prompt: prompt, Candidates: u.OutputTokens - thoughts, Total: prompt + u.OutputTokens,
		CachedContent: u.CacheReadInputTokens, Thoughts: thoughts,
	}
}

// Prefixes of the signatures of the two kinds of thoughts.
const (
	signed   = "thinking:"
	redacted = "redacted:"
)

// parts returns the content: all of it, or texts only. broken is the name of a tool
// whose arguments cannot be decoded.
func (a *answer) parts(calls bool) (c *event.Content, broken string) {
	var parts []*event.Part
	for i, b := range a.blocks {
		text := b.text.String()
		switch b.kind {
		case "text":
			if text != "" {
				parts = append(parts, &event.Part{Text: text})
			}
		case "thinking":
			parts = append(parts, &event.Part{Text: text, Thought: true, ThoughtSignature: call.Sign(call.Anthropic, signed+b.signature.String())})
		case "redacted_thinking":
			parts = append(parts, &event.Part{Thought: true, ThoughtSignature: call.Sign(call.Anthropic, redacted+b.signature.String())})
		case "tool_use":
			args, ok := call.Arguments(text, reason(a.reason) == call.Cut && i == len(a.blocks)-1)
			switch {
			case !calls:
			case !ok:
				broken = cmp.Or(b.name, "a tool")
			default:
				parts = append(parts, &event.Part{FunctionCall: &event.FunctionCall{ID: b.id, Name: b.name, Args: args}})
			}
		}
	}
	if len(parts) == 0 {
		return nil, broken
	}
	return &event.Content{Role: event.RoleModel, Parts: parts}, broken
}

// incomplete returns the texts of an incomplete answer.
func (a *answer) incomplete() *model.Response {
	c, _ := a.parts(false)
	return &model.Response{Content: c, ModelVersion: a.version, Usage: a.tokens()}
}

// response returns the complete answer.
func (a *answer) response() *model.Response {
	c, broken := a.parts(true)
	r := &model.Response{Content: c, FinishReason: reason(a.reason), ModelVersion: a.version, Usage: a.tokens()}
	call.Finish(r, broken)
	if r.ErrorCode == "SAFETY" && a.why != "" {
		r.ErrorMessage = a.why
	}
	return r
}

// reason converts the stop reason to that of events.
func reason(said sdk.StopReason) string {
	switch said {
	case "":
		return ""
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence, sdk.StopReasonToolUse, sdk.StopReasonPauseTurn:
		return "STOP"
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return call.Cut
	case sdk.StopReasonRefusal:
		return "SAFETY"
	}
	return "OTHER"
}

package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// chunk is a piece of a response, or the whole: they differ in the name of one
// member only.
type chunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Delta        *said     `json:"delta"`
		Message      *said     `json:"message"`
		FinishReason string    `json:"finish_reason"`
		Logprobs     *logprobs `json:"logprobs"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
	Error *fault `json:"error"`
}

type said struct {
	Content          texts      `json:"content"`
	Refusal          string     `json:"refusal"`
	ReasoningContent string     `json:"reasoning_content"`
	Reasoning        string     `json:"reasoning"`
	ToolCalls        []toolCall `json:"tool_calls"`
}

// texts are a string, or a list of parts at some servers. Parts that are not text
// are omitted.
type texts string

func (t *texts) UnmarshalJSON(doc []byte) error {
	if doc[0] != '[' {
		return json.Unmarshal(doc, (*string)(t))
	}
	var parts []struct{ Text string }
	if err := json.Unmarshal(doc, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*t += texts(p.Text)
	}
	return nil
}

type logprobs struct {
	Content []struct {
		token
		Top []token `json:"top_logprobs"`
	} `json:"content"`
}

type token struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
}

type usage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	Total         int64 `json:"total_tokens"`
	PromptDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *usage) event() *event.Usage {
	thoughts := u.CompletionDetails.Reasoning
	out := &event.Usage{
		Prompt: u.Prompt, Candidates: u.Completion, Total: cmp.Or(u.Total, u.Prompt+u.Completion),
		CachedContent: u.PromptDetails.Cached, Thoughts: thoughts,
	}
	if out.Total != u.Prompt+u.Completion+thoughts { // some count thoughts separately
		out.Candidates = max(u.Completion-thoughts, 0)
	}
	return out
}

// answer assembles the response.
type answer struct {
	thought strings.Builder
	member  string // that the thoughts came in
	text    strings.Builder
	refusal strings.Builder
	calls   []*callPieces
	reason  string
	version string
	usage   *event.Usage
	probs   logprobs
}

// callPieces is a call whose arguments arrive in pieces.
type callPieces struct {
	toolCall
	args strings.Builder
}

// add adds a chunk, and returns its piece of text, if any.
func (a *answer) add(ctx context.Context, doc []byte) (*model.Response, error) {
	var c chunk
	if err := json.Unmarshal(doc, &c); err != nil {
		return nil, err
	}
	if c.Error != nil {
		return nil, c.Error.refusal()
	}
	a.version = cmp.Or(a.version, c.Model)
	if u := c.Usage; u != nil {
		a.usage = u.event()
	}
	if len(c.Choices) == 0 {
		return nil, nil
	}
	one := c.Choices[0]
	a.reason = cmp.Or(one.FinishReason, a.reason)
	if one.Logprobs != nil {
		a.probs.Content = append(a.probs.Content, one.Logprobs.Content...)
	}
	s := cmp.Or(one.Delta, one.Message)
	if s == nil {
		return nil, nil
	}
	for _, t := range s.ToolCalls {
		a.call(t)
		if err := bounded.CheckCalls(ctx, len(a.calls)); err != nil {
			return nil, err
		}
	}
	a.refusal.WriteString(s.Refusal)
	a.text.WriteString(string(s.Content))
	thought := cmp.Or(s.ReasoningContent, s.Reasoning)
	a.thought.WriteString(thought)
	if a.member == "" && thought != "" {
		a.member = "reasoning_content"
		if s.ReasoningContent == "" {
			a.member = "reasoning"
		}
	}
	piece := &event.Content{Role: event.RoleModel}
	if thought != "" {
		piece.Parts = append(piece.Parts, &event.Part{Text: thought, Thought: true})
	}
	if s.Content != "" {
		piece.Parts = append(piece.Parts, &event.Part{Text: string(s.Content)})
	}
	if piece.Parts == nil {
		return nil, nil
	}
	return &model.Response{Partial: true, Content: piece, ModelVersion: a.version, Usage: a.usage}, nil
}

// call adds a call or a piece of one. Some servers send whole calls without an
// index, and some the same index for all of them, or even the same id.
func (a *answer) call(t toolCall) {
	last := len(a.calls) - 1
	i := last
	if t.Index != nil {
		i = slices.IndexFunc(a.calls, func(one *callPieces) bool { return one.Index != nil && *one.Index == *t.Index })
	}
	another := i >= 0 && t.ID != "" && a.calls[i].ID != "" && (t.ID != a.calls[i].ID || t.follows(a.calls[i].args.String()))
	if i < 0 || another || t.Index == nil && t.Function.Name != "" {
		if another {
			a.calls[i].Index = nil // later pieces belong to the new one
		}
		one := &callPieces{toolCall: t}
		one.args.WriteString(t.Function.Arguments)
		a.calls = append(a.calls, one)
		return
	}
	one := a.calls[i]
	one.ID = cmp.Or(one.ID, t.ID)
	one.Function.Name = cmp.Or(one.Function.Name, t.Function.Name)
	one.args.WriteString(t.Function.Arguments)
	if t.ExtraContent != nil {
		one.ExtraContent = t.ExtraContent
	}
}

// follows reports whether t, with the index and the id of a call with the arguments
// before, is a separate call: the arguments before are complete, and others begin.
func (t *toolCall) follows(before string) bool {
	return t.Function.Name != "" && strings.HasPrefix(t.Function.Arguments, "{") && strings.HasSuffix(before, "}") && json.Valid([]byte(before))
}

func (a *answer) said() bool { return a.thought.Len()+a.text.Len()+len(a.calls) > 0 }

// incomplete returns the texts of an incomplete answer.
func (a *answer) incomplete() *model.Response {
	return &model.Response{Content: content(a.words()), ModelVersion: a.version, Usage: a.usage}
}

func (a *answer) words() []*event.Part {
	var parts []*event.Part
	if a.thought.Len() > 0 {
		parts = append(parts, &event.Part{Text: a.thought.String(), Thought: true, ThoughtSignature: call.Sign(call.OpenAI, a.member)})
	}
	if a.text.Len() > 0 {
		parts = append(parts, &event.Part{Text: a.text.String()})
	}
	return parts
}

func content(parts []*event.Part) *event.Content {
	if len(parts) == 0 {
		return nil
	}
	return &event.Content{Role: event.RoleModel, Parts: parts}
}

// response returns the complete answer.
func (a *answer) response() *model.Response {
	parts, broken, why := a.words(), "", reason(a.reason)
	for i, t := range a.calls {
		args, ok := call.Arguments(t.args.String(), why == call.Cut && i == len(a.calls)-1)
		if !ok {
			broken = cmp.Or(t.Function.Name, "a tool")
			continue
		}
		p := &event.Part{FunctionCall: &event.FunctionCall{ID: t.ID, Name: t.Function.Name, Args: args}}
		if t.ExtraContent != nil {
			p.ThoughtSignature = call.Sign(call.OpenAI, string(t.ExtraContent))
		}
		parts = append(parts, p)
	}
	r := &model.Response{
		Content: content(parts), FinishReason: why, ModelVersion: a.version, Usage: a.usage, Extra: a.probs.extra(),
	}
	if a.refusal.Len() > 0 {
		r.FinishReason, r.ErrorCode, r.ErrorMessage = "SAFETY", "SAFETY", a.refusal.String()
		return r
	}
	call.Finish(r, broken)
	return r
}

// reason converts the stop reason to that of events.
func reason(said string) string {
	switch said {
	case "":
		return ""
	case "stop", "tool_calls", "function_call":
		return "STOP"
	case "length":
		return call.Cut
	case "content_filter":
		return "SAFETY"
	}
	return "OTHER"
}

// extra converts the probabilities to those of events.
func (l *logprobs) extra() map[string]json.RawMessage {
	if len(l.Content) == 0 {
		return nil
	}
	type candidate struct {
		Token          string  `json:"token"`
		LogProbability float64 `json:"logProbability"`
	}
	type top struct {
		Candidates []candidate `json:"candidates"`
	}
	var out struct {
		Chosen []candidate `json:"chosenCandidates"`
		Top    []top       `json:"topCandidates,omitempty"`
	}
	for _, at := range l.Content {
		out.Chosen = append(out.Chosen, candidate{at.Token, at.Logprob})
		if len(at.Top) > 0 {
			var all []candidate
			for _, t := range at.Top {
				all = append(all, candidate{t.Token, t.Logprob})
			}
			out.Top = append(out.Top, top{all})
		}
	}
	doc, err := json.Marshal(out)
	if err != nil {
		return nil // cannot fail, because the numbers were decoded from JSON
	}
	return map[string]json.RawMessage{"logprobsResult": doc}
}

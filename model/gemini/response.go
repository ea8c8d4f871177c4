package gemini

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/passthrough"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// answer is the response so far.
type answer struct {
	merge bool // join the pieces of a stream

	parts     []*event.Part
	calls     int
	text      strings.Builder // of the last part, if pieces were joined to it
	candidate genai.Candidate // all but its content
	blocked   *genai.GenerateContentResponsePromptFeedback
	version   string
	usage     *genai.GenerateContentResponseUsageMetadata
}

// add adds a chunk, and returns its text as a piece, or nil.
func (a *answer) add(chunk *genai.GenerateContentResponse) *model.Response {
	a.version = cmp.Or(chunk.ModelVersion, a.version)
	a.usage = cmp.Or(chunk.UsageMetadata, a.usage) // counts of the whole call so far
	if chunk.PromptFeedback != nil && chunk.PromptFeedback.BlockReason != "" {
		a.blocked = chunk.PromptFeedback
	}
	if len(chunk.Candidates) == 0 || chunk.Candidates[0] == nil {
		return nil
	}
	c := chunk.Candidates[0]
	a.note(c)
	if c.Content == nil {
		return nil
	}
	var said []*event.Part
	for _, p := range c.Content.Parts {
		if p == nil {
			continue
		}
		part := fromPart(p)
		if part.IsText() && part.Text != "" {
			said = append(said, &event.Part{Text: part.Text, Thought: part.Thought})
		}
		a.join(part)
	}
	if len(said) == 0 {
		return nil
	}
	return &model.Response{Partial: true, Content: &event.Content{Role: event.RoleModel, Parts: said}, ModelVersion: a.version, Usage: usage(a.usage)}
}

// join appends text to the previous text. A signature ends a part, because it is
// only valid for that part.
func (a *answer) join(p *event.Part) {
	if p.IsText() {
		if p.Text == "" && len(p.ThoughtSignature) == 0 {
			return
		}
		if n := len(a.parts); a.merge && n > 0 && p.Extra == nil {
			last := a.parts[n-1]
			if last.IsText() && last.Thought == p.Thought && last.ThoughtSignature == nil && last.Extra == nil {
				if a.text.Len() == 0 {
					a.text.WriteString(last.Text)
				}
				a.text.WriteString(p.Text)
				last.Text, last.ThoughtSignature = a.text.String(), p.ThoughtSignature
				return
			}
		}
	}
	if p.FunctionCall != nil {
		a.calls++
	}
	a.parts = append(a.parts, p)
	a.text.Reset()
}

// note merges the metadata of a chunk: lists are appended, other values are
// replaced.
func (a *answer) note(c *genai.Candidate) {
	all := &a.candidate
	all.FinishReason = cmp.Or(c.FinishReason, all.FinishReason)
	all.FinishMessage = cmp.Or(c.FinishMessage, all.FinishMessage)
	all.AvgLogprobs = cmp.Or(c.AvgLogprobs, all.AvgLogprobs)
	all.GroundingMetadata = cmp.Or(c.GroundingMetadata, all.GroundingMetadata)
	if next := c.CitationMetadata; next != nil {
		if all.CitationMetadata != nil {
			next.Citations = append(all.CitationMetadata.Citations, next.Citations...)
		}
		all.CitationMetadata = next
	}
	if next := c.LogprobsResult; next != nil {
		if all.LogprobsResult != nil {
			next.ChosenCandidates = append(all.LogprobsResult.ChosenCandidates, next.ChosenCandidates...)
			next.TopCandidates = append(all.LogprobsResult.TopCandidates, next.TopCandidates...)
		}
		all.LogprobsResult = next
	}
}

// content returns the content of the kept parts.
func (a *answer) content(keep func(*event.Part) bool) *event.Content {
	parts := slices.DeleteFunc(slices.Clone(a.parts), func(p *event.Part) bool { return !keep(p) })
	if len(parts) == 0 {
		return nil
	}
	return &event.Content{Role: event.RoleModel, Parts: parts}
}

// response returns the complete answer.
func (a *answer) response() *model.Response {
	reason := a.candidate.FinishReason
	r := &model.Response{
		Content:      a.content(func(*event.Part) bool { return true }),
		FinishReason: string(reason), ModelVersion: a.version, Usage: usage(a.usage),
		Extra: pick(&a.candidate, passthrough.Event()),
	}
	switch broken := a.broken(); {
	case broken != "":
		call.Finish(r, broken)
	case call.Answers(r.Content):
	case a.blocked != nil:
		r.ErrorCode = string(a.blocked.BlockReason)
		r.ErrorMessage = cmp.Or(a.blocked.BlockReasonMessage, "The prompt was blocked.")
	case reason == genai.FinishReasonStop:
	case reason == "":
		r.ErrorCode, r.ErrorMessage = "UNKNOWN_ERROR", "The model gave neither an answer nor a reason."
	default:
		r.ErrorCode = string(reason)
		r.ErrorMessage = cmp.Or(a.candidate.FinishMessage, "The model stopped without an answer.")
	}
	return r
}

// broken returns the name of the function in whose call the model was cut off: the
// API sends the incomplete call.
func (a *answer) broken() string {
	calls := (&event.Content{Parts: a.parts}).FunctionCalls()
	if n := len(calls); n > 0 && a.candidate.FinishReason == call.Cut && string(calls[n-1].Args) == "{}" {
		return cmp.Or(calls[n-1].Name, "a tool")
	}
	return ""
}

func fromPart(p *genai.Part) *event.Part {
	out := &event.Part{Thought: p.Thought, ThoughtSignature: p.ThoughtSignature}
	if p.AudioTranscription != nil || p.MediaResolution != nil || p.PartMetadata != nil || p.ToolCall != nil || p.ToolResponse != nil || p.VideoMetadata != nil {
		out.Extra = pick(&genai.Part{
			AudioTranscription: p.AudioTranscription, MediaResolution: p.MediaResolution, PartMetadata: p.PartMetadata,
			ToolCall: p.ToolCall, ToolResponse: p.ToolResponse, VideoMetadata: p.VideoMetadata,
		}, passthrough.Part())
	}
	switch {
	case p.FunctionCall != nil:
		out.FunctionCall = &event.FunctionCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: encode(p.FunctionCall.Args)}
	case p.FunctionResponse != nil:
		out.FunctionResponse = &event.FunctionResponse{ID: p.FunctionResponse.ID, Name: p.FunctionResponse.Name, Response: encode(p.FunctionResponse.Response)}
	case p.InlineData != nil:
		out.InlineData = &event.Blob{MIMEType: p.InlineData.MIMEType, Data: p.InlineData.Data, DisplayName: p.InlineData.DisplayName}
	case p.FileData != nil:
		out.FileData = &event.FileData{MIMEType: p.FileData.MIMEType, FileURI: p.FileData.FileURI, DisplayName: p.FileData.DisplayName}
	case p.ExecutableCode != nil:
		out.ExecutableCode = &event.ExecutableCode{ID: p.ExecutableCode.ID, Code: p.ExecutableCode.Code, Language: string(p.ExecutableCode.Language)}
	case p.CodeExecutionResult != nil:
		r := p.CodeExecutionResult
		out.CodeExecutionResult = &event.CodeExecutionResult{ID: r.ID, Outcome: string(r.Outcome), Output: r.Output}
	default:
		out.Text = p.Text
	}
	return out
}

func usage(u *genai.GenerateContentResponseUsageMetadata) *event.Usage {
	if u == nil {
		return nil
	}
	return &event.Usage{
		Prompt: int64(u.PromptTokenCount), Candidates: int64(u.CandidatesTokenCount), Total: int64(u.TotalTokenCount),
		CachedContent: int64(u.CachedContentTokenCount), Thoughts: int64(u.ThoughtsTokenCount), ToolUsePrompt: int64(u.ToolUsePromptTokenCount),
		Extra: pick(u, passthrough.Usage()),
	}
}

// encode returns the arguments as their original JSON.
func encode(object map[string]any) json.RawMessage {
	if object == nil {
		return json.RawMessage("{}")
	}
	doc, err := json.Marshal(object)
	if err != nil { // cannot fail, because it was decoded from JSON
		return json.RawMessage("{}")
	}
	return doc
}

// pick returns the members of v that the contract passes through.
func pick(v any, names []string) map[string]json.RawMessage {
	doc, err := json.Marshal(v)
	var all map[string]json.RawMessage
	if err != nil || json.Unmarshal(doc, &all) != nil {
		return nil // likewise
	}
	for name := range all {
		if !slices.Contains(names, name) {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

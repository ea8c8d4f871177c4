package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// OpenAI is the dialect of chat completions.
type OpenAI struct{}

// Name is openai.
func (OpenAI) Name() string { return "openai" }

// Read understands a request.
func (OpenAI) Read(r *http.Request, body []byte) (asked Asked, stream bool, err error) {
	var req struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role             string
			Content          json.RawMessage
			ToolCallID       string `json:"tool_call_id"`
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []struct {
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked, false, err
	}
	asked.Model = req.Model
	for _, t := range req.Tools {
		asked.Tools = append(asked.Tools, t.Function.Name)
	}
	open := map[string]int{} // some servers give one id to several calls
	for _, m := range req.Messages {
		if m.Role != "tool" && len(open) > 0 {
			err = errors.New("an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'")
		}
		if m.ReasoningContent != "" {
			asked.Turns = append(asked.Turns, "thought: "+m.ReasoningContent+" signed")
		}
		for _, said := range openaiContent(m.Content) {
			switch m.Role {
			case "system":
				asked.System += strings.TrimPrefix(said, "text ")
			case "tool":
				if open[m.ToolCallID] == 0 {
					err = fmt.Errorf("messages with role 'tool' must be a response to a preceding message with 'tool_calls': %s", m.ToolCallID)
				}
				if open[m.ToolCallID]--; open[m.ToolCallID] <= 0 {
					delete(open, m.ToolCallID)
				}
				asked.Turns = append(asked.Turns, "result "+m.ToolCallID+" "+strings.TrimPrefix(said, "text "))
			default:
				who := strings.Replace(m.Role, "assistant", "model", 1)
				if text, ok := strings.CutPrefix(said, "text "); ok {
					said = who + ": " + text
				}
				asked.Turns = append(asked.Turns, said)
			}
		}
		for _, c := range m.ToolCalls {
			open[c.ID]++
			asked.Turns = append(asked.Turns, fmt.Sprintf("call %s %s %s", c.ID, c.Function.Name, c.Function.Arguments))
		}
	}
	if len(open) > 0 {
		err = errors.New("calls without an answer")
	}
	if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") == "" {
		err = errors.New("no such path, or no key")
	}
	return asked, req.Stream, err
}

func openaiContent(raw json.RawMessage) (out []string) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		if text != "" {
			out = append(out, "text "+text)
		}
		return out
	}
	var pieces []struct {
		Type, Text string
		ImageURL   struct{ URL string } `json:"image_url"`
		File       struct {
			Data string `json:"file_data"`
		}
	}
	if err := json.Unmarshal(raw, &pieces); err != nil {
		return []string{"unreadable " + err.Error()}
	}
	for _, p := range pieces {
		switch p.Type {
		case "text":
			out = append(out, "text "+p.Text)
		case "image_url", "file":
			at := p.ImageURL.URL + p.File.Data
			if kind, ok := strings.CutPrefix(at, "data:"); ok {
				kind, _, _ = strings.Cut(kind, ";")
				out = append(out, "file "+kind)
			} else {
				out = append(out, "link "+at)
			}
		default:
			out = append(out, "unknown "+p.Type)
		}
	}
	return out
}

func (OpenAI) finish(reply *Reply) string {
	switch {
	case reply.Finish == "MAX_TOKENS":
		return "length"
	case reply.Finish == "SAFETY":
		return "content_filter"
	case len(reply.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (OpenAI) usage(u Usage) object {
	return object{
		"prompt_tokens": u.Prompt, "completion_tokens": u.Answer + u.Thoughts, "total_tokens": u.Prompt + u.Answer + u.Thoughts,
		"prompt_tokens_details": object{"cached_tokens": u.Cached}, "completion_tokens_details": object{"reasoning_tokens": u.Thoughts},
	}
}

// Events are the chunks of a completion.
func (d OpenAI) Events(reply *Reply) []string {
	var out []string
	add := func(delta object, finish any) {
		out = append(out, "data: "+encode(object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "model-1",
			"choices": []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}, "usage": nil,
		}))
	}
	if reply.Thought != "" {
		add(object{"role": "assistant", "content": nil, "reasoning_content": reply.Thought}, nil)
	}
	for i, t := range reply.Text {
		delta := object{"content": t}
		if i == 0 {
			delta["role"] = "assistant"
		}
		add(delta, nil)
	}
	for i, c := range reply.Calls {
		add(object{"tool_calls": []any{object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}}, nil)
		half := len(c.Args) / 2
		add(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": c.Args[:half]}}}}, nil)
		if !reply.Truncated || i < len(reply.Calls)-1 {
			add(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": c.Args[half:]}}}}, nil)
		}
	}
	add(object{}, d.finish(reply))
	usage := encode(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "model-1", "choices": []any{}, "usage": d.usage(reply.Usage)})
	return append(out, "data: "+usage, "data: [DONE]")
}

// Whole is a completion.
func (d OpenAI) Whole(reply *Reply) string {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	if len(reply.Text) > 0 {
		message["content"] = strings.Join(reply.Text, "")
	}
	if reply.Thought != "" {
		message["reasoning_content"] = reply.Thought
	}
	var calls []any
	for i, c := range reply.Calls {
		if reply.Truncated && i == len(reply.Calls)-1 {
			c.Args = c.Args[:len(c.Args)/2]
		}
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return encode(object{
		"id": "chatcmpl-1", "object": "chat.completion", "model": "model-1", "usage": d.usage(reply.Usage),
		"choices": []any{object{"index": 0, "message": message, "finish_reason": d.finish(reply)}},
	})
}

// Refusal is an error in OpenAI's form.
func (OpenAI) Refusal(status int, message string) string {
	kind := map[int]string{401: "invalid_request_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error"}[status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	return encode(object{"error": object{"message": message, "type": kind, "param": nil, "code": nil}})
}

// Report is an error in a stream.
func (OpenAI) Report(message string) string {
	return "data: " + encode(object{"error": object{"message": message, "type": "server_error", "code": 503}})
}

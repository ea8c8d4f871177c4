package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Anthropic is the dialect of Anthropic's messages.
type Anthropic struct{}

// Name is anthropic.
func (Anthropic) Name() string { return "anthropic" }

// Read understands a request.
func (Anthropic) Read(r *http.Request, body []byte) (asked Asked, stream bool, err error) {
	var req struct {
		Model     string
		Stream    bool
		MaxTokens int `json:"max_tokens"`
		System    []struct{ Text string }
		Messages  []struct {
			Role    string
			Content []anthropicBlock
		}
		Tools []struct {
			Name        string
			InputSchema struct{ Type string } `json:"input_schema"`
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked, false, err
	}
	asked.Model = req.Model
	for _, s := range req.System {
		asked.System += s.Text
	}
	for _, t := range req.Tools {
		asked.Tools = append(asked.Tools, t.Name)
		if t.InputSchema.Type != "object" {
			err = errors.New("tools.0.custom.input_schema.type: Field required")
		}
	}
	open := map[string]bool{}
	for i, m := range req.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			err = errors.New("messages: roles must alternate")
		}
		for _, b := range m.Content {
			if b.Type != "tool_result" && m.Role == "user" && len(open) > 0 {
				err = errors.New("messages: `tool_use` ids were found without `tool_result` blocks immediately after")
			}
			switch b.Type {
			case "tool_use":
				open[b.ID] = true
			case "tool_result":
				if !open[b.ToolUseID] {
					err = errors.New("messages: unexpected `tool_use_id` found in `tool_result` blocks: " + b.ToolUseID)
				}
				delete(open, b.ToolUseID)
			case "thinking":
				if b.Signature != "signed" {
					err = errors.New("messages: Invalid `signature` in `thinking` block")
				}
			}
			asked.Turns = append(asked.Turns, b.turn(m.Role))
		}
	}
	switch {
	case len(open) > 0 || len(req.Messages)%2 == 0:
		err = errors.New("messages: final message must be the user's")
	case req.MaxTokens < 1:
		err = errors.New("max_tokens: Field required")
	case r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") == "" || r.Header.Get("Anthropic-Version") == "":
		err = errors.New("no such path, no key, or no version")
	}
	return asked, req.Stream, err
}

type anthropicBlock struct {
	Type, Text, ID, Name, Thinking, Signature, Data string

	ToolUseID string `json:"tool_use_id"`
	Input     json.RawMessage
	Content   []struct{ Text string }
	Source    struct {
		Type, URL string
		MediaType string `json:"media_type"`
	}
}

func (b *anthropicBlock) turn(role string) string {
	switch b.Type {
	case "tool_use":
		return fmt.Sprintf("call %s %s %s", b.ID, b.Name, b.Input)
	case "tool_result":
		return fmt.Sprintf("result %s %s", b.ToolUseID, b.Content[0].Text)
	case "thinking":
		return fmt.Sprintf("thought: %s signed %q", b.Thinking, b.Signature)
	case "redacted_thinking":
		return "redacted: " + b.Data
	case "image", "document":
		if b.Source.Type == "url" {
			return "link " + b.Source.URL
		}
		return "file " + b.Source.MediaType
	}
	if role == "assistant" {
		role = "model"
	}
	return role + ": " + b.Text
}

func (Anthropic) finish(reply *Reply) string {
	switch {
	case reply.Finish == "MAX_TOKENS":
		return "max_tokens"
	case reply.Finish == "SAFETY":
		return "refusal"
	case len(reply.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

// Events are the events of a message, with a ping among them.
func (d Anthropic) Events(reply *Reply) []string {
	var out []string
	add := func(kind string, members object) {
		members["type"] = kind
		out = append(out, "event: "+kind+"\ndata: "+encode(members))
	}
	u := reply.Usage
	add("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "content": []any{}, "model": "model-1", "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": u.Prompt - u.Cached, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": 0, "output_tokens": 1},
	}})
	index := 0
	block := func(start object, deltas ...object) {
		add("content_block_start", object{"index": index, "content_block": start})
		for _, delta := range deltas {
			add("content_block_delta", object{"index": index, "delta": delta})
		}
		add("content_block_stop", object{"index": index})
		index++
	}
	if reply.Thought != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": reply.Thought}, object{"type": "signature_delta", "signature": "signed"})
	}
	out = append(out, "event: ping\ndata: {\"type\": \"ping\"}")
	if len(reply.Text) > 0 {
		var deltas []object
		for _, t := range reply.Text {
			deltas = append(deltas, object{"type": "text_delta", "text": t})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for i, c := range reply.Calls {
		half := len(c.Args) / 2
		deltas := []object{{"type": "input_json_delta", "partial_json": ""}, {"type": "input_json_delta", "partial_json": c.Args[:half]}}
		if !reply.Truncated || i < len(reply.Calls)-1 {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": c.Args[half:]})
		}
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas...)
	}
	add("message_delta", object{"delta": object{"stop_reason": d.finish(reply), "stop_sequence": nil}, "usage": object{
		"output_tokens": u.Answer + u.Thoughts, "output_tokens_details": object{"thinking_tokens": u.Thoughts},
	}})
	add("message_stop", object{})
	return out
}

// Whole is never asked for.
func (Anthropic) Whole(*Reply) string { return `{"type":"error"}` }

// Refusal is an error in Anthropic's form.
func (Anthropic) Refusal(status int, message string) string {
	kind := map[int]string{
		401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
	}[status]
	if kind == "" {
		kind = map[bool]string{true: "api_error", false: "invalid_request_error"}[status >= 500]
	}
	return encode(object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_1"})
}

// Report is an error in a stream.
func (d Anthropic) Report(message string) string {
	return "event: error\ndata: " + d.Refusal(529, message)
}

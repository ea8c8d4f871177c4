package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Gemini is the dialect of the Gemini API.
type Gemini struct{}

// Name is gemini.
func (Gemini) Name() string { return "gemini" }

// Read understands a request.
func (Gemini) Read(r *http.Request, body []byte) (asked Asked, stream bool, err error) {
	name, method, _ := strings.Cut(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], ":")
	var req struct {
		SystemInstruction struct{ Parts []struct{ Text string } }
		Contents          []struct {
			Role  string
			Parts []map[string]json.RawMessage
		}
		Tools []struct{ FunctionDeclarations []struct{ Name string } }
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked, false, err
	}
	asked.Model = name
	for _, p := range req.SystemInstruction.Parts {
		asked.System += p.Text
	}
	for _, t := range req.Tools {
		for _, f := range t.FunctionDeclarations {
			asked.Tools = append(asked.Tools, f.Name)
		}
	}
	for i, c := range req.Contents {
		if last := i == len(req.Contents)-1; last && c.Role != "user" {
			err = errors.New("please ensure that the last content is of the user")
		}
		for _, p := range c.Parts {
			asked.Turns = append(asked.Turns, geminiPart(c.Role, p))
		}
	}
	if r.Header.Get("X-Goog-Api-Key") == "" {
		err = errors.New("no key")
	}
	return asked, method == "streamGenerateContent", err
}

func geminiPart(role string, p map[string]json.RawMessage) string {
	var text string
	var f struct {
		ID, Name       string
		Args, Response json.RawMessage
		MimeType       string
		FileURI        string
	}
	for _, name := range []string{"functionCall", "functionResponse", "inlineData", "fileData"} {
		_ = json.Unmarshal(p[name], &f)
	}
	_ = json.Unmarshal(p["text"], &text)
	switch {
	case p["thought"] != nil:
		return fmt.Sprintf("thought: %s signed %s", text, p["thoughtSignature"])
	case p["functionCall"] != nil:
		return fmt.Sprintf("call %s %s %s", f.ID, f.Name, f.Args)
	case p["functionResponse"] != nil:
		return fmt.Sprintf("result %s %s", f.ID, f.Response)
	case p["inlineData"] != nil:
		return "file " + f.MimeType
	case p["fileData"] != nil:
		return "link " + f.FileURI
	}
	return role + ": " + text
}

func (Gemini) parts(reply *Reply) (parts []any) {
	if reply.Thought != "" {
		parts = append(parts, object{"text": reply.Thought, "thought": true, "thoughtSignature": "c2lnbmVk"})
	}
	for _, t := range reply.Text {
		parts = append(parts, object{"text": t})
	}
	for _, c := range reply.Calls {
		made := object{"id": c.ID, "name": c.Name}
		if c.Args != "" {
			made["args"] = json.RawMessage(c.Args)
		}
		parts = append(parts, object{"functionCall": made})
	}
	return parts
}

func (Gemini) end(reply *Reply) (candidate, top object) {
	finish := reply.Finish
	if finish == "" {
		finish = "STOP"
	}
	if reply.Truncated {
		finish = "MALFORMED_FUNCTION_CALL"
	}
	u := reply.Usage
	candidate = object{"index": 0, "finishReason": finish}
	if reply.Grounding != "" {
		candidate["groundingMetadata"] = json.RawMessage(reply.Grounding)
	}
	return candidate, object{"modelVersion": "model-1", "usageMetadata": object{
		"promptTokenCount": u.Prompt, "candidatesTokenCount": u.Answer, "thoughtsTokenCount": u.Thoughts,
		"cachedContentTokenCount": u.Cached, "totalTokenCount": u.Prompt + u.Answer + u.Thoughts,
	}}
}

// Events are those of streamGenerateContent.
func (d Gemini) Events(reply *Reply) []string {
	var out []string
	parts := d.parts(reply)
	if reply.Truncated {
		parts = parts[:len(parts)-1]
	}
	for _, p := range parts {
		out = append(out, "data: "+encode(object{"modelVersion": "model-1", "candidates": []any{object{"content": object{"role": "model", "parts": []any{p}}, "index": 0}}}))
	}
	candidate, top := d.end(reply)
	top["candidates"] = []any{candidate}
	return append(out, "data: "+encode(top))
}

// Whole is the answer of generateContent.
func (d Gemini) Whole(reply *Reply) string {
	candidate, top := d.end(reply)
	whole := *reply
	if len(reply.Text) > 0 {
		whole.Text = []string{strings.Join(reply.Text, "")}
	}
	parts := d.parts(&whole)
	if reply.Truncated {
		parts = parts[:len(parts)-1]
	}
	if len(parts) > 0 {
		candidate["content"] = object{"role": "model", "parts": parts}
	}
	top["candidates"] = []any{candidate}
	return encode(top)
}

// Refusal is an error in the form of Google's APIs.
func (Gemini) Refusal(status int, message string) string {
	names := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 413: "INVALID_ARGUMENT",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE",
	}
	return encode(object{"error": object{"code": status, "message": message, "status": names[status]}})
}

// Report is an error in a stream.
func (d Gemini) Report(message string) string { return "data: " + d.Refusal(503, message) }

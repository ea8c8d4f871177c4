package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// paramPrefix begins the names of headers that have arguments of a tool.
const paramPrefix = "Mcp-Param-"

// mismatch returns the error of a request whose headers differ from its body.
type mismatch func(code int, format string, args ...any) error

// checkHeaders compares the headers of a request with its body.
func (e *exchange) checkHeaders(bad mismatch) error {
	if got := e.r.Header.Get(methodHeader); got != e.in.Method {
		return bad(headerMismatch, "the header %s is %q, and the method in the body is %q", methodHeader, got, e.in.Method)
	}
	var p struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		Task      string          `json:"taskId"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(e.in.Params, &p) // the method reports what is wrong
	var want string
	switch e.in.Method {
	case "tools/call", "prompts/get":
		want = p.Name
	case "resources/read":
		want = p.URI
	case "tasks/get", "tasks/update", "tasks/cancel":
		want = p.Task
	default:
		return nil
	}
	if got := decodeHeader(e.r.Header.Get(nameHeader)); got != want {
		return bad(headerMismatch, "the header %s is %q, and the body has %q", nameHeader, got, want)
	}
	if e.in.Method == "tools/call" {
		return checkParams(e.r.Header, e.InputSchema(e.app), p.Arguments, bad)
	}
	return nil
}

// schemaNode is what matters here of the schema of an argument.
type schemaNode struct {
	Type       any                    `json:"type"`
	Header     string                 `json:"x-mcp-header"`
	Properties map[string]*schemaNode `json:"properties"`
}

// checkParams compares the arguments that a schema marks with x-mcp-header with their
// headers: what is between the client and the server may have read those. Arguments
// that clients cannot write as headers are not compared.
func checkParams(header http.Header, schema, arguments json.RawMessage, bad mismatch) error {
	var node schemaNode
	_ = json.Unmarshal(schema, &node) // an agent without a schema marks nothing
	return node.check(header, arguments, bad)
}

func (n *schemaNode) check(header http.Header, value json.RawMessage, bad mismatch) error {
	if n.Header != "" && len(n.Properties) == 0 {
		return n.compare(header, value, bad)
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(value, &members) // what is not an object has no members
	for name, property := range n.Properties {
		if property == nil {
			continue
		}
		if err := property.check(header, members[name], bad); err != nil {
			return err
		}
	}
	return nil
}

func (n *schemaNode) compare(header http.Header, value json.RawMessage, bad mismatch) error {
	name := paramPrefix + n.Header
	sent := header.Values(name)
	absent := len(value) == 0 || string(value) == "null"
	switch {
	case absent && len(sent) == 0:
		return nil
	case absent:
		return bad(headerMismatch, "the header %s has no argument in the body", name)
	case len(sent) == 0:
		return bad(headerMismatch, "the header %s is required for its argument", name)
	}
	got, want := sent[0], string(value)
	if code, ok := encoded(got); ok {
		text, err := base64.StdEncoding.Strict().DecodeString(code)
		if err != nil {
			return bad(headerMismatch, "the header %s is not valid Base64", name)
		}
		got = string(text)
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		want = text
	}
	same := got == want || n.Type != "string" && sameNumber(got, want)
	if len(sent) > 1 || !same {
		return bad(headerMismatch, "the header %s is not the argument in the body", name)
	}
	return nil
}

// sameNumber reports whether two texts are the same number, such as 42 and 42.0.
func sameNumber(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && x == y
}

// encoded returns the Base64 in a header whose text headers cannot have.
func encoded(value string) (string, bool) {
	code, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(code, "?=")
}

// decodeHeader returns the text of a header.
func decodeHeader(value string) string {
	code, ok := encoded(value)
	if !ok {
		return value
	}
	text, err := base64.StdEncoding.DecodeString(code)
	if err != nil {
		return value
	}
	return string(text)
}

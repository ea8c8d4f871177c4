package mcp

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/face"
)

// Headers of the transport.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// Versions of the protocol, the newest first.
const (
	version20260728 = "2026-07-28"
	newestLegacy    = "2025-11-25"
	// unnamed is the version of requests that name none.
	unnamed = "2025-03-26"
)

var versions = []string{version20260728, newestLegacy, "2025-06-18", unnamed, "2024-11-05"}

// Codes of errors.
const (
	parseError         = -32700
	invalidRequest     = -32600
	methodNotFound     = -32601
	invalidParams      = -32602
	internalError      = -32603
	resourceNotFound   = -32002
	serverError        = -32000
	headerMismatch     = -32020
	missingCapability  = -32021
	unsupportedVersion = -32022
)

// Keys of _meta.
const (
	versionKey      = "io.modelcontextprotocol/protocolVersion"
	capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"
	serverInfoKey   = "io.modelcontextprotocol/serverInfo"
	subscriptionKey = "io.modelcontextprotocol/subscriptionId"
	tasksExtension  = "io.modelcontextprotocol/tasks"
)

// frameName is the name of the events of streams.
const frameName = "message"

// message is a JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func (m *message) isCall() bool { return m.Method != "" && len(m.ID) > 0 }

// readMessage decodes the body of a request.
func readMessage(doc []byte) (message, error) {
	doc = bytes.TrimSpace(doc)
	if len(doc) > 0 && doc[0] == '[' {
		return message{}, &rpcError{status: http.StatusBadRequest, Code: invalidRequest, Message: "Invalid request: batches are not supported"}
	}
	var m message
	if err := json.Unmarshal(doc, &m); err != nil {
		return message{}, &rpcError{status: http.StatusBadRequest, Code: parseError, Message: "Parse error: the body is not a JSON-RPC message"}
	}
	wrong := ""
	switch {
	case m.Version != "2.0":
		wrong = `jsonrpc must be "2.0"`
	case len(m.ID) > 0 && !validID(m.ID):
		wrong = "the id must be a text or a number"
	case m.Method == "" && (len(m.ID) == 0 || m.Result == nil && m.Error == nil):
		wrong = "the method is missing"
	}
	if wrong != "" {
		return message{}, &rpcError{status: http.StatusBadRequest, Code: invalidRequest, Message: "Invalid request: " + wrong}
	}
	return m, nil
}

// validID reports whether an id is a text or a number.
func validID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// rpcError is an error as the protocol has it.
type rpcError struct {
	status  int    // of the HTTP response; 0 means 200
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

// invalid returns the error of a request with wrong parameters.
func invalid(format string, args ...any) error {
	return &rpcError{Code: invalidParams, Message: fmt.Sprintf(format, args...)}
}

func (e *rpcError) response(id json.RawMessage) []byte {
	doc, err := json.Marshal(e)
	if err != nil {
		doc = []byte(`{"code":-32603,"message":"Internal error"}`)
	}
	return response(id, `,"error":`, doc)
}

// response returns a response with a result or an error.
func response(id json.RawMessage, member string, doc []byte) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	return append(append(append(b, member...), doc...), '}')
}

func write(w http.ResponseWriter, status int, doc []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(doc) //nolint:gosec // it is JSON; a client that has disconnected cannot be told
}

// fromProblem returns an error of the server as the protocol has it.
func fromProblem(p face.Problem) *rpcError {
	e := &rpcError{status: p.Status, Code: serverError, Message: p.Message}
	switch {
	case p.Status == http.StatusBadRequest, p.Status == http.StatusUnprocessableEntity:
		e.status, e.Code = http.StatusBadRequest, invalidParams
	case p.Status == http.StatusRequestEntityTooLarge, p.Status == http.StatusUnsupportedMediaType:
		e.Code = invalidRequest
	case p.Status >= http.StatusInternalServerError:
		e.Code = internalError
	}
	return e
}

// fail writes an error that has no message to answer.
func fail(w http.ResponseWriter, _ *http.Request, p face.Problem) {
	e := fromProblem(p)
	write(w, e.status, e.response(nil))
}

// meta is what the parameters of a request say about it.
type meta struct {
	Progress     json.RawMessage `json:"progressToken"`
	Version      *string         `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities *capabilities   `json:"io.modelcontextprotocol/clientCapabilities"`
}

// capabilities is what a client can do, as far as it matters here.
type capabilities struct {
	Elicitation *elicitation               `json:"elicitation"`
	Sampling    json.RawMessage            `json:"sampling"`
	Roots       json.RawMessage            `json:"roots"`
	Extensions  map[string]json.RawMessage `json:"extensions"`
	resumes     bool                       // it continues streams that begin with an id
}

type elicitation struct {
	Form json.RawMessage `json:"form"`
	URL  json.RawMessage `json:"url"`
}

// form reports whether the client shows forms to its user, and url whether it opens
// addresses.
func (c *capabilities) form() bool {
	return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}
func (c *capabilities) url() bool   { return c.Elicitation != nil && c.Elicitation.URL != nil }
func (c *capabilities) tasks() bool { return c.Extensions[tasksExtension] != nil }

// newConnection returns the id of a session of the protocol. It has what the client
// can do, so that no server has to remember it.
func newConnection(c capabilities) string {
	able := []byte("n")
	for _, one := range []struct {
		letter byte
		has    bool
	}{{'f', c.form()}, {'u', c.url()}, {'s', c.Sampling != nil}, {'r', c.Roots != nil}, {'i', c.resumes}} {
		if one.has {
			able = append(able, one.letter)
		}
	}
	return string(able) + "-" + rand.Text()
}

// readConnection returns what the client of a session of the protocol can do.
func readConnection(id string) (c capabilities) {
	able, _, ok := strings.Cut(id, "-")
	if !ok || !strings.HasPrefix(able, "n") {
		return c
	}
	has := json.RawMessage("{}")
	form, url := strings.Contains(able, "f"), strings.Contains(able, "u")
	if form || url {
		c.Elicitation = &elicitation{}
	}
	if form {
		c.Elicitation.Form = has
	}
	if url {
		c.Elicitation.URL = has
	}
	if strings.Contains(able, "s") {
		c.Sampling = has
	}
	if strings.Contains(able, "r") {
		c.Roots = has
	}
	c.resumes = strings.Contains(able, "i")
	return c
}

// params decodes the parameters of the message.
func (e *exchange) params(into any) error {
	if len(e.in.Params) == 0 || string(e.in.Params) == "null" {
		return nil
	}
	err := json.Unmarshal(e.in.Params, into)
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid("Invalid params: %s must not be of the type %s", cmp.Or(bad.Field, "params"), bad.Value)
	}
	if err != nil {
		return invalid("Invalid params: %v", err)
	}
	return nil
}

// negotiate finds the version of a request, and what its client can do. From
// 2026-07-28 on each request has both, in its parameters and its headers.
func (e *exchange) negotiate() error {
	bad := func(code int, format string, args ...any) error {
		return &rpcError{status: http.StatusBadRequest, Code: code, Message: fmt.Sprintf(format, args...)}
	}
	header := e.r.Header.Get(versionHeader)
	var p struct {
		Meta meta `json:"_meta"`
	}
	malformed := len(e.in.Params) > 0 && json.Unmarshal(e.in.Params, &p) != nil
	e.meta = p.Meta
	e.version, e.modern = header, header >= version20260728
	if header == "" {
		if e.meta.Version != nil && e.in.isCall() {
			return bad(headerMismatch, "the header %s is required with %s", versionHeader, versionKey)
		}
		e.version = unnamed
	}
	if e.modern && e.in.isCall() {
		switch {
		case malformed:
			return bad(invalidParams, "Invalid params: _meta cannot be read")
		case e.meta.Version == nil:
			return bad(invalidParams, "Invalid params: _meta has no %s", versionKey)
		case *e.meta.Version != header:
			return bad(headerMismatch, "the header %s is %q, and %s in the body is %q", versionHeader, header, versionKey, *e.meta.Version)
		}
	}
	if !slices.Contains(versions, e.version) {
		return &rpcError{
			status: http.StatusBadRequest, Code: unsupportedVersion, Message: "Unsupported protocol version: " + e.version,
			Data: map[string]any{"supported": versions, "requested": e.version},
		}
	}
	if !e.modern {
		e.can = readConnection(e.connection)
		return nil
	}
	if !e.in.isCall() {
		return nil
	}
	if e.meta.Capabilities == nil {
		return bad(invalidParams, "Invalid params: _meta has no %s", capabilitiesKey)
	}
	e.can = *e.meta.Capabilities
	return e.checkHeaders(bad)
}

// accepts reports whether the client reads a media type.
func accepts(r *http.Request, want string) bool {
	for _, value := range r.Header.Values("Accept") {
		for one := range strings.SplitSeq(value, ",") {
			if got, _, err := mime.ParseMediaType(one); err == nil && (got == want || got == "*/*" || got == "text/*") {
				return true
			}
		}
	}
	return false
}

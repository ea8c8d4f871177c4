package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
)

// clientTool is something that clients of the protocol do for agents.
type clientTool struct {
	method, capability string
	params             string // what the parameters have in any case
}

// clientTools are long-running tools by their names. A call of one is a request to the
// client, with the arguments as parameters, and the result of the request is that of
// the tool.
var clientTools = map[string]clientTool{
	"mcp_create_message": {"sampling/createMessage", "sampling", `{"maxTokens":1000}`},
	"mcp_list_roots":     {"roots/list", "roots", `{}`},
}

// questionFor returns the question of an open call that clients of the protocol can
// answer; nil for any other call.
func questionFor(call *run.OpenCall) *face.Question {
	if q := face.QuestionIn(call); q != nil {
		return q
	}
	t, ok := clientTools[call.Name]
	if !ok {
		return nil
	}
	return &face.Question{ID: call.ID, Name: call.Name, Kind: face.Input, Message: "The agent asks for " + t.method + ".", Args: call.Args}
}

// has reports whether the client has a capability of the tools.
func (c *capabilities) has(capability string) bool {
	switch capability {
	case "sampling":
		return c.Sampling != nil
	case "roots":
		return c.Roots != nil
	}
	return false
}

// request returns a call of the tool as the client gets it.
func (t clientTool) request(q *face.Question) *inputRequest {
	params := map[string]json.RawMessage{}
	for _, doc := range []string{t.params, string(q.Args)} {
		_ = json.Unmarshal([]byte(doc), &params) // arguments are an object, or there are none
	}
	return &inputRequest{Method: t.method, Params: params}
}

// lacks returns the error of a client that cannot do what questions need; nil if it
// can. There is nothing else that the agent could continue with.
func (e *exchange) lacks(questions []*face.Question) *rpcError {
	for _, q := range questions {
		if t, ok := clientTools[q.Name]; ok && !e.can.has(t.capability) {
			return missing(t.capability, map[string]any{t.capability: struct{}{}})
		}
	}
	return nil
}

// missing returns the error of a client without a capability.
func missing(name string, required map[string]any) *rpcError {
	return &rpcError{
		status: http.StatusBadRequest, Code: missingCapability, Message: fmt.Sprintf("Missing required client capability: %s", name),
		Data: map[string]any{"requiredCapabilities": required},
	}
}

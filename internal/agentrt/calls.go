package agentrt

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
)

// The final responses to calls that have no result of their own.
const (
	// Interrupted is the response to a call whose outcome is unknown.
	Interrupted = `{"status":"interrupted","error_message":"The call was interrupted before it finished; it may or may not have taken effect."}`
	// Rejected is the response to a call that the user has refused.
	Rejected = `{"error":"This tool call is rejected."}`
	// Expired is the response to a call that was not answered in time.
	Expired = `{"status":"expired","error_message":"Nobody has answered in time: the call is over."}`
	// Cancelled is the response to a call whose run was cancelled while it waited.
	Cancelled = `{"status":"cancelled","error_message":"The call was cancelled before it was answered."}`
)

// Closed reports whether r is Interrupted, Rejected, Expired or Cancelled. It is the
// final response, also to the call of a long-running tool.
func Closed(r *event.FunctionResponse) bool {
	switch string(r.Response) {
	case Interrupted, Expired, Cancelled:
		return true
	}
	return IsRejected(r.Response)
}

// Unmade reports whether a response in ev only says that the call waits for the
// user, and that the tool will be called later.
func Unmade(ev *event.Event, r *event.FunctionResponse) bool {
	if ev.Author == event.User {
		return false
	}
	if s := SuspendedIn(&ev.Actions); s != nil && s.Names(r.ID) {
		return true
	}
	return ev.Actions.RequestedAuthConfigs[r.ID] != nil || ev.Actions.RequestedToolConfirmations[r.ID] != nil
}

// WaitingCall returns the id of the call that waits for the login which a call of
// tool.CredentialCall asks for; empty if the arguments do not have it.
func WaitingCall(call *event.FunctionCall) (id string) {
	if err := json.Unmarshal(call.Args, &struct {
		ID *string `json:"functionCallId"`
	}{&id}); err != nil {
		return ""
	}
	return id
}

// StateMember is the extra member of an event's actions that holds the state of
// agents: a Suspended, and the rounds of loops.
const StateMember = "agentState"

// Suspended is what an agent that is used as a tool, and waits for the user,
// needs to continue.
type Suspended struct {
	// Call is the call of the tool.
	Call string `json:"functionCallId"`
	// Others are more calls of tools, in a response to several that wait.
	Others []string `json:"otherFunctionCallIds,omitempty"`
	// Events are the agent's conversation, and State is what it has changed.
	Events []*event.Event             `json:"events,omitempty"`
	State  map[string]json.RawMessage `json:"state,omitempty"`
	// Changes are those of State that depend on the current value.
	Changes []event.StateChange `json:"stateChanges,omitempty"`
}

// SuspendedIn returns the Suspended of actions, nil if there is none. In the
// response to the call of the tool it only names the call.
func SuspendedIn(actions *event.Actions) *Suspended {
	doc := actions.Extra[StateMember]
	if doc == nil {
		return nil
	}
	s := &Suspended{}
	if json.Unmarshal(doc, s) != nil || s.Call == "" {
		return nil // a member of the same name that an author set
	}
	return s
}

// Names reports whether the call of a tool is one of those that wait.
func (s *Suspended) Names(call string) bool { return s.Call == call || slices.Contains(s.Others, call) }

// Apart reports whether two branches belong to different children of one
// parallel agent, so that neither has to wait for the other.
func Apart(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".") // parallel agent, child, parallel agent, …
	for i := 0; i+1 < min(len(x), len(y)); i += 2 {
		if x[i] != y[i] {
			return false
		}
		if x[i+1] != y[i+1] {
			return true
		}
	}
	return false
}

// Reject returns the response to a call that the user has refused for a reason, which
// may be empty.
func Reject(reason string) json.RawMessage {
	if reason == "" {
		return json.RawMessage(Rejected)
	}
	return append(wire.Quote([]byte(strings.TrimSuffix(Rejected, "}")+`,"reason":`), reason), '}')
}

// IsRejected reports whether a response is that to a call that the user has refused.
func IsRejected(response json.RawMessage) bool {
	rest, ok := bytes.CutPrefix(response, []byte(strings.TrimSuffix(Rejected, "}")))
	return ok && (string(rest) == "}" || bytes.HasPrefix(rest, []byte(`,"reason":`)))
}

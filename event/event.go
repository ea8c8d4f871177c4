// Package event defines the events of a session's log and the contents in them.
// Agents, models, tools and clients exchange them.
//
// Their JSON is the wire contract: written in camelCase, read in camelCase or
// snake_case, without nulls, and with arrays that are never null. Values that
// Parley does not interpret (arguments, results, state) keep the JSON text that
// they arrived as.
package event

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/parley-run/parley/internal/ident"
)

// User is the author of the events that a client sends.
const User = "user"

// Event is one entry of a session's log or, if Partial, a part of a text before
// its entry. An event that has been emitted must not be changed.
type Event struct {
	ID           string
	InvocationID string  // the run; shared by all its events
	Author       string  // User, or the name of an agent
	Timestamp    float64 // seconds since 1970 UTC
	Branch       string  // path of the parallel branch, empty outside of one
	Content      *Content
	Actions      Actions

	// LongRunningToolIDs has the ids of the calls in Content that are answered
	// later.
	LongRunningToolIDs []string

	Partial      bool // a part of a text; it is not stored
	TurnComplete bool // the model has ended its turn
	Interrupted  bool // the user has interrupted the model

	// ErrorCode and ErrorMessage describe a failure that is part of the
	// conversation, such as a refusal by the model.
	ErrorCode    string
	ErrorMessage string

	FinishReason   string
	ModelVersion   string
	Usage          *Usage
	CustomMetadata map[string]json.RawMessage

	// Extra holds members of the contract that Parley stores and sends without
	// reading them, by their names on the wire: avgLogprobs, cacheMetadata,
	// citationMetadata, groundingMetadata, inputTranscription, interactionId,
	// isolationScope, logprobsResult, nodeInfo, output, outputTranscription and
	// turnCompleteReason. Members of other names are dropped.
	Extra map[string]json.RawMessage
}

// Actions are the effects of an event besides its content.
type Actions struct {
	StateDelta                 map[string]json.RawMessage // null deletes the key
	StateChanges               []StateChange              // after StateDelta; empty in events that have been appended
	ArtifactDelta              map[string]int64           // name to version
	RequestedAuthConfigs       map[string]json.RawMessage // by function call id
	RequestedToolConfirmations map[string]json.RawMessage // by function call id
	TransferToAgent            string                     // the agent that continues
	RewindBeforeInvocationID   string                     // the run that is undone, with all after it
	SkipSummarization          bool                       // ends the turn: the model does not see the result
	Escalate                   bool                       // ends the loop that the agent is in
	EndOfAgent                 bool                       // the agent has completed

	// Extra is like Event.Extra, with agentState, compaction, renderUiWidgets,
	// route and setModelResponse.
	Extra map[string]json.RawMessage
}

// Merge adds the actions of other to a; if both set the same, other takes
// precedence.
func (a *Actions) Merge(other *Actions) {
	if other.Empty() { // the common case
		return
	}
	for key := range other.StateDelta {
		a.unchange(key)
	}
	a.StateDelta = mergeMap(a.StateDelta, other.StateDelta)
	a.StateChanges = append(slices.Clip(a.StateChanges), other.StateChanges...)
	a.ArtifactDelta = mergeMap(a.ArtifactDelta, other.ArtifactDelta)
	a.RequestedAuthConfigs = mergeMap(a.RequestedAuthConfigs, other.RequestedAuthConfigs)
	a.RequestedToolConfirmations = mergeMap(a.RequestedToolConfirmations, other.RequestedToolConfirmations)
	a.Extra = mergeMap(a.Extra, other.Extra)
	if other.TransferToAgent != "" {
		a.TransferToAgent = other.TransferToAgent
	}
	if other.RewindBeforeInvocationID != "" {
		a.RewindBeforeInvocationID = other.RewindBeforeInvocationID
	}
	a.SkipSummarization = a.SkipSummarization || other.SkipSummarization
	a.Escalate = a.Escalate || other.Escalate
	a.EndOfAgent = a.EndOfAgent || other.EndOfAgent
}

func mergeMap[V any](into, from map[string]V) map[string]V {
	if into == nil && len(from) > 0 {
		into = make(map[string]V, len(from))
	}
	maps.Copy(into, from)
	return into
}

// Empty reports whether there are no actions.
func (a *Actions) Empty() bool {
	return len(a.StateDelta) == 0 && len(a.StateChanges) == 0 && len(a.ArtifactDelta) == 0 && len(a.RequestedAuthConfigs) == 0 &&
		len(a.RequestedToolConfirmations) == 0 && len(a.Extra) == 0 && a.TransferToAgent == "" &&
		a.RewindBeforeInvocationID == "" && !a.SkipSummarization && !a.Escalate && !a.EndOfAgent
}

// Usage counts the tokens of one model call.
type Usage struct {
	Prompt        int64 // promptTokenCount
	Candidates    int64 // candidatesTokenCount
	Total         int64 // totalTokenCount
	CachedContent int64 // cachedContentTokenCount
	Thoughts      int64 // thoughtsTokenCount
	ToolUsePrompt int64 // toolUsePromptTokenCount

	// Extra is like Event.Extra, with cacheTokensDetails,
	// candidatesTokensDetails, promptTokensDetails, toolUsePromptTokensDetails
	// and trafficType.
	Extra map[string]json.RawMessage
}

// Add adds the tokens of another call. It does not change Extra. A sum that is too large
// is the largest number.
func (u *Usage) Add(other *Usage) {
	count(&u.Prompt, other.Prompt)
	count(&u.Candidates, other.Candidates)
	count(&u.Total, other.Total)
	count(&u.CachedContent, other.CachedContent)
	count(&u.Thoughts, other.Thoughts)
	count(&u.ToolUsePrompt, other.ToolUsePrompt)
}

func count(to *int64, n int64) {
	if n > 0 && *to > math.MaxInt64-n { // providers choose the numbers
		*to = math.MaxInt64
		return
	}
	*to += n
}

// FunctionCalls returns the calls in the event's content, in order.
func (e *Event) FunctionCalls() []*FunctionCall {
	if e.Content == nil {
		return nil
	}
	return e.Content.FunctionCalls()
}

// FunctionResponses returns the responses in the event's content, in order.
func (e *Event) FunctionResponses() []*FunctionResponse {
	if e.Content == nil {
		return nil
	}
	return e.Content.FunctionResponses()
}

// Final reports whether the agent that emitted the event has finished: the
// event is not partial, and has neither calls nor results that the model still
// has to read, such as the result of code at its end.
func (e *Event) Final() bool {
	if e.Actions.SkipSummarization || len(e.LongRunningToolIDs) > 0 {
		return true
	}
	if c := e.Content; c != nil && len(c.Parts) > 0 && c.Parts[len(c.Parts)-1].CodeExecutionResult != nil {
		return false
	}
	return !e.Partial && len(e.FunctionCalls()) == 0 && len(e.FunctionResponses()) == 0
}

// NewID returns a new identifier for an event: 16 characters, 80 random bits.
// It is unique, but not secret.
func NewID() string { return ident.Events(1) }

// Seconds returns t in the format of events: seconds since 1970 with a fraction.
func Seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

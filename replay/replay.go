// Package replay has the values with which runs are repeated: what was recorded of a
// run, which of its calls get recorded answers, and how the replay differs.
// Method Replay of parley.Server repeats a run.
package replay

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/parley-run/parley/session"
)

// ErrActive means that a run has not ended, so that it cannot be repeated.
var ErrActive = errors.New("the run has not ended yet")

// PlanError is a plan that cannot be carried out.
type PlanError struct{ Message string }

func (e *PlanError) Error() string { return e.Message }

// Plan says which calls of a replay get recorded answers. The zero value gives
// recorded answers to all of them.
type Plan struct {
	// LiveModels calls models, and LiveTools calls tools, instead of using the recorded
	// answers. If From is set, or Results without LiveModels, LiveTools applies only
	// from that call on.
	LiveModels bool `json:"liveModels,omitempty"`
	LiveTools  bool `json:"liveTools,omitempty"`
	// From is the number of the recorded call from which on models are asked even if
	// LiveModels is not set; 0 means none.
	From int `json:"from,omitempty"`
	// Live are the numbers of recorded calls, of models or tools, that are made whatever
	// the rest of the plan says.
	Live []int `json:"live,omitempty"`
	// Model is asked in place of those of the agents. It requires LiveModels, From,
	// Results, or a call of a model in Live.
	Model string `json:"model,omitempty"`
	// Instructions are given to models in place of those of the agents with these
	// names. They require the same.
	Instructions map[string]string `json:"instructions,omitempty"`
	// Temperature is asked of models in place of that of the agents. It requires the
	// same.
	Temperature *float64 `json:"temperature,omitempty"`
	// Results replace those of tools, by the numbers of their calls in the recording.
	// Models are asked from there on.
	Results map[int]json.RawMessage `json:"results,omitempty"`
}

// Makes reports whether a replay makes the recorded call with a number, instead of
// answering it with what was recorded. The number 0 stands for a call that the recording
// does not have, before the call from which on others are made.
func (p *Plan) Makes(number int, kind Kind) bool {
	if slices.Contains(p.Live, number) {
		return true
	}
	if _, replaced := p.Results[number]; replaced && kind == ToolCall {
		return false
	}
	on := p.From > 0 && number >= p.From
	for n := range p.Results {
		on = on || number > n
	}
	if kind == ModelCall {
		return p.LiveModels || on
	}
	return p.LiveTools && (on || p.From == 0 && (p.LiveModels || len(p.Results) == 0))
}

// Kind is the kind of a call.
type Kind string

// The kinds of calls.
const (
	ModelCall Kind = "model"
	ToolCall  Kind = "tool"
)

// Recording is what the models and tools of a run were asked and have answered.
type Recording struct {
	// Code identifies the code of the application, empty if it is unknown.
	Code string `json:"code,omitempty"`
	// Tools are those of the client, which are a part of its request.
	Tools []Declaration `json:"tools,omitempty"`
	// State is what the session shared with others when the run began.
	State session.State `json:"state,omitempty"`
	// Steps are in the order in which they ended.
	Steps []*Step `json:"steps"`
	// Truncated means that there were more steps than a recording holds.
	Truncated bool `json:"truncated,omitempty"`
	// FromLog means that the run was not recorded, and that this is what the log has:
	// no requests, and no calls of agents that are used as tools.
	FromLog bool `json:"fromLog,omitempty"`
}

// Declaration is a tool as it is declared to a model.
type Declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Step is one call of a model or of a tool.
type Step struct {
	Kind   Kind   `json:"kind"`
	Agent  string `json:"agent,omitempty"`
	Branch string `json:"branch,omitempty"`
	// Name is that of the model or of the tool.
	Name string `json:"name"`
	// Milliseconds is how long the call took.
	Milliseconds float64 `json:"ms"`
	// FirstMilliseconds is when the first piece of a model's answer came, after the
	// beginning of the call. It is 0 if the answer did not come in pieces, or was
	// recorded by an earlier version.
	FirstMilliseconds float64 `json:"firstMs,omitempty"`
	// Retries is how often the call of a model was repeated after a failure.
	Retries int `json:"retries,omitempty"`

	// Request is that to the model; nil if it is unknown.
	Request *Request `json:"request,omitempty"`
	// Call is the id of the call of the tool, and Args are its arguments.
	Call string          `json:"call,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`

	// Output is an event with the response of the model, or with the result of the
	// tool and its actions. It may be empty if there was an error.
	Output json.RawMessage `json:"output,omitempty"`
	// Error and ErrorCode are why there was no answer.
	Error     string `json:"error,omitempty"`
	ErrorCode string `json:"errorCode,omitempty"`
	// Cancelled means that the call ended without an answer because its run did, when it
	// was cancelled or took too long.
	Cancelled bool `json:"cancelled,omitempty"`
	// Pending means that a long-running tool gave no result yet.
	Pending bool `json:"pending,omitempty"`
}

// Request is a request to a model.
type Request struct {
	Instruction string          `json:"instruction,omitempty"`
	Tools       json.RawMessage `json:"tools,omitempty"`
	Config      json.RawMessage `json:"config,omitempty"`
	// Contents is the number of contents, and Added are the last of them: those that
	// the previous request of the agent in the run did not have. The others follow
	// from the log.
	Contents int               `json:"contents"`
	Added    []json.RawMessage `json:"added,omitempty"`
}

// Report says how a replay went.
type Report struct {
	// Session is the session with the replay, and Run the run that it repeats.
	Session string `json:"session"`
	Run     string `json:"run"`
	// Same means that there are no differences.
	Same bool `json:"same"`
	// Status and Failure are those of the replay.
	Status  session.Status   `json:"status"`
	Failure *session.Failure `json:"failure,omitempty"`
	// FromLog means that the run was not recorded, so that requests could not be
	// compared.
	FromLog bool `json:"fromLog,omitempty"`
	// CodeChanged means that the application's code is not that of the recording.
	CodeChanged bool `json:"codeChanged,omitempty"`
	// Calls are those of the replay. Unused are the numbers of recorded calls
	// that it did not make.
	Calls  []*Call `json:"calls"`
	Unused []int   `json:"unused,omitempty"`
	// Events are those of the run beside those of the replay.
	Events []Compared `json:"events"`
}

// Call is a call that a replay has made, or would have made.
type Call struct {
	Number int    `json:"number"`
	Kind   Kind   `json:"kind"`
	Agent  string `json:"agent,omitempty"`
	Branch string `json:"branch,omitempty"`
	Name   string `json:"name"`
	// Recorded is the number of the recorded call with the answer; 0 if there is none.
	Recorded int `json:"recorded,omitempty"`
	// Live means that the model or the tool was called.
	Live bool `json:"live,omitempty"`
	// Missing means that the call has no answer, since none was recorded and the plan
	// does not allow it.
	Missing bool `json:"missing,omitempty"`
	// Cancelled means that the run was cancelled during the call, and so was the
	// replay.
	Cancelled bool `json:"cancelled,omitempty"`
	// Replaced means that the plan has another result.
	Replaced bool `json:"replaced,omitempty"`
	// Milliseconds is how long a live call took.
	Milliseconds float64 `json:"ms,omitempty"`
	// Effect is what the tool of a live call declares to do outside: pure, idempotent,
	// once or ask.
	Effect string `json:"effect,omitempty"`
	// Repeats means that the run has made the call, too, and that the tool is not
	// declared as pure: what it does outside may have been done twice.
	Repeats bool `json:"repeats,omitempty"`
	// Differences are those of the request to the recorded one.
	Differences []Difference `json:"differences,omitempty"`
}

// Compared is an event of the run beside that of the replay.
type Compared struct {
	Author string `json:"author"`
	Branch string `json:"branch,omitempty"`
	// Recorded and Now are the ids of the events; empty if there is none.
	Recorded    string       `json:"recorded,omitempty"`
	Now         string       `json:"now,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is a part of a call or of an event that is not as it was.
type Difference struct {
	// Path is where it is, such as content.parts[0].text.
	Path string `json:"path"`
	// Recorded and Now are the values; absent if there is none.
	Recorded json.RawMessage `json:"recorded,omitempty"`
	Now      json.RawMessage `json:"now,omitempty"`
}

package playback

import (
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/replay"
)

// outside returns the step whose result the log has in the event at an index, and in
// others that it marks as used: an execution of code, or what an agent of another server
// has said; nil if it has none.
func outside(events []*event.Event, i int, used map[*event.Event]bool) *replay.Step {
	ev := events[i]
	if ev.Content != nil && len(ev.Content.Parts) == 1 && ev.Content.Parts[0].CodeExecutionResult != nil {
		return execution(events[:i], ev)
	}
	if !isRemote(ev) {
		return nil
	}
	result := []byte(`{"updates":[`)
	failure := ""
	for _, other := range events[i:] {
		if other.Author != ev.Author || other.Branch != ev.Branch || !isRemote(other) || taskOf(other) != taskOf(ev) && other.ErrorCode != agentrt.RemoteFailed {
			continue
		}
		used[other] = true
		if other.ErrorCode == agentrt.RemoteFailed {
			failure = strings.TrimPrefix(other.ErrorMessage, ev.Author+": ")
			break
		}
		said := *other
		said.ID, said.InvocationID, said.Timestamp = "", "", 0
		if result[len(result)-1] != '[' {
			result = append(result, ',')
		}
		result = append(append(append(result, `{"event":`...), encode(&said)...), '}')
		if other.TurnComplete {
			result = append(result[:len(result)-1], `,"last":true}`...)
		}
		if taskOf(ev) == "" {
			break // it was the whole answer
		}
	}
	result = append(member(append(result, ']'), "error", failure), '}')
	return &replay.Step{Kind: replay.ToolCall, Agent: ev.Author, Branch: ev.Branch, Name: agentrt.RemoteCall, Output: outputOf(&event.FunctionResponse{Name: agentrt.RemoteCall, Response: result}, &event.Actions{})}
}

func isRemote(ev *event.Event) bool {
	return ev.CustomMetadata[agentrt.RemoteConversation] != nil || ev.ErrorCode == agentrt.RemoteFailed
}

func taskOf(ev *event.Event) string { return string(ev.CustomMetadata[agentrt.RemoteTask]) }

// execution returns the step with the execution of code that has a result; before are
// the events before it.
func execution(before []*event.Event, ev *event.Event) *replay.Step {
	for _, said := range slices.Backward(before) {
		if said.Author != ev.Author || said.Branch != ev.Branch {
			continue
		}
		if said.Content == nil || len(said.Content.Parts) == 0 {
			return nil
		}
		code, done := said.Content.Parts[len(said.Content.Parts)-1].ExecutableCode, ev.Content.Parts[0].CodeExecutionResult
		if code == nil {
			return nil
		}
		args := append(wire.Quote(append(wire.Quote([]byte(`{"language":`), code.Language), `,"code":`...), code.Code), '}')
		result := append(wire.Quote(append(wire.Quote([]byte(`{"outcome":`), done.Outcome), `,"output":`...), done.Output), '}')
		return &replay.Step{
			Kind: replay.ToolCall, Agent: ev.Author, Branch: ev.Branch, Name: agentrt.CodeCall, Args: args,
			Output: outputOf(&event.FunctionResponse{Name: agentrt.CodeCall, Response: result}, &ev.Actions),
		}
	}
	return nil
}

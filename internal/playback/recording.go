// Package playback records what models and tools are asked and answer in runs, and
// repeats runs with these answers.
//
// A run meets what is outside of it at two edges: calls of models and calls of
// tools. A Recorder stands there while a run is executed, a Player while it is
// repeated. A replay is executed by an engine with a store of its own, from the
// log of the session before the run, and becomes a session of its own in the end: the
// original is only read.
package playback

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/replay"
)

// responseOf returns what the model answered.
func responseOf(s *replay.Step) (*model.Response, error) {
	if s.Error != "" {
		if s.ErrorCode != "" {
			return nil, &model.ResponseError{Code: s.ErrorCode, Message: s.Error}
		}
		return nil, fmt.Errorf("%s", s.Error)
	}
	ev := &event.Event{}
	if err := ev.UnmarshalJSON(s.Output); err != nil {
		return nil, fmt.Errorf("read a recorded response: %w", err)
	}
	return &model.Response{
		Content: ev.Content, ErrorCode: ev.ErrorCode, ErrorMessage: ev.ErrorMessage, FinishReason: ev.FinishReason,
		ModelVersion: ev.ModelVersion, Usage: ev.Usage, Interrupted: ev.Interrupted, CustomMetadata: ev.CustomMetadata, Extra: ev.Extra,
	}, nil
}

// resultOf returns what the tool answered, nil if the answer came later.
func resultOf(s *replay.Step) (json.RawMessage, *event.Actions, error) {
	ev := &event.Event{}
	if s.Output != nil {
		if err := ev.UnmarshalJSON(s.Output); err != nil {
			return nil, nil, fmt.Errorf("read a recorded result: %w", err)
		}
	}
	var result json.RawMessage
	for _, r := range ev.FunctionResponses() {
		result = r.Response
	}
	return result, &ev.Actions, nil
}

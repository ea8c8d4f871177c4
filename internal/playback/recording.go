// Package playback records what models and tools are asked and answer in runs, and
// repeats runs with these answers.
//
// A run meets what is outside of it at two edges: calls of models and calls of
// tools. A Recorder stands there while a run is executed, a Player while it is
// repeated. A repetition is executed by an engine with a store of its own, from the
// log of the session before the run, and becomes a session of its own in the end: the
// original is only read.
package playback

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
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

// parse joins the recordings of a run, one for each process that worked on it.
func parse(list []*session.Recording) (*replay.Recording, error) {
	all := &replay.Recording{}
	for _, one := range list {
		var r replay.Recording
		if err := json.Unmarshal(one.JSON, &r); err != nil {
			return nil, fmt.Errorf("read the recording of the run %s: %w", one.Run, err)
		}
		all.Code, all.Tools = r.Code, r.Tools
		if all.State == nil {
			all.State = r.State // when the first process began
		}
		all.Steps, all.Truncated = append(all.Steps, r.Steps...), all.Truncated || r.Truncated
	}
	return all, nil
}

// encodeStep appends the step in JSON. The parts of it are valid JSON, which
// encoding/json would check and copy once more (BenchmarkRecord).
func encodeStep(doc []byte, s *replay.Step) []byte {
	doc = wire.Quote(append(doc, `{"kind":`...), string(s.Kind))
	member := func(name, value string) {
		if value != "" {
			doc = wire.Quote(append(append(append(doc, `,"`...), name...), `":`...), value)
		}
	}
	raw := func(name string, value json.RawMessage) {
		if len(value) > 0 {
			doc = append(append(append(append(doc, `,"`...), name...), `":`...), value...)
		}
	}
	member("agent", s.Agent)
	member("branch", s.Branch)
	doc = wire.Quote(append(doc, `,"name":`...), s.Name)
	doc = strconv.AppendFloat(append(doc, `,"ms":`...), s.Milliseconds, 'f', -1, 64)
	if r := s.Request; r != nil {
		doc = strconv.AppendInt(append(doc, `,"request":{"contents":`...), int64(r.Contents), 10)
		member("instruction", r.Instruction)
		raw("tools", r.Tools)
		raw("config", r.Config)
		if len(r.Added) > 0 {
			doc = append(doc, `,"added":[`...)
			for i, c := range r.Added {
				if i > 0 {
					doc = append(doc, ',')
				}
				doc = append(doc, c...)
			}
			doc = append(doc, ']')
		}
		doc = append(doc, '}')
	}
	member("call", s.Call)
	raw("args", s.Args)
	raw("output", s.Output)
	member("error", s.Error)
	member("errorCode", s.ErrorCode)
	if s.Pending {
		doc = append(doc, `,"pending":true`...)
	}
	return append(doc, '}')
}

package playback

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// stored is a recording as it is stored. What the log has is the id of an event there,
// what an earlier step has is the number of that step, and what other recordings of the
// session also have is a part; recordings of earlier versions have everything in full.
type stored struct {
	replay.Recording

	Steps []*storedStep `json:"steps"`
}

// storedStep has a kind only in recordings of earlier versions: calls of models have a
// request.
type storedStep struct {
	replay.Step

	Request *storedRequest `json:"request"`
	// Event is the event with the answer.
	Event string `json:"event"`
	// From are the numbers of the step whose answer asked for the call of a tool, and of
	// the call in that answer. The step then has neither agent, name nor id of the call,
	// and arguments only if they are others.
	From []int `json:"from"`
}

type storedRequest struct {
	// A content of Added may be the id of the event that has it, the number of the step
	// with that event, or 0 for the message.
	replay.Request

	// As is the number of the step of the same agent and model with the same instruction,
	// tools and settings. The step then has neither agent nor name.
	As int `json:"as"`
	// Parts are the numbers of the parts that have them.
	Parts []int `json:"parts"`

	// from are the events that Added is made of, if they are known; nil where they are not.
	from []*event.Event
}

// read decodes a recording with its parts.
func read(one *session.Recording) (*stored, error) {
	r := &stored{}
	if err := json.Unmarshal(one.JSON, r); err != nil {
		return nil, err
	}
	for _, s := range r.Steps {
		if s.Request == nil {
			s.Kind = cmp.Or(s.Kind, replay.ToolCall)
			continue
		}
		s.Kind = cmp.Or(s.Kind, replay.ModelCall)
		for _, n := range s.Request.Parts {
			if n < 1 || n > len(one.Parts) {
				return nil, errPart
			}
			if err := json.Unmarshal(one.Parts[n-1].JSON, &s.Request.Request); err != nil {
				return nil, fmt.Errorf("%w: %w", errPart, err)
			}
		}
	}
	return r, nil
}

// errPart means that the store does not have a part of a recording.
var errPart = errors.New("the store does not have a part of the recording")

// errReference means that a recording refers to an event that is not in the log.
var errReference = errors.New("the log does not have an event of the recording")

// parse joins the recordings of a run, one for each process that worked on it.
func parse(list []*session.Recording, of *original) (*replay.Recording, error) {
	all := &replay.Recording{Steps: []*replay.Step{}}
	events := references{of: of}
	for n, one := range list {
		r, err := read(one)
		if err != nil {
			return nil, fmt.Errorf("read the recording of the run %s: %w", one.Run, err)
		}
		all.Code, all.Tools = r.Code, r.Tools
		if all.State == nil {
			all.State = r.State // when the first process began
		}
		all.Truncated = all.Truncated || r.Truncated
		for i, s := range r.Steps {
			switch err := events.resolve(r.Steps[:i], s); {
			case err == nil:
				all.Steps = append(all.Steps, &s.Step)
			case n == len(list)-1:
				return nil, fmt.Errorf("read the recording of the run %s: %w", one.Run, err)
			} // an answer that was not stored before another process took over was asked for again
		}
	}
	return all, nil
}

// references finds the events that a recording refers to.
type references struct {
	of   *original
	byID map[string]*event.Event
	all  bool // also those before the run
}

// event returns the event with an id. Most are of the run.
func (r *references) event(id string) (*event.Event, error) {
	if r.byID == nil {
		r.byID = map[string]*event.Event{r.of.message.ID: r.of.message}
		for _, ev := range r.of.events {
			r.byID[ev.ID] = ev
		}
	}
	if ev := r.byID[id]; ev != nil {
		return ev, nil
	}
	if !r.all {
		r.all = true
		for _, entry := range r.of.before {
			if ev, err := entry.Decode(); err == nil {
				r.byID[ev.ID] = ev
			}
		}
	}
	if ev := r.byID[id]; ev != nil {
		return ev, nil
	}
	return nil, errReference
}

// resolve replaces what a step refers to; before are those before it.
func (r *references) resolve(before []*storedStep, s *storedStep) error {
	if s.Request != nil {
		if err := r.request(before, s); err != nil {
			return err
		}
		s.Step.Request = &s.Request.Request
	}
	if len(s.From) > 0 {
		if err := r.call(before, s); err != nil {
			return err
		}
	}
	if s.Event == "" {
		return nil
	}
	ev, err := r.event(s.Event)
	if err != nil {
		return err
	}
	if s.Kind == replay.ModelCall {
		s.Output = encode(&event.Event{
			Content: ev.Content, ErrorCode: ev.ErrorCode, ErrorMessage: ev.ErrorMessage, FinishReason: ev.FinishReason,
			ModelVersion: ev.ModelVersion, Usage: ev.Usage, Interrupted: ev.Interrupted,
		})
		return nil
	}
	for _, answer := range ev.FunctionResponses() {
		if answer.ID == s.Call {
			s.Output = outputOf(&event.FunctionResponse{Name: answer.Name, Response: answer.Response}, &event.Actions{})
			return nil
		}
	}
	return errReference
}

// call sets which tool was called.
func (r *references) call(before []*storedStep, s *storedStep) error {
	if len(s.From) != 2 || s.From[0] < 1 || s.From[0] > len(before) {
		return errReference
	}
	by := before[s.From[0]-1]
	ev, err := r.event(by.Event)
	if err != nil {
		return err
	}
	calls, n := ev.FunctionCalls(), s.From[1]
	if n < 1 || n > len(calls) {
		return errReference
	}
	call := calls[n-1]
	s.Agent, s.Name, s.Call = by.Agent, call.Name, call.ID
	if len(s.Args) == 0 {
		s.Args = call.Args
	}
	return nil
}

func (r *references) request(before []*storedStep, s *storedStep) error {
	req := s.Request
	if req.As > 0 {
		if req.As > len(before) || before[req.As-1].Request == nil {
			return errReference
		}
		step := before[req.As-1]
		same := step.Request
		req.Instruction, req.Tools, req.Config = same.Instruction, same.Tools, same.Config
		if s.Name == "" {
			s.Agent, s.Name = step.Agent, step.Name
		}
	}
	req.from = make([]*event.Event, len(req.Added))
	for i, c := range req.Added {
		if len(c) == 0 || c[0] == '{' {
			continue
		}
		var id string
		if n, err := strconv.Atoi(string(c)); err == nil && n == 0 {
			id = r.of.message.ID
		} else if err == nil && n > 0 && n <= len(before) {
			id = before[n-1].Event
		} else if err := json.Unmarshal(c, &id); err != nil {
			return err
		}
		ev, err := r.event(id)
		if err != nil {
			return err
		}
		if ev.Content == nil {
			return errReference
		}
		req.from[i] = ev
		if req.Added[i], err = ev.Content.MarshalJSON(); err != nil {
			return err
		}
	}
	return nil
}

package a2a

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/a2apart"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/tool"
)

// reader translates what the other server says about one task.
type reader struct {
	id, conversation string
	artifacts        []*artifact     // that have not ended, in the order of their latest change
	calls            map[string]bool // that are in artifacts
	size             int             // of the pieces of artifacts so far, in bytes
}

// maxAnswer bounds the pieces of one task, as one response of a model is bounded.
const maxAnswer = bounded.ModelResponse

// artifact is a part of the answer that is being made.
type artifact struct {
	id          string
	parts       []*event.Part
	text        []byte // of the last part, if it is a text; see whole
	longRunning []string
}

func (r *reader) read(ev a2a.Event) ([]*agent.RemoteUpdate, error) {
	switch ev := ev.(type) {
	case *a2a.Message:
		r.conversation = ev.ContextID
		said, err := r.event(ev.Parts)
		if err != nil {
			return nil, err
		}
		return []*agent.RemoteUpdate{r.update(agent.RemoteUpdate{Event: said, ID: "message/" + ev.ID, Ended: true})}, nil
	case *a2a.Task:
		return r.task(ev), nil
	case *a2a.TaskArtifactUpdateEvent:
		r.id, r.conversation = string(ev.TaskID), ev.ContextID
		return r.change(ev)
	case *a2a.TaskStatusUpdateEvent:
		r.id, r.conversation = string(ev.TaskID), ev.ContextID
		return r.status(&ev.Status), nil
	}
	return nil, fmt.Errorf("the server sent %T, which is not known", ev)
}

func (r *reader) update(u agent.RemoteUpdate) *agent.RemoteUpdate {
	u.Task, u.Conversation = r.id, r.conversation
	return &u
}

// event returns what parts say, nil if they say nothing.
func (r *reader) event(parts a2a.ContentParts) (*event.Event, error) {
	list, longRunning, err := a2apart.Decode(parts)
	if err != nil {
		return nil, fmt.Errorf("the server sent content that cannot be read: %w", err)
	}
	return speak(list, longRunning), nil
}

func speak(parts []*event.Part, longRunning []string) *event.Event {
	var list []*event.Part
	for _, p := range parts {
		call := p.FunctionCall
		if call == nil || !tool.IsCredentialCall(call.Name) {
			list = append(list, p)
			continue
		}
		// The user logs in at the other server, whose task then continues by itself.
		longRunning = slices.DeleteFunc(slices.Clone(longRunning), func(id string) bool { return id == call.ID })
		address := loginAddress(call)
		if !slices.ContainsFunc(parts, func(p *event.Part) bool { return p.IsText() && strings.Contains(p.Text, address) }) {
			list = append(list, &event.Part{Text: strings.TrimSpace("The agent needs you to log in at its server. " + address)})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &event.Event{Content: &event.Content{Role: event.RoleModel, Parts: list}, LongRunningToolIDs: longRunning}
}

// loginAddress returns where the user can log in, if the call says so.
func loginAddress(call *event.FunctionCall) string {
	cfg, err := tool.AskedConfig(call)
	if err != nil || cfg == nil || cfg.Exchanged == nil || cfg.Exchanged.OAuth2 == nil {
		return ""
	}
	return cfg.Exchanged.OAuth2.AuthURI
}

// task reads the task as a whole. What it has said replaces what is known of it.
func (r *reader) task(t *a2a.Task) []*agent.RemoteUpdate {
	r.id, r.conversation = string(t.ID), t.ContextID
	r.artifacts = nil
	for _, one := range t.Artifacts {
		if one == nil {
			continue
		}
		if list, longRunning, err := a2apart.Decode(one.Parts); err == nil {
			a := &artifact{id: string(one.ID), longRunning: longRunning}
			a.append(list...)
			r.artifacts = append(r.artifacts, a)
			r.note(list)
		}
	}
	return r.status(&t.Status)
}

func (r *reader) note(parts []*event.Part) {
	for _, p := range parts {
		if p.FunctionCall != nil {
			if r.calls == nil {
				r.calls = map[string]bool{}
			}
			r.calls[p.FunctionCall.ID] = true
		}
	}
}

// change reads a piece of an artifact.
func (r *reader) change(ev *a2a.TaskArtifactUpdateEvent) ([]*agent.RemoteUpdate, error) {
	if ev.Artifact == nil {
		return nil, nil
	}
	parts, longRunning, err := a2apart.Decode(ev.Artifact.Parts)
	if err != nil {
		return nil, fmt.Errorf("the server sent content that cannot be read: %w", err)
	}
	for _, p := range parts {
		r.size += sizeOf(p)
	}
	if r.size > maxAnswer {
		return nil, fmt.Errorf("the server sent more than %d bytes for one task", maxAnswer)
	}
	id := string(ev.Artifact.ID)
	var updates []*agent.RemoteUpdate
	if said := speak(parts, nil); said != nil && (!ev.LastChunk || ev.Append) {
		said.Partial = true
		updates = append(updates, r.update(agent.RemoteUpdate{Event: said, ID: "piece of " + id}))
	}
	if partial, _ := ev.Metadata["adk_partial"].(bool); partial {
		return updates, nil // the whole follows
	}
	at := slices.IndexFunc(r.artifacts, func(a *artifact) bool { return a.id == id })
	a := &artifact{id: id}
	if at >= 0 {
		if ev.Append {
			a = r.artifacts[at]
		}
		r.artifacts = slices.Delete(r.artifacts, at, at+1)
	}
	a.append(parts...)
	a.longRunning = append(a.longRunning, longRunning...)
	r.artifacts = append(r.artifacts, a)
	r.note(parts)
	if ev.LastChunk {
		r.artifacts = r.artifacts[:len(r.artifacts)-1]
		updates = append(updates, r.whole(a)...)
	}
	return updates, nil
}

// append adds parts. A text continues the one before it, also if the pieces are
// sent again as a whole.
func (a *artifact) append(parts ...*event.Part) {
	for _, p := range parts {
		if n := len(a.parts); a.text != nil && p.IsText() && p.Thought == a.parts[n-1].Thought {
			a.text = append(a.text, p.Text...)
			continue
		}
		a.join()
		a.parts, a.text = append(a.parts, p), nil
		if p.IsText() {
			a.text = []byte(p.Text)
		}
	}
}

// join gives the last part its text.
func (a *artifact) join() {
	if n := len(a.parts); a.text != nil {
		a.parts[n-1] = &event.Part{Text: string(a.text), Thought: a.parts[n-1].Thought}
	}
}

func sizeOf(p *event.Part) int {
	n := 100 + len(p.Text) // of the part itself
	if p.InlineData != nil {
		n += len(p.InlineData.Data)
	}
	if p.FunctionCall != nil {
		n += len(p.FunctionCall.Args)
	}
	if p.FunctionResponse != nil {
		n += len(p.FunctionResponse.Response)
	}
	return n
}

func (r *reader) whole(a *artifact) []*agent.RemoteUpdate {
	a.join()
	said := speak(a.parts, a.longRunning)
	if said == nil {
		return nil
	}
	return []*agent.RemoteUpdate{r.update(agent.RemoteUpdate{Event: said, ID: "artifact/" + a.id})}
}

// status reads the status of the task.
func (r *reader) status(s *a2a.TaskStatus) []*agent.RemoteUpdate {
	var updates []*agent.RemoteUpdate
	last := agent.RemoteUpdate{ID: "status/" + string(s.State)}
	var longRunning []string
	var parts []*event.Part
	if s.Message != nil {
		last.ID += "/" + s.Message.ID
		list, waits, err := a2apart.Decode(s.Message.Parts)
		if err == nil {
			longRunning = waits
			for _, p := range list {
				if p.FunctionCall == nil || !r.calls[p.FunctionCall.ID] {
					parts = append(parts, p)
				}
			}
		}
	}
	last.Event = speak(parts, longRunning)
	switch {
	case s.State == a2a.TaskStateInputRequired:
		last.Input, last.Ended = true, true
		if last.Event == nil {
			last.Event = &event.Event{} // it carries that the task waits
		}
	case s.State == a2a.TaskStateAuthRequired:
		if last.Event == nil {
			last.Event = speak([]*event.Part{{Text: "The agent needs you to log in at its server."}}, nil)
		}
		last.Event.LongRunningToolIDs = nil // the task continues by itself
	case s.State == a2a.TaskStateCompleted:
		last.Ended = true
	case s.State.Terminal():
		message := "The task of the agent ended as " + s.State.String() + "."
		if last.Event != nil {
			message = cmp.Or(last.Event.Content.Text(), message)
		}
		last.Event, last.Ended = &event.Event{ErrorCode: errorCodes[s.State], ErrorMessage: message}, true
	default:
		if last.Event != nil {
			last.Event.Partial = true // a remark, which is not part of the answer
		}
	}
	if last.Ended {
		for _, a := range r.artifacts {
			updates = append(updates, r.whole(a)...)
		}
		r.artifacts = nil
	}
	return append(updates, r.update(last))
}

var errorCodes = map[a2a.TaskState]string{
	a2a.TaskStateFailed: "TASK_FAILED", a2a.TaskStateCanceled: "TASK_CANCELED", a2a.TaskStateRejected: "TASK_REJECTED",
}

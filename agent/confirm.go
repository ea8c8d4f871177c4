package agent

import (
	"encoding/json"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// isReserved reports whether only the server asks users with a call of that
// name. A tool cannot have such a name.
func isReserved(name string) bool {
	return name == tool.ConfirmationCall || tool.IsCredentialCall(name)
}

// askConfirmations emits an event that asks about every call which is to be
// confirmed, except those that have been asked about already.
func (c *Context) askConfirmations(calls []*event.FunctionCall, actions *event.Actions, asked []*event.Event, emit Emit) error {
	done := map[string]bool{}
	for _, ev := range asked {
		for _, call := range ev.FunctionCalls() {
			if call.Name == tool.ConfirmationCall {
				done[askedAbout(call)] = true
			}
		}
	}
	ask := &event.Event{Content: &event.Content{Role: event.RoleModel}}
	for _, call := range calls {
		question := actions.RequestedToolConfirmations[call.ID]
		if question == nil || done[call.ID] {
			continue
		}
		id := newCallID()
		ask.LongRunningToolIDs = append(ask.LongRunningToolIDs, id)
		ask.Content.Parts = append(ask.Content.Parts, &event.Part{FunctionCall: &event.FunctionCall{
			ID: id, Name: tool.ConfirmationCall, Args: confirmationArgs(call, question),
		}})
	}
	if len(ask.Content.Parts) == 0 {
		return nil
	}
	return emit(ask)
}

func confirmationArgs(call *event.FunctionCall, question json.RawMessage) json.RawMessage {
	args := call.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	out := wire.Quote([]byte(`{"originalFunctionCall":{"id":`), call.ID)
	out = wire.Quote(append(out, `,"name":`...), call.Name)
	out = append(append(out, `,"args":`...), args...)
	out = append(append(out, `},"toolConfirmation":`...), question...)
	return append(out, '}')
}

// question is what a call of tool.ConfirmationCall asks.
type question struct {
	Original struct {
		ID string `json:"id"`
	} `json:"originalFunctionCall"`
	Confirmation struct {
		Hint    string          `json:"hint"`
		Payload json.RawMessage `json:"payload"`
	} `json:"toolConfirmation"`
}

func questionOf(request *event.FunctionCall) (q question) {
	_ = json.Unmarshal(request.Args, &q) // the server wrote it
	return q
}

// askedAbout is the id of the call that a request is about.
func askedAbout(request *event.FunctionCall) string { return questionOf(request).Original.ID }

// decision is what the user said to a request.
func decision(request *event.FunctionCall, answer *event.FunctionResponse) *tool.Confirmation {
	var said struct {
		Confirmed bool            `json:"confirmed"`
		Payload   json.RawMessage `json:"payload"`
		Args      json.RawMessage `json:"editedArgs"`
		Reason    string          `json:"reason"`
	}
	_ = json.Unmarshal(answer.Response, &said) // checked when it came; what says nothing does not approve
	q := questionOf(request)
	given := &tool.Confirmation{Hint: q.Confirmation.Hint, Confirmed: said.Confirmed, Payload: said.Payload, Args: said.Args, Reason: said.Reason}
	if len(given.Payload) == 0 {
		given.Payload = q.Confirmation.Payload
	}
	return given
}

// editedMember is the member of a result with the arguments of a call that the user
// has changed. The call in the log has those of the model, so without it neither the
// model nor a reader would know what the result is of.
const editedMember = "editedArgs"

// withEdits adds the arguments that the user has changed to the result of their call.
func withEdits(result, args json.RawMessage) json.RawMessage {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(result, &members) // results are objects
	members[editedMember] = args
	doc, err := json.Marshal(members)
	if err != nil {
		return result // not of members that were read from JSON
	}
	return doc
}

// withoutEdits returns the result that the tool itself has returned.
func withoutEdits(result json.RawMessage) json.RawMessage {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(result, &members) // as above
	delete(members, editedMember)
	doc, err := json.Marshal(members)
	if err != nil {
		return result // as above
	}
	return doc
}

// again are the calls of this agent that waited for what the user has just
// answered, as an event that makes them, and what was decided about them. The
// event is nil if there are none.
func (c *Context) again(lifts map[string]*lifted) (*event.Event, map[string]*tool.Confirmation) {
	decided := map[string]*tool.Confirmation{}
	out := c.waited()
	if out != nil {
		for _, call := range out.FunctionCalls() {
			decided[call.ID] = c.decided(call.ID) // before the login
		}
	}
	for _, r := range c.inv.UserContent.FunctionResponses() {
		request, at := c.made(r.ID, c.inv.Log.Len())
		if request == nil {
			continue // another agent's
		}
		var id string
		if l := liftedIn(c.inv.Log.At(at)); l != nil {
			if id = l.Call; lifts[id].answers[0].FunctionResponse != r {
				continue // one call takes all answers
			}
			decided[id] = c.decided(id)
		} else if r.Name == tool.ConfirmationCall {
			id = askedAbout(request)
			decided[id] = decision(request, r)
		}
		if _, at = c.made(id, at); id == "" || at < 0 {
			continue
		}
		said := callsAmong(c.inv.Log.At(at), map[string]bool{id: true})
		if d := decided[id]; d != nil && d.Confirmed && len(said.Content.Parts) > 1 {
			// Calls of old sessions may share an id. Which of them the user meant
			// cannot be told.
			d.Confirmed = false
		}
		if out == nil {
			out = said
			continue
		}
		out.Content.Parts = append(out.Content.Parts, said.Content.Parts...)
		out.LongRunningToolIDs = append(out.LongRunningToolIDs, said.LongRunningToolIDs...)
	}
	return out, decided
}

// made is the latest call with an id that this agent made before a place in the
// log, and the place. Models that number their calls use a number again.
func (c *Context) made(id string, before int) (*event.FunctionCall, int) {
	if !hasCall(c.inv.Log, id) {
		return nil, -1
	}
	for i := before - 1; i >= 0; i-- {
		ev := c.inv.Log.At(i)
		if !c.mine(ev) {
			continue
		}
		for _, call := range ev.FunctionCalls() {
			if call.ID == id {
				return call, i
			}
		}
	}
	return nil, -1
}

// decided is what the user has said about a call since it was made, nil if
// nothing.
func (c *Context) decided(id string) *tool.Confirmation {
	_, at := c.made(id, c.inv.Log.Len())
	answers := map[string]*event.FunctionResponse{}
	for i := c.inv.Log.Len() - 1; i > at; i-- {
		ev := c.inv.Log.At(i)
		for _, r := range ev.FunctionResponses() {
			if ev.Author == event.User && r.Name == tool.ConfirmationCall {
				answers[r.ID] = r
			}
		}
		if !c.mine(ev) { // in old sessions, calls of other agents may have the same id
			continue
		}
		for _, request := range ev.FunctionCalls() {
			if request.Name == tool.ConfirmationCall && askedAbout(request) == id && answers[request.ID] != nil {
				return decision(request, answers[request.ID])
			}
		}
	}
	return nil
}

// ownQuestions leaves of the questions in actions only that about the call
// itself: the others would never be asked about.
func ownQuestions(actions *event.Actions, id string) {
	own := actions.RequestedToolConfirmations[id]
	actions.RequestedToolConfirmations = nil
	if own != nil {
		actions.RequestedToolConfirmations = map[string]json.RawMessage{id: own}
	}
}

// awaits reports whether an answer of the agent's leaves the user something to
// decide.
func awaits(answer *event.Event) bool {
	return len(answer.Actions.RequestedAuthConfigs) > 0 || len(answer.Actions.RequestedToolConfirmations) > 0 || liftedIn(answer) != nil
}

// asks reports whether ev asks the user to log in or to confirm something, or
// asks for an agent that is used as a tool.
func asks(ev *event.Event) bool {
	if liftedIn(ev) != nil && len(ev.FunctionResponses()) == 0 {
		return true
	}
	return slices.ContainsFunc(ev.FunctionCalls(), func(c *event.FunctionCall) bool { return isReserved(c.Name) })
}

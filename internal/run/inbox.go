package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// ErrNotAllowed means that the caller may not answer a call.
var ErrNotAllowed = errors.New("you may not answer this function call")

// AnswerMetadata is the custom metadata of a message that the inbox has sent: who has
// answered. Clients cannot set it.
const AnswerMetadata = "parley:answer"

// Answerer is the value of AnswerMetadata.
type Answerer struct {
	// By is the caller, empty if it is not known.
	By string `json:"by,omitempty"`
	// Via is how the answer came: "inbox", "link" or "default".
	Via string `json:"via"`
}

// Ask is a call that waits for an answer from outside.
type Ask struct {
	Key  session.Key
	Call *event.FunctionCall
	// Run is the run that made the call, and Agent the agent.
	Run, Agent string
	// Tool is the tool that waits for the answer: for a confirmation, the one that is to
	// be confirmed. It is the name of the call if there is no other one.
	Tool string
	// Title is that of the session; it may be empty.
	Title string
	Since time.Time
	// Until is when the wait expires unless something happens in it; zero means never.
	Until time.Time
}

// Answered is the final answer to a call.
type Answered struct {
	Tool string // as in Ask
	At   time.Time
	// Answerer is the zero value if the answer did not come from the inbox.
	Answerer
}

// Asks returns the calls of a run that wait for an answer, in their order. It reads the
// log from the beginning of the run.
func (e *Engine) Asks(ctx context.Context, row *session.Run) ([]*Ask, error) {
	s, err := e.cfg.Store.Get(ctx, row.Key, session.Read{After: max(row.First-1, 0)})
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError("read the session", err)
	}
	l := newLog(s)
	var found []*Ask
	for _, w := range waitsIn(l).all {
		if e.tooOld(w.latest) {
			continue
		}
		for _, open := range w.open {
			ev, err := waitingCall(l, &event.FunctionResponse{ID: open.id, Name: open.name})
			if err != nil || ev.InvocationID != row.ID {
				continue // it is made when another one is answered, or is that of another run
			}
			found = append(found, e.ask(s, l, w, ev, open.id))
		}
	}
	return found, nil
}

// AskOf returns a call of a session that waits for an answer. It fails with
// ErrUnknownCall, ErrExpired, session.ErrNotFound, or ErrAnswered: then answered says
// when and by whom, as far as that is known.
func (e *Engine) AskOf(ctx context.Context, key session.Key, id string) (ask *Ask, answered *Answered, err error) {
	s, err := e.cfg.Store.Get(ctx, key, session.Read{})
	if err != nil {
		return nil, nil, storeError("read the session", err)
	}
	l := newLog(s)
	call := callIn(l, id)
	if call == nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrUnknownCall, id)
	}
	ev, err := waitingCall(l, &event.FunctionResponse{ID: id, Name: call.Name})
	if errors.Is(err, ErrAnswered) {
		return nil, answerTo(l, id), err
	}
	if err != nil {
		return nil, nil, err
	}
	w := waitsIn(l).of[ev.InvocationID]
	if w == nil || e.tooOld(w.latest) {
		return nil, nil, expired(id)
	}
	return e.ask(s, l, w, ev, id), nil, nil
}

// ask describes a call that an event makes.
func (e *Engine) ask(s *session.Session, l *log, w *wait, ev *event.Event, id string) *Ask {
	calls := ev.FunctionCalls()
	call := calls[slices.IndexFunc(calls, func(c *event.FunctionCall) bool { return c.ID == id })]
	a := &Ask{
		Key: s.Key, Call: call, Run: ev.InvocationID, Agent: ev.Author, Tool: toolOf(l, call), Title: session.MetadataOf(s.State).Title,
		Since: moment(ev.Timestamp),
	}
	if e.cfg.WaitTTL > 0 {
		a.Until = moment(w.latest).Add(e.cfg.WaitTTL)
	}
	return a
}

// moment is the inverse of event.Seconds.
func moment(seconds float64) time.Time { return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC() }

// callIn returns the last call of a log with an id; nil if there is none.
func callIn(l *log, id string) *event.FunctionCall {
	for i := l.Len() - 1; i >= 0; i-- {
		for _, call := range l.At(i).FunctionCalls() {
			if call.ID == id {
				return call
			}
		}
	}
	return nil
}

// toolOf returns the name of the tool that waits for the answer to a call.
func toolOf(l *log, call *event.FunctionCall) string {
	id := ""
	switch {
	case call.Name == tool.ConfirmationCall:
		var args struct {
			Original struct{ ID, Name string } `json:"originalFunctionCall"`
		}
		if json.Unmarshal(call.Args, &args) == nil && args.Original.Name != "" {
			return args.Original.Name
		}
	case tool.IsCredentialCall(call.Name):
		id = agentrt.WaitingCall(call)
	}
	if id != "" {
		if waits := callIn(l, id); waits != nil {
			return waits.Name
		}
	}
	return call.Name
}

// answerTo returns the final answer to a call; nil if there is none.
func answerTo(l *log, id string) *Answered {
	for i := l.Len() - 1; i >= 0; i-- {
		ev := l.At(i)
		for _, r := range ev.FunctionResponses() {
			if r.ID != id || !isFinal(ev, r) {
				continue
			}
			a := &Answered{Tool: r.Name, At: moment(ev.Timestamp)}
			if call := callIn(l, id); call != nil {
				a.Tool = toolOf(l, call)
			}
			_ = json.Unmarshal(ev.CustomMetadata[AnswerMetadata], &a.Answerer) // the server wrote it
			return a
		}
	}
	return nil
}

// checkAnswerer refuses answers that the caller may not give. A call that is not known
// yet is checked by its name: the run may be queued, and the call may be made before it
// begins.
func (a *admission) checkAnswerer(ctx context.Context) error {
	may, responses := a.engine.cfg.MayAnswer, a.req.Message.FunctionResponses()
	if may == nil || len(responses) == 0 {
		return nil
	}
	l, err := a.log(ctx)
	if err != nil {
		return err
	}
	for _, r := range responses {
		if tool.IsCredentialCall(r.Name) {
			continue // the login is that of the user, not of those whom rules name
		}
		name := r.Name
		if call := callIn(l, r.ID); call != nil {
			name = toolOf(l, call)
		}
		if err := may(ctx, a.req.Key, name); err != nil {
			return fmt.Errorf("%w: %s", err, r.ID)
		}
	}
	return nil
}

// checkMetadata refuses what only the inbox sets.
func checkMetadata(r *Request) error {
	if _, ok := r.CustomMetadata[AnswerMetadata]; !ok {
		return nil
	}
	return &wire.Error{Type: "value_error", Path: []any{"customMetadata", AnswerMetadata}, Msg: "is set by the server"}
}

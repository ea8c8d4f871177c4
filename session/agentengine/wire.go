package agentengine

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"math"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// remote is a session of the service.
type remote struct {
	Name         string        `json:"name,omitempty"`
	CreateTime   time.Time     `json:"createTime,omitzero"`
	UpdateTime   time.Time     `json:"updateTime,omitzero"`
	DisplayName  string        `json:"displayName,omitempty"`
	SessionState session.State `json:"sessionState,omitempty"`
	UserID       string        `json:"userId"`
}

func (r *remote) id() string { return path.Base(r.Name) }

// markKey is the state key under which this package records the identity of a
// session. The service stores the sessions of all applications together, restricts
// their names, and reduces the precision of numbers in the state.
const markKey = "__parley__"

// mark is the recorded identity, stored as text.
type mark struct {
	Kind    string        `json:"kind"` // the kind, see below
	App     string        `json:"app"`
	User    string        `json:"user,omitempty"`
	ID      string        `json:"id,omitempty"`
	Initial session.State `json:"initial,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
	Token   string        `json:"token"` // of the call that created it
	// Origin is the origin of a fork.
	Origin *session.Origin `json:"origin,omitempty"`
}

// The kinds of sessions at the service. Two of them are sharedStates: the state
// that the sessions of a user, or those of an application, share is stored in a
// separate session, with the value of each key as text.
const (
	kindSession = "session"
	kindUser    = "user"
	kindApp     = "app"
)

// mark decodes the mark. Sessions of other programs have none.
func (r *remote) mark() mark {
	var text string
	var m mark
	if json.Unmarshal(r.SessionState[markKey], &text) != nil || json.Unmarshal([]byte(text), &m) != nil {
		return mark{}
	}
	return m
}

// state returns the session's own state at the service.
func (r *remote) state() session.State {
	own := session.State{}.Apply(session.ScopeSession, r.SessionState)
	delete(own, markKey)
	return own
}

// texted converts the values of a state to JSON texts, which preserve every byte.
func texted(state session.State) session.State {
	out := make(session.State, len(state))
	for key, value := range state {
		if sessionrt.IsNull(value) {
			out[key] = json.RawMessage("null")
			continue
		}
		out[key], _ = json.Marshal(string(value)) //nolint:errchkjson // a text
	}
	return out
}

// untexted is the inverse of texted.
func untexted(state session.State) session.State {
	out := session.State{}
	for key, value := range state {
		var text string
		if key != markKey && json.Unmarshal(value, &text) == nil && json.Valid([]byte(text)) {
			out[key] = json.RawMessage(text)
		}
	}
	return out
}

// Names at the service have at most 63 characters of a small set, and are unique in
// an engine: this package uses digests.
func sessionName(k session.Key) string {
	d := k.Digest()
	return "parley-s-" + hex.EncodeToString(d[:20])
}

func userName(k session.Key) string {
	d := k.OwnerDigest()
	return "parley-u-" + hex.EncodeToString(d[:20])
}

func appName(k session.Key) string {
	d := k.AppDigest()
	return "parley-a-" + hex.EncodeToString(d[:20])
}

// foreignName matches the names that the service and other programs give to
// sessions.
var foreignName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// newRemote returns a new session as it is sent.
func newRemote(s *session.NewSession, token string) *remote {
	m := mark{
		Kind: kindSession, App: s.Key.App, User: s.Key.User, ID: s.Key.ID, TTL: s.TTL, Origin: s.Origin, Token: token,
		Initial: session.State{}.Apply(session.ScopeSession, s.State),
	}
	out := &remote{UserID: s.Key.User, DisplayName: clip(s.Key.ID), SessionState: plainState(m.Initial)}
	out.note(m)
	return out
}

func (r *remote) note(m mark) {
	text, _ := json.Marshal(m)              //nolint:errchkjson // of texts and of JSON that was read
	quoted, _ := json.Marshal(string(text)) //nolint:errchkjson // a text
	r.SessionState[markKey] = quoted
}

// clip truncates a name for display.
func clip(s string) string {
	if r := []rune(s); len(r) > 128 {
		return string(r[:128])
	}
	return s
}

// remoteEvent is an event of the service. Raw holds the event itself; the other
// members are for other programs that read the session.
type remoteEvent struct {
	Name          string          `json:"name,omitempty"`
	Author        string          `json:"author"`
	InvocationID  string          `json:"invocationId"`
	Timestamp     string          `json:"timestamp"`
	Content       json.RawMessage `json:"content,omitempty"`
	Actions       *remoteActions  `json:"actions,omitempty"`
	ErrorCode     string          `json:"errorCode,omitempty"`
	ErrorMessage  string          `json:"errorMessage,omitempty"`
	EventMetadata *remoteMetadata `json:"eventMetadata,omitempty"`
	RawEvent      *raw            `json:"rawEvent,omitempty"`
}

type remoteActions struct {
	StateDelta        session.State    `json:"stateDelta,omitempty"`
	ArtifactDelta     map[string]int64 `json:"artifactDelta,omitempty"`
	TransferAgent     string           `json:"transferAgent,omitempty"`
	Escalate          bool             `json:"escalate,omitempty"`
	SkipSummarization bool             `json:"skipSummarization,omitempty"`
}

type remoteMetadata struct {
	TurnComplete       bool     `json:"turnComplete,omitempty"`
	Interrupted        bool     `json:"interrupted,omitempty"`
	Branch             string   `json:"branch,omitempty"`
	LongRunningToolIDs []string `json:"longRunningToolIds,omitempty"`
}

// raw is JSON that the service does not interpret. It contains the event as text,
// because the service preserves neither the bytes of JSON nor all digits of
// numbers.
type raw struct {
	Parley *rawEntry `json:"parley,omitempty"`
}

type rawEntry struct {
	Event string `json:"event"`
	// Token identifies an event that was sent twice because the first response was
	// lost.
	Token string `json:"token"`
}

// stamp formats a time for the service.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// newRemoteEvent returns an entry as it is sent.
func newRemoteEvent(e *session.Entry, ev *event.Event, at time.Time) *remoteEvent {
	out := &remoteEvent{
		Author: cmp.Or(ev.Author, "unknown"), InvocationID: cmp.Or(ev.InvocationID, "unknown"), Timestamp: stamp(at),
		ErrorCode: ev.ErrorCode, ErrorMessage: ev.ErrorMessage, Content: contentFor(ev.Content),
		RawEvent: &raw{&rawEntry{Event: string(e.JSON), Token: event.NewID()}},
	}
	actions := remoteActions{
		StateDelta: plainState(ev.Actions.StateDelta), ArtifactDelta: ev.Actions.ArtifactDelta, TransferAgent: ev.Actions.TransferToAgent,
		Escalate: ev.Actions.Escalate, SkipSummarization: ev.Actions.SkipSummarization,
	}
	if len(actions.StateDelta) > 0 || len(actions.ArtifactDelta) > 0 || actions.TransferAgent != "" || actions.Escalate || actions.SkipSummarization {
		out.Actions = &actions
	}
	if ev.TurnComplete || ev.Interrupted || ev.Branch != "" || len(ev.LongRunningToolIDs) > 0 {
		out.EventMetadata = &remoteMetadata{ev.TurnComplete, ev.Interrupted, ev.Branch, ev.LongRunningToolIDs}
	}
	return out
}

// contentFor returns the content for other programs: texts, calls and their
// results. Files would be sent twice.
func contentFor(c *event.Content) json.RawMessage {
	if c == nil {
		return nil
	}
	shown := event.Content{Role: c.Role}
	for _, p := range c.Parts {
		switch {
		case p.FunctionCall != nil:
			shown.Parts = append(shown.Parts, &event.Part{FunctionCall: &event.FunctionCall{
				ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: object(p.FunctionCall.Args),
			}})
		case p.FunctionResponse != nil:
			shown.Parts = append(shown.Parts, &event.Part{FunctionResponse: &event.FunctionResponse{
				ID: p.FunctionResponse.ID, Name: p.FunctionResponse.Name, Response: object(p.FunctionResponse.Response),
			}})
		case p.Text != "" && !p.Thought:
			shown.Parts = append(shown.Parts, &event.Part{Text: p.Text})
		}
	}
	if len(shown.Parts) == 0 {
		return nil
	}
	text, err := json.Marshal(&shown)
	if err != nil {
		return nil
	}
	return text
}

// object returns a JSON object, because the service accepts nothing else for
// arguments and results.
func object(value json.RawMessage) json.RawMessage {
	value = plain(value)
	if bytes.HasPrefix(value, []byte("{")) {
		return value
	}
	return slices.Concat([]byte(`{"result":`), value, []byte("}"))
}

// plain returns a value that the service accepts: it decodes numbers as floating
// point, and rejects duplicate keys and unpaired surrogates. A value that cannot be
// represented becomes null.
func plain(value json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return json.RawMessage("null")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// plainState returns a state with plain values, without the mark.
func plainState(state session.State) session.State {
	out := make(session.State, len(state))
	for key, value := range state {
		if key != markKey {
			out[key] = plain(value)
		}
	}
	return out
}

func (r *remoteEvent) time() time.Time {
	t, _ := time.Parse(time.RFC3339Nano, r.Timestamp)
	return t
}

// token tells the event from all others.
func (r *remoteEvent) token() string {
	if r.RawEvent != nil && r.RawEvent.Parley != nil {
		return r.RawEvent.Parley.Token
	}
	return r.Name
}

// entry returns the entry of the event: the one that this package has sent, or a
// conversion of another program's event.
func (r *remoteEvent) entry() (*session.Entry, error) {
	if r.RawEvent != nil && r.RawEvent.Parley != nil {
		return &session.Entry{JSON: []byte(r.RawEvent.Parley.Event)}, nil
	}
	ev := &event.Event{
		ID: path.Base(r.Name), Author: r.Author, InvocationID: r.InvocationID,
		Timestamp: math.Round(float64(r.time().UnixMicro())) / 1e6, ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage,
	}
	if len(r.Content) > 0 {
		ev.Content = &event.Content{}
		if err := json.Unmarshal(r.Content, ev.Content); err != nil {
			return nil, err
		}
	}
	if a := r.Actions; a != nil {
		ev.Actions = event.Actions{
			StateDelta: sessionrt.WithoutTemp(a.StateDelta), ArtifactDelta: a.ArtifactDelta, TransferToAgent: a.TransferAgent,
			Escalate: a.Escalate, SkipSummarization: a.SkipSummarization,
		}
	}
	if m := r.EventMetadata; m != nil {
		ev.TurnComplete, ev.Interrupted, ev.Branch, ev.LongRunningToolIDs = m.TurnComplete, m.Interrupted, m.Branch, m.LongRunningToolIDs
	}
	return session.NewEntry(ev)
}

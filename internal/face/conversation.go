package face

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// Start starts a run. If the session does not exist, it is created first, with the
// history that the client has; history may be nil.
func Start(ctx context.Context, h Host, req run.Request, history func() []*event.Event) (*run.Run, error) {
	started, err := h.Engine().Start(ctx, req)
	if !errors.Is(err, session.ErrNotFound) {
		return started, err
	}
	var events []*event.Event
	if history != nil {
		events = history()
	}
	if _, err := h.Engine().Create(ctx, session.NewSession{Key: req.Key}, events); err != nil && !errors.Is(err, session.ErrExists) {
		return nil, err
	}
	return h.Engine().Start(ctx, req)
}

// RunID returns the id of the run that a client calls id. Clients choose their ids
// freely; the result is unique among all sessions, and the same for a request that is
// repeated.
func RunID(face string, key session.Key, id string) string {
	return face + "-" + digest(face, key.App, key.User, key.ID, id)
}

// handleSplit separates the names in a handle. Identifiers cannot have it.
const handleSplit = "\x00"

// Handle returns one opaque text for several identifiers, such as those of a session
// and a run, for protocols whose clients keep one.
func Handle(names ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(names, handleSplit)))
}

// ParseHandle returns the n identifiers of a handle. A client may have made it: what
// it names must be checked like any other input.
func ParseHandle(handle string, n int) (names []string, ok bool) {
	doc, err := base64.RawURLEncoding.DecodeString(handle)
	if err != nil {
		return nil, false
	}
	names = strings.Split(string(doc), handleSplit)
	if len(names) != n {
		return nil, false
	}
	for _, name := range names {
		if session.CheckIdentifier("handle", name) != nil {
			return nil, false
		}
	}
	return names, true
}

// digest returns 26 characters that identify texts.
func digest(texts ...string) string {
	sum := sha256.New()
	for _, text := range texts {
		var length [8]byte
		for i := range length {
			length[i] = byte(len(text) >> (8 * i))
		}
		sum.Write(length[:])
		sum.Write([]byte(text))
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum.Sum(nil)))[:26]
}

// Fingerprint identifies the content of a request, for idempotency.
func Fingerprint(doc []byte) string {
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:])
}

// maxMessageID is the length of ids that events have as they are. It leaves room for the
// number of a run that answers a message again.
const maxMessageID = 240

// MessageID returns the id of the event for a message that a client calls id.
func MessageID(id string) string {
	if id == "" || session.CheckIdentifier("message id", id) == nil && utf8.RuneCountInString(id) <= maxMessageID {
		return id
	}
	return "m-" + digest(id)
}

// Tail is the end of a session, as far as a face needs it: the newest runs, and the
// events since the first of them.
type Tail struct {
	// Exists is false if there is no such session.
	Exists bool
	State  session.State
	// Runs are the newest first.
	Runs []*session.Run
	// Events are the oldest first.
	Events []*event.Event
}

// recentRuns is how many runs are searched for the messages of a client, in addition
// to one for each message that may be new: others may use the session too.
const recentRuns = 4

// ReadTail reads the end of a session whose client has sent a number of messages that
// may be new. The cost does not grow with the session.
func ReadTail(ctx context.Context, h Host, key session.Key, messages int) (*Tail, error) {
	t := &Tail{}
	runs, _, err := h.Engine().Runs(ctx, key, session.Page{Size: messages + recentRuns})
	if errors.Is(err, session.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	read := session.Read{NoEvents: len(runs) == 0}
	for _, r := range runs {
		if r.First != 0 {
			read.After = r.First - 1
		}
	}
	s, err := h.Sessions().Get(ctx, key, read)
	if errors.Is(err, session.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	t.Exists, t.State, t.Runs = true, s.State, runs
	for _, entry := range s.Seen() {
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		t.Events = append(t.Events, ev)
	}
	return t, nil
}

// Message returns the event of a message that a client calls id; nil if the session
// does not have it.
func (t *Tail) Message(id string) *event.Event {
	id = MessageID(id)
	for _, ev := range t.Events {
		if ev.ID == id {
			return ev
		}
	}
	return nil
}

// Run returns one of the runs, or nil.
func (t *Tail) Run(id string) *session.Run {
	for _, r := range t.Runs {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Waits reports whether a run of the session waits for an answer.
func (t *Tail) Waits() bool {
	for _, r := range t.Runs {
		if r.Status == session.Waiting {
			return true
		}
	}
	return false
}

// AnsweredBy returns the run that went on when the question with the id of a call was
// answered; nil if there is none.
func (t *Tail) AnsweredBy(call string) *session.Run {
	for _, ev := range t.Events {
		if ev.Author != event.User {
			continue
		}
		for _, r := range ev.FunctionResponses() {
			if r.ID == call {
				return t.Run(ev.InvocationID)
			}
		}
	}
	return nil
}

// StateDelta returns what differs between the state of a client and that of the
// session. Keys that the client does not have are left alone, and so is state that
// other sessions share: the copy of the client may be old.
func StateDelta(client map[string]json.RawMessage, current session.State) map[string]json.RawMessage {
	delta := map[string]json.RawMessage{}
	for key, value := range client {
		if session.ScopeOf(key) != session.ScopeSession || tool.IsSecret(key) {
			continue
		}
		if string(current[key]) != string(value) && (!sessionrt.IsNull(value) || current[key] != nil) {
			delta[key] = value
		}
	}
	return delta
}

package inbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// ErrNotFound means that nothing waits under an id, or that the caller may not see it.
var ErrNotFound = errors.New("no such entry of the inbox")

// Kind is what an entry asks for.
type Kind string

// The kinds of entries.
const (
	Confirmation Kind = "confirmation"
	Input        Kind = "input"
	Login        Kind = "login"
	// Result is the result of a long-running tool, or of one that a client executes.
	Result Kind = "result"
)

// Entry is something that waits for a person.
type Entry struct {
	*run.Ask

	ID   string
	Kind Kind
	// Message is the text for the person; it may be empty.
	Message string
	// Args are the arguments of the tool call that it is about.
	Args json.RawMessage
	// Schema is the JSON Schema of the answer, and Payload what is to be confirmed; nil if
	// there is none.
	Schema, Payload json.RawMessage
	// LoginURL is where the user logs in.
	LoginURL string
	Rule     Rule
	// MayAnswer means that the caller may.
	MayAnswer bool
	Note

	question *face.Question // nil for a Result
}

// Note is what is stored about an entry beside the log.
type Note struct {
	// Assignee is the person who takes care of it; it may be empty.
	Assignee string `json:"assignee,omitempty"`
	// Escalated is when it was escalated; zero if it was not.
	Escalated time.Time `json:"escalated,omitzero"`
}

// idOf returns the id of an entry: it names the call.
func idOf(key session.Key, call string) string {
	doc, err := json.Marshal([]string{key.App, key.User, key.ID, call})
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(doc)
}

// maxID bounds the ids of entries.
const maxID = 8 << 10

// placeOf is the inverse of idOf.
func placeOf(id string) (key session.Key, call string, err error) {
	var parts []string
	doc, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil || len(id) > maxID || json.Unmarshal(doc, &parts) != nil || len(parts) != 4 || parts[3] == "" {
		return key, "", ErrNotFound
	}
	key = session.Key{App: parts[0], User: parts[1], ID: parts[2]}
	if key.Check() != nil || idOf(key, parts[3]) != id { // an entry has one id
		return key, "", ErrNotFound
	}
	return key, parts[3], nil
}

// entry describes a call as a caller sees it.
func (s *Service) entry(a *run.Ask, c *access.Caller) (*Entry, error) {
	rule, err := s.Rules.For(a.Key.App, a.Tool)
	if err != nil {
		return nil, err
	}
	e := &Entry{Ask: a, ID: idOf(a.Key, a.Call.ID), Kind: Result, Args: a.Call.Args, Rule: rule}
	if q := face.QuestionOf(a.Call); q != nil {
		e.question, e.Kind, e.Message, e.Schema, e.Payload, e.LoginURL = q, Kind(q.Kind), q.Message, q.Schema, q.Payload, q.AuthURI
		e.Args = q.Args
	}
	if e.Kind == Login { // another person's account would be that of the user
		e.Rule = Rule{Tool: rule.Tool, Answer: User, EscalateAfter: rule.EscalateAfter}
	}
	if e.MayAnswer = e.Rule.allows(c, a.Key.User); !e.MayAnswer && e.Kind == Login {
		e.LoginURL = ""
		e.Call = &event.FunctionCall{ID: a.Call.ID, Name: a.Call.Name}
	}
	return e, nil
}

// visible reports whether a caller may see an entry.
func (e *Entry) visible(c *access.Caller) bool {
	return e.MayAnswer || c.Is(e.Key.User)
}

// noteID names what is stored about an entry. It is deleted with the session.
func noteID(key session.Key, call string) session.SecretID {
	return session.SecretID{App: key.App, User: key.User, Session: key.ID, Name: notePrefix + digest(call)}
}

// notePrefix begins the names of notes. They are no secrets, but are kept like them.
const notePrefix = "inbox/"

// note reads what is stored about an entry, and its version.
func (s *Service) note(ctx context.Context, e *run.Ask) (n Note, version int64, err error) {
	kept, err := s.Store.Secret(ctx, noteID(e.Key, e.Call.ID))
	if errors.Is(err, session.ErrNoSecret) || errors.Is(err, session.ErrNotFound) {
		return n, 0, nil
	}
	if err != nil {
		return n, 0, err
	}
	_ = json.Unmarshal(kept.About, &n) // the server wrote it
	return n, kept.Version, nil
}

// amendAttempts is how often a note is read that others change.
const amendAttempts = 10

// amend changes what is stored about an entry, unless change returns false.
func (s *Service) amend(ctx context.Context, a *run.Ask, change func(*Note) bool) (Note, error) {
	for range amendAttempts {
		n, version, err := s.note(ctx, a)
		if err != nil {
			return n, err
		}
		if !change(&n) {
			return n, nil
		}
		about, err := json.Marshal(n)
		if err != nil {
			return n, err
		}
		_, err = s.Store.PutSecret(ctx, &session.Secret{SecretID: noteID(a.Key, a.Call.ID), Version: version, Sealed: []byte{}, About: about})
		if errors.Is(err, session.ErrChanged) {
			continue
		}
		return n, err
	}
	return Note{}, session.ErrChanged
}

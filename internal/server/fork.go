package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// forkSession creates a session from another one.
func (s *Server) forkSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	var at run.Cut
	var id string
	if err := s.strings(w, r, map[string]*string{"atEventId": &at.AtEvent, "beforeInvocationId": &at.BeforeInvocation, "sessionId": &id}); err != nil {
		return err
	}
	if at.AtEvent != "" && at.BeforeInvocation != "" {
		return &httpError{status: http.StatusUnprocessableEntity, message: "Only one of atEventId and beforeInvocationId can be given"}
	}
	made := session.Key{App: key.App, User: key.User, ID: cmp.Or(id, ident.Session())}
	if err := made.Check(); err != nil {
		return err
	}
	forked, err := s.Engine.Fork(r.Context(), key, at, made.ID)
	if errors.Is(err, session.ErrExists) {
		return about(made, err)
	}
	if err != nil {
		of := subjectOf(r)
		of.at, of.before = at.AtEvent, at.BeforeInvocation
		return &aboutError{of, err}
	}
	writeJSON(w, http.StatusOK, document.Session(nil, forked))
	return nil
}

// rewindSession rewinds a session to before one of its invocations.
func (s *Server) rewindSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	var before, invocation string
	if err := s.strings(w, r, map[string]*string{"rewindBeforeInvocationId": &before, "invocationId": &invocation}); err != nil {
		return err
	}
	if before = cmp.Or(before, invocation); before == "" {
		return invalid(wire.Missing("rewindBeforeInvocationId"))
	}
	rewound, err := s.Engine.Rewind(r.Context(), key, before)
	if err != nil {
		of := subjectOf(r)
		of.before, of.unqueued = before, true
		return &aboutError{of, err}
	}
	writeJSON(w, http.StatusOK, document.Session(nil, rewound))
	return nil
}

// strings reads a body whose members are all identifiers.
func (s *Server) strings(w http.ResponseWriter, r *http.Request, members map[string]*string) error {
	doc, err := s.body(w, r)
	if err != nil || doc == nil {
		return err
	}
	return wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			if into := members[name]; into != nil {
				return in.ID(into)
			}
			return in.Skip()
		})
	})
}

// linesType is JSON lines: one document per line.
const linesType = "application/jsonl"

// exportVersion is the format version in the first line of an export.
const exportVersion = 1

// exportSession answers with a session as JSON lines: one for the session with its initial state, and one for each
// event of its log, including those that were rewound.
func (s *Server) exportSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	found, err := s.Store.Get(r.Context(), key, session.Read{Initial: true})
	if err != nil {
		return err
	}
	head := fmt.Appendf(nil, `{"parley":%d,"appName":`, exportVersion)
	head = wire.Quote(head, key.App)
	head = wire.Quote(append(head, `,"userId":`...), key.User)
	head = wire.Quote(append(head, `,"sessionId":`...), key.ID)
	head = document.State(append(head, `,"state":`...), found.Initial)
	head = wire.Number(append(head, `,"createTime":`...), event.Seconds(found.Created))
	out := append(head, "}\n"...)
	for _, e := range found.Entries {
		doc, err := withoutSecretBytes(e)
		if err != nil {
			return err
		}
		out = append(append(out, doc...), '\n')
	}
	w.Header().Set("Content-Type", linesType)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(out) //nolint:gosec // it is JSON lines, and says so; a client that is gone cannot be told
	return nil
}

// withoutSecretBytes returns the JSON of an entry: the stored bytes, unless they contain a secret.
func withoutSecretBytes(e *session.Entry) ([]byte, error) {
	if !bytes.Contains(e.JSON, []byte(`"`+tool.SecretPrefix)) {
		return e.JSON, nil
	}
	ev := &event.Event{}
	if err := ev.UnmarshalJSON(e.JSON); err != nil {
		return nil, err
	}
	ev.Actions.StateDelta = redact.State(ev.Actions.StateDelta)
	return ev.MarshalJSON()
}

// importSession creates a session from an export.
func (s *Server) importSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	doc, err := s.bodyOf(w, r, linesType, "application/x-ndjson", "application/x-jsonlines")
	if err != nil {
		return err
	}
	made, lines, err := readExport(key, doc)
	if err != nil {
		return err
	}
	if err := checkSharedState(r, made.State); err != nil {
		return err
	}
	imported, err := s.Engine.Import(r.Context(), made)
	if wrong, ok := errors.AsType[*run.ImportError](err); ok {
		return badLine(lines[wrong.Index], wrong.Why)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, document.Session(nil, imported))
	return nil
}

// readExport decodes JSON lines. lines are the line numbers of the events.
func readExport(key session.Key, doc []byte) (made session.NewSession, lines []int, err error) {
	made.Key = key
	version, number := int64(0), 0
	for line := range bytes.Lines(doc) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if version == 0 {
			if made.State, version, err = readHead(line); err != nil {
				return made, nil, err
			}
			continue
		}
		entry, err := readEntry(line)
		if err != nil {
			return made, nil, badLine(number, err.Error())
		}
		made.Log, lines = append(made.Log, entry), append(lines, number)
	}
	if version == 0 {
		return made, nil, badHead("The body is empty")
	}
	return made, lines, nil
}

// readHead decodes the line about the session.
func readHead(line []byte) (state session.State, version int64, err error) {
	err = wire.Decode(line, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			switch name {
			case "parley":
				return in.Int(&version)
			case "state":
				return in.RawMap((*map[string]json.RawMessage)(&state))
			}
			return in.Skip()
		})
	})
	switch {
	case err != nil:
		return nil, 0, badHead(err.Error())
	case version == 0:
		return nil, 0, badHead("parley: Field required")
	case version != exportVersion:
		return nil, 0, badHead(fmt.Sprintf("Unknown version %d", version))
	}
	for key := range state {
		if tool.IsSecret(key) {
			return nil, 0, badHead("state: " + secretKey(key))
		}
	}
	return state, version, nil
}

// secretKey is the reason for refusing an export with such a state key.
func secretKey(key string) string {
	return fmt.Sprintf("%q: keys that begin with %s are for tools alone, and no export has them", key, tool.SecretPrefix)
}

// readEntry decodes an event from a line and checks that it can be stored.
func readEntry(line []byte) (*session.Entry, error) {
	ev := &event.Event{}
	if err := ev.UnmarshalJSON(line); err != nil {
		return nil, err
	}
	switch {
	case ev.Timestamp < 0 || ev.Timestamp >= maxSeconds:
		return nil, errors.New("has a timestamp that is not in seconds")
	case ev.Content != nil && !slices.Contains([]string{"", event.RoleUser, event.RoleModel}, ev.Content.Role):
		return nil, errors.New("has a content whose role is neither user nor model")
	}
	for key := range ev.Actions.StateDelta {
		if tool.IsSecret(key) {
			return nil, errors.New("stateDelta: " + secretKey(key))
		}
	}
	ev.Actions.StateDelta = sessionrt.WithoutTemp(ev.Actions.StateDelta)
	return session.NewEntry(ev)
}

func badHead(why string) error {
	return &httpError{
		status:  http.StatusUnprocessableEntity,
		message: fmt.Sprintf("The first line must be that of an export, {\"parley\":%d, …}: %s", exportVersion, why),
	}
}

func badLine(number int, why string) error {
	return &httpError{status: http.StatusUnprocessableEntity, message: fmt.Sprintf("Line %d is not an event of an export: %s", number, why)}
}

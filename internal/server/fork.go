package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/session"
	"github.com/parley-run/parley/internal/wire"
)

// forkSession makes a session that begins as another one was.
func (s *Server) forkSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	var at, id string
	if err := s.strings(w, r, map[string]*string{"atEventId": &at, "sessionId": &id}); err != nil {
		return err
	}
	made := session.Key{App: key.App, User: key.User, ID: cmp.Or(id, event.NewSessionID())}
	if err := made.Check(); err != nil {
		return err
	}
	forked, err := s.Engine.Fork(r.Context(), key, at, made.ID)
	switch {
	case errors.Is(err, session.ErrExists):
		return about(made, err)
	case errors.Is(err, run.ErrUnknownEvent):
		return &httpError{status: http.StatusUnprocessableEntity, message: "The session has no event with the id in atEventId"}
	case err != nil:
		return about(key, err)
	}
	writeJSON(w, http.StatusOK, appendSession(nil, forked))
	return nil
}

// rewindSession takes a session back to before one of its invocations.
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
	if errors.Is(err, run.ErrUnknownEvent) {
		return &httpError{status: http.StatusUnprocessableEntity, message: "The session has no events of the invocation " + before}
	}
	if err != nil {
		return about(key, err)
	}
	writeJSON(w, http.StatusOK, appendSession(nil, rewound))
	return nil
}

// strings reads a body of members that are all text.
func (s *Server) strings(w http.ResponseWriter, r *http.Request, members map[string]*string) error {
	doc, err := s.body(w, r)
	if err != nil || doc == nil {
		return err
	}
	return wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			if into := members[name]; into != nil {
				return optional(in, into)
			}
			return in.Skip()
		})
	})
}

// linesType is JSON lines: one document a line.
const linesType = "application/jsonl"

// exportVersion is in the first line of an export.
const exportVersion = 1

// secretPrefix starts the keys of the state that are nobody's to see.
const secretPrefix = "secret:"

// exportSession answers with a session as JSON lines: one about the session, with
// the state that it was made with, and one for each event of its log, also for
// those that were taken back.
func (s *Server) exportSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	found, err := s.Store.Get(r.Context(), key, session.Read{Initial: true})
	if err != nil {
		return about(key, err)
	}
	head := fmt.Appendf(nil, `{"parley":%d,"appName":`, exportVersion)
	head = wire.Quote(head, key.App)
	head = wire.Quote(append(head, `,"userId":`...), key.User)
	head = wire.Quote(append(head, `,"sessionId":`...), key.ID)
	head = appendState(append(head, `,"state":`...), withoutSecrets(found.Initial))
	head = wire.Number(append(head, `,"createTime":`...), event.Seconds(found.Created))
	out := append(head, "}\n"...)
	for _, e := range found.Entries {
		out = append(append(out, withoutSecretBytes(e)...), '\n')
	}
	w.Header().Set("Content-Type", linesType)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(out) // a client that is gone cannot be told
	return nil
}

func withoutSecrets(s session.State) session.State {
	out := maps.Clone(s)
	maps.DeleteFunc(out, func(k string, _ json.RawMessage) bool { return strings.HasPrefix(k, secretPrefix) })
	return out
}

// withoutSecretBytes is an entry's JSON, as it is stored unless it holds
// something secret.
func withoutSecretBytes(e *session.Entry) []byte {
	if !bytes.Contains(e.JSON, []byte(`"`+secretPrefix)) {
		return e.JSON
	}
	ev := &event.Event{}
	if ev.UnmarshalJSON(e.JSON) != nil {
		return []byte("{}")
	}
	ev.Actions.StateDelta = withoutSecrets(ev.Actions.StateDelta)
	doc, err := ev.MarshalJSON()
	if err != nil {
		return []byte("{}")
	}
	return doc
}

// importSession makes a session of an export.
func (s *Server) importSession(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	doc, err := s.bodyOf(w, r, linesType, "application/x-ndjson", "application/x-jsonlines")
	if err != nil {
		return err
	}
	made, err := readExport(key, doc)
	if err != nil {
		return err
	}
	imported, err := s.Engine.Import(r.Context(), made)
	if err != nil {
		return about(key, err)
	}
	writeJSON(w, http.StatusOK, appendSession(nil, imported))
	return nil
}

// readExport reads JSON lines.
func readExport(key session.Key, doc []byte) (session.NewSession, error) {
	made := session.NewSession{Key: key}
	version := int64(0)
	for i, line := range slices.Collect(bytes.Lines(doc)) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if version == 0 {
			err := wire.Decode(line, func(in *wire.Reader) error {
				return in.Object(func(name string) error {
					switch name {
					case "parley":
						return in.Int(&version)
					case "state":
						var state map[string]json.RawMessage
						err := in.RawMap(&state)
						made.State = withoutSecrets(state)
						return err
					}
					return in.Skip()
				})
			})
			if err != nil || version != exportVersion {
				return made, &httpError{
					status:  http.StatusUnprocessableEntity,
					message: fmt.Sprintf("The first line must be that of an export: {\"parley\":%d, …}", exportVersion),
				}
			}
			continue
		}
		ev := &event.Event{}
		if err := ev.UnmarshalJSON(line); err != nil {
			return made, &httpError{status: http.StatusUnprocessableEntity, message: fmt.Sprintf("Line %d is not an event: %s", i+1, err)}
		}
		ev.Actions.StateDelta = withoutSecrets(ev.Actions.StateDelta)
		entry, err := session.NewEntry(ev)
		if err != nil {
			return made, &httpError{status: http.StatusUnprocessableEntity, message: fmt.Sprintf("Line %d is not an event: %s", i+1, err)}
		}
		made.Log = append(made.Log, entry)
	}
	if version == 0 {
		return made, &httpError{status: http.StatusUnprocessableEntity, message: "The body must be an export: JSON lines, the first of which is about the session"}
	}
	return made, nil
}

package server

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-run/parley/internal/inbox"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// linkPath is the page of a link. It must not have a token in its path, which logs show.
const linkPath = "/inbox/link"

// inInbox refuses requests if the store cannot list what waits.
func (s *Server) inInbox(route func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.Inbox == nil {
			return &httpError{status: http.StatusNotImplemented, message: "The session store of this server has no inbox"}
		}
		w.Header().Set("Cache-Control", "no-store")
		return route(w, r)
	}
}

// entryDoc is an entry of the inbox in a response.
type entryDoc struct {
	ID        string          `json:"id"`
	AppName   string          `json:"appName"`
	UserID    string          `json:"userId"`
	Session   string          `json:"sessionId"`
	Title     string          `json:"sessionTitle,omitempty"`
	Run       string          `json:"runId"`
	Agent     string          `json:"agent"`
	Kind      inbox.Kind      `json:"kind"`
	Tool      string          `json:"tool"`
	Message   string          `json:"message,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	LoginURL  string          `json:"loginUrl,omitempty"`
	Since     time.Time       `json:"since"`
	Until     time.Time       `json:"until,omitzero"`
	Answer    string          `json:"answer"`
	MayAnswer bool            `json:"mayAnswer"`
	Assignee  string          `json:"assignee,omitempty"`
	Escalated time.Time       `json:"escalatedAt,omitzero"`
	Default   time.Time       `json:"defaultAt,omitzero"`
	Call      callDoc         `json:"call"`
}

// callDoc is a function call in a response.
type callDoc struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

func entryOf(e *inbox.Entry) *entryDoc {
	d := &entryDoc{
		ID: e.ID, AppName: e.Key.App, UserID: e.Key.User, Session: e.Key.ID, Title: e.Title, Run: e.Run, Agent: e.Agent, Kind: e.Kind, Tool: e.Tool,
		Message: e.Message, Args: e.Args, Schema: e.Schema, Payload: e.Payload, LoginURL: e.LoginURL,
		Since: e.Since.Truncate(time.Millisecond), Until: e.Until.Truncate(time.Millisecond), Answer: e.Rule.Answer, MayAnswer: e.MayAnswer,
		Assignee: e.Assignee, Escalated: e.Escalated, Call: callDoc{e.Call.ID, e.Call.Name, e.Call.Args},
	}
	if e.Rule.DefaultAfter > 0 {
		d.Default = e.Since.Add(e.Rule.DefaultAfter).Truncate(time.Millisecond)
	}
	return d
}

func (s *Server) listInbox(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	page, err := pageOf(query)
	if err != nil {
		return err
	}
	page.Size = cmp.Or(page.Size, defaultPage)
	q := inbox.Query{
		App: query.Get("appName") + query.Get("app_name"), User: query.Get("userId") + query.Get("user_id"), Tool: query.Get("tool"),
		Kind: inbox.Kind(query.Get("kind")), Assignee: query.Get("assignee"), None: query.Has("assignee") && query.Get("assignee") == "",
	}
	for what, id := range map[string]string{"application name": q.App, "user id": q.User, "assignee": q.Assignee} {
		if id == "" {
			continue
		}
		if err := session.CheckIdentifier(what, id); err != nil {
			return err
		}
	}
	switch q.Kind {
	case "", inbox.Confirmation, inbox.Input, inbox.Login, inbox.Result:
	default:
		return badParameter("query", "kind", "must be confirmation, input, login or result")
	}
	list, next, err := s.Inbox.List(r.Context(), q, page)
	if err != nil {
		return err
	}
	linkNext(w, r, query, page, next)
	docs := make([]*entryDoc, len(list))
	for i, e := range list {
		docs[i] = entryOf(e)
	}
	return writeValue(w, docs)
}

func (s *Server) getEntry(w http.ResponseWriter, r *http.Request) error {
	e, err := s.Inbox.Get(r.Context(), r.PathValue("entry"))
	if err != nil {
		return err
	}
	return writeValue(w, entryOf(e))
}

// answerEntry answers an entry, and does not wait for the run that goes on. For a login without an answer, it returns
// where the user logs in.
func (s *Server) answerEntry(w http.ResponseWriter, r *http.Request) error {
	doc, err := s.body(w, r)
	if err != nil {
		return err
	}
	var value json.RawMessage
	if err := readBody(doc, func(in *wire.Reader, name string) error {
		if name == "response" {
			return in.Raw(&value)
		}
		return in.Skip()
	}); err != nil {
		return err
	}
	id := r.PathValue("entry")
	if len(value) == 0 || string(value) == "null" {
		e, err := s.Inbox.Get(r.Context(), id)
		switch {
		case err != nil:
			return err
		case e.Kind != inbox.Login:
			return invalid(wire.Missing("response"))
		case e.LoginURL == "":
			return &httpError{status: http.StatusConflict, message: "This login has no page to visit: send the credential as the response"}
		}
		return writeValue(w, map[string]string{"loginUrl": e.LoginURL})
	}
	started, err := s.Inbox.Answer(r.Context(), id, value)
	if err != nil {
		return err
	}
	return s.accepted(w, r, started)
}

func (s *Server) assignEntry(w http.ResponseWriter, r *http.Request) error {
	doc, err := s.body(w, r)
	if err != nil {
		return err
	}
	assignee, given := "", false
	if err := readBody(doc, func(in *wire.Reader, name string) error {
		if name != "assignee" {
			return in.Skip()
		}
		given = true
		return optional(in, &assignee, in.ID)
	}); err != nil {
		return err
	}
	if !given {
		return invalid(wire.Missing("assignee"))
	}
	if assignee != "" {
		if err := session.CheckIdentifier("assignee", assignee); err != nil {
			return err
		}
	}
	e, err := s.Inbox.Assign(r.Context(), r.PathValue("entry"), assignee)
	if err != nil {
		return err
	}
	return writeValue(w, entryOf(e))
}

// linkDoc is a link in a response.
type linkDoc struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expiresAt"`
}

// linkEntry makes a link with which a person can answer an entry.
func (s *Server) linkEntry(w http.ResponseWriter, r *http.Request) error {
	doc, err := s.body(w, r)
	if err != nil {
		return err
	}
	life := inbox.DefaultLink
	if err := readBody(doc, func(in *wire.Reader, name string) error {
		if name != "expiresInSeconds" {
			return in.Skip()
		}
		if err := seconds(in, &life); err != nil {
			return err
		}
		if life < time.Second || life > inbox.MaxLink {
			return in.Errorf("value_error", "must be between 1 and %d", int(inbox.MaxLink/time.Second))
		}
		return nil
	}); err != nil {
		return err
	}
	token, expires, err := s.Inbox.Link(r.Context(), r.PathValue("entry"), life)
	if err != nil {
		return err
	}
	return writeStatus(w, http.StatusCreated, linkDoc{faceHost{s}.BaseURL(r) + linkPath + "?" + url.Values{"t": {token}}.Encode(), expires})
}

// readBody reads the members of an object. An empty body is one without members.
func readBody(doc []byte, member func(in *wire.Reader, name string) error) error {
	if len(doc) == 0 {
		return nil
	}
	return wire.Decode(doc, func(in *wire.Reader) error {
		return in.Patch(func(name string) error { return member(in, name) })
	})
}

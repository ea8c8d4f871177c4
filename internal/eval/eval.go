// Package eval asks whether an agent still does what it did: it holds the
// conversations of an evaluation set with it again, and compares what the agent
// calls and says with what was expected.
//
// Sets and results are files, in the format that other tools of the kind have,
// so that they can be carried from one to the other. What a file has beyond what
// is known here stays in it.
package eval

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// Set is an evaluation set: some conversations, each a case.
type Set struct {
	ID    string
	Cases []*Case

	doc json.RawMessage // all of it but the cases, as it was read
}

// Case is a conversation that can be held again.
type Case struct {
	ID string
	// Conversation is what users said, and what is expected of the agent.
	Conversation []*Invocation
	// Scenario tells that the case says what a simulated user is to do, and has
	// no conversation.
	Scenario bool
	User     string // empty for anyone
	State    map[string]json.RawMessage
	Rubrics  []Rubric // of all turns

	doc json.RawMessage // as it was read
}

// Invocation is a turn: what a user says, and what the agent does about it.
type Invocation struct {
	ID           string         `json:"invocationId"`
	User         *event.Content `json:"userContent"`
	Final        *event.Content `json:"finalResponse,omitempty"`
	Intermediate Intermediate   `json:"intermediateData"`
	Created      float64        `json:"creationTimestamp"`

	author  string // of Final
	rubrics []Rubric
}

// Intermediate is what an agent did on the way to its answer.
type Intermediate struct {
	Calls     []Call     `json:"toolUses"`
	Responses []Response `json:"toolResponses"`
	// Said is what was said before the last word.
	Said []Said `json:"intermediateResponses"`
}

// MarshalJSON writes lists, even of nothing: other tools take no null for one.
func (d Intermediate) MarshalJSON() ([]byte, error) {
	type plain Intermediate
	if d.Calls == nil {
		d.Calls = []Call{}
	}
	if d.Responses == nil {
		d.Responses = []Response{}
	}
	if d.Said == nil {
		d.Said = []Said{}
	}
	return json.Marshal(plain(d))
}

// Said is what an agent says. In JSON it is a pair.
type Said struct {
	Author string
	Parts  []*event.Part
}

// MarshalJSON writes the pair.
func (s Said) MarshalJSON() ([]byte, error) { return json.Marshal([]any{s.Author, s.Parts}) }

// Call is a call of a tool.
type Call struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Response is what a tool answered.
type Response struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response,omitempty"`
}

// Kind says what is to be done about an error.
type Kind int

// The kinds of errors.
const (
	Invalid    Kind = iota + 1 // what was asked for cannot be
	NotFound                   // it is not there
	Exists                     // it is there already
	Unwritable                 // it cannot be kept
	Busy                       // another evaluation is in progress
	Cancelled                  // it was cancelled
)

// Error is a request that cannot be fulfilled. Its message is for clients.
type Error struct {
	Kind    Kind
	Message string
	Cause   error // not for clients
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Cause }

func invalid(format string, args ...any) error {
	return &Error{Kind: Invalid, Message: fmt.Sprintf(format, args...)}
}

func missing(what, id string) error {
	return &Error{Kind: NotFound, Message: what + " not found: " + id}
}

// Find is the case with an id.
func (s *Set) Find(id string) (*Case, error) {
	if i := s.index(id); i >= 0 {
		return s.Cases[i], nil
	}
	return nil, missing("Eval case", id)
}

func (s *Set) index(id string) int {
	for i, c := range s.Cases {
		if c.ID == id {
			return i
		}
	}
	return -1
}

// ReadSet reads a set in either spelling, and in the form that older tools
// write: a list of conversations. id is that of a set whose file does not say.
func ReadSet(doc []byte, id string) (*Set, error) {
	set := &Set{ID: id}
	err := wire.Decode(doc, func(r *wire.Reader) error {
		if r.Kind() == '[' {
			return set.readOld(r)
		}
		return set.read(r)
	})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, c := range set.Cases {
		if seen[c.ID] {
			return nil, &wire.Error{Path: []any{"evalCases", i, "evalId"}, Type: "value_error", Msg: fmt.Sprintf("two cases are called %q", c.ID)}
		}
		seen[c.ID] = true
	}
	return set, nil
}

func (s *Set) read(r *wire.Reader) error {
	rest := object{}
	err := r.Members(func(name string) error {
		if r.Null() {
			return nil
		}
		switch wire.Camel(name) {
		case "evalSetId":
			return r.ID(&s.ID)
		case "evalCases":
			return r.Array(func() error {
				one := &Case{}
				err := one.read(r)
				s.Cases = append(s.Cases, one)
				return err
			})
		}
		return rest.keep(r, name)
	})
	s.doc = rest.json()
	return err
}

// ReadCase reads one case, in either spelling.
func ReadCase(doc []byte) (*Case, error) {
	c := &Case{}
	return c, wire.Decode(doc, c.read)
}

func (c *Case) read(r *wire.Reader) error {
	var doc json.RawMessage
	if err := r.RawObject(&doc); err != nil {
		return err
	}
	err := wire.Decode(doc, func(r *wire.Reader) error {
		return r.Object(func(name string) error {
			switch name {
			case "evalId":
				return r.ID(&c.ID)
			case "conversation":
				c.Conversation = []*Invocation{}
				return r.Array(func() error {
					one := &Invocation{}
					err := one.read(r)
					c.Conversation = append(c.Conversation, one)
					return err
				})
			case "conversationScenario":
				c.Scenario = true
				return r.Skip()
			case "sessionInput":
				return c.readInput(r)
			case "rubrics":
				return readRubrics(r, &c.Rubrics)
			}
			return r.Skip()
		})
	})
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return within(r.Errorf("value_error", ""), err)
	}
	c.doc = respell(doc, caseShape, wire.Camel)
	return nil
}

func (c *Case) check() error {
	if c.ID == "" {
		return wire.Missing("evalId")
	}
	if err := session.CheckIdentifier("eval case id", c.ID); err != nil {
		return &wire.Error{Path: []any{"evalId"}, Type: "value_error", Msg: err.Error()}
	}
	if c.Conversation == nil && !c.Scenario {
		return wire.Missing("conversation")
	}
	return nil
}

// within puts an error into the place where its document was found.
func within(where, err error) error {
	outer, ok := where.(*wire.Error) //nolint:errorlint // it was just made
	inner, also := err.(*wire.Error) //nolint:errorlint // as the reader makes them
	if !ok || !also {
		return err
	}
	return &wire.Error{Path: append(outer.Path, inner.Path...), Type: inner.Type, Msg: inner.Msg}
}

func (c *Case) readInput(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "userId":
			return r.ID(&c.User)
		case "state":
			return r.RawMap(&c.State)
		}
		return r.Skip()
	})
}

func (i *Invocation) read(r *wire.Reader) error {
	err := r.Object(func(name string) error {
		switch name {
		case "invocationId":
			return r.String(&i.ID)
		case "userContent":
			i.User = &event.Content{}
			return r.Value(i.User)
		case "finalResponse":
			i.Final = &event.Content{}
			return r.Value(i.Final)
		case "creationTimestamp":
			return r.Float(&i.Created)
		case "intermediateData":
			return i.Intermediate.read(r)
		case "rubrics":
			return readRubrics(r, &i.rubrics)
		}
		return r.Skip()
	})
	if err == nil && i.User == nil {
		err = r.Errorf("missing", "userContent: Field required")
	}
	return err
}

// read reads what an agent did, as lists by kind or, from newer tools, as the
// list of its events.
func (d *Intermediate) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "toolUses":
			return r.Array(func() error {
				var one Call
				err := one.read(r)
				d.Calls = append(d.Calls, one)
				return err
			})
		case "toolResponses":
			return r.Array(func() error {
				var one Response
				err := one.read(r)
				d.Responses = append(d.Responses, one)
				return err
			})
		case "intermediateResponses":
			return r.Array(func() error {
				var one Said
				err := one.read(r)
				d.Said = append(d.Said, one)
				return err
			})
		case "invocationEvents":
			return r.Array(func() error {
				ev := &event.Event{}
				if err := r.Value(ev); err != nil {
					return err
				}
				d.add(ev)
				return nil
			})
		}
		return r.Skip()
	})
}

func (c *Call) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.ID(&c.ID)
		case "name":
			return r.String(&c.Name)
		case "args":
			return r.RawObject(&c.Args)
		}
		return r.Skip()
	})
}

func (f *Response) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.String(&f.ID)
		case "name":
			return r.String(&f.Name)
		case "response":
			return r.Raw(&f.Response)
		}
		return r.Skip()
	})
}

func (s *Said) read(r *wire.Reader) error {
	n := 0
	return r.Array(func() error {
		n++
		switch n {
		case 1:
			return r.String(&s.Author)
		case 2:
			return r.Array(func() error {
				one := &event.Part{}
				err := r.Value(one)
				s.Parts = append(s.Parts, one)
				return err
			})
		}
		return r.Skip()
	})
}

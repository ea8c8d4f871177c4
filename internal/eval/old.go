package eval

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
)

// Older tools keep a list of conversations, with other names:
//
//	[{"name": …, "data": [{"query", "expected_tool_use", "reference"}], "initial_session": {…}}]
//
// and still older ones the list of turns alone. Both are read as if they had been
// written again.

type oldTurn struct {
	Query    string `json:"query"`
	Expected []struct {
		Name  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
	} `json:"expected_tool_use"`
	Said []struct {
		Author string `json:"author"`
		Text   string `json:"text"`
	} `json:"expected_intermediate_agent_responses"`
	Reference *string `json:"reference"`
}

type oldCase struct {
	Name    string    `json:"name"`
	Turns   []oldTurn `json:"data"`
	Session struct {
		App   string                     `json:"app_name"`
		User  string                     `json:"user_id"`
		State map[string]json.RawMessage `json:"state"`
	} `json:"initial_session"`
}

func (s *Set) readOld(r *wire.Reader) error {
	s.doc = json.RawMessage("{}")
	var doc json.RawMessage
	if err := r.Raw(&doc); err != nil {
		return err
	}
	var list []struct {
		oldCase
		oldTurn
	}
	if err := json.Unmarshal(doc, &list); err != nil {
		return &wire.Error{Type: "value_error", Msg: "neither an evaluation set nor a list of conversations"}
	}
	var alone oldCase
	for i, one := range list {
		if one.Turns == nil && one.Query != "" {
			alone.Turns = append(alone.Turns, one.oldTurn)
			continue
		}
		if one.Name == "" {
			one.Name = fmt.Sprintf("case_%d", i+1)
		}
		if err := s.addOld(&one.oldCase); err != nil {
			return within(&wire.Error{Path: []any{i}}, err)
		}
	}
	if len(alone.Turns) == 0 {
		return nil
	}
	alone.Name = s.ID
	return s.addOld(&alone)
}

func (s *Set) addOld(old *oldCase) error {
	turns := []*Invocation{}
	for i, t := range old.Turns {
		if t.Query == "" {
			return wire.Missing("data", i, "query")
		}
		one := &Invocation{ID: fmt.Sprintf("turn_%d", i+1), User: event.Text(event.RoleUser, t.Query)}
		if t.Reference != nil {
			one.Final = event.Text(event.RoleModel, *t.Reference)
		}
		for _, call := range t.Expected {
			one.Intermediate.Calls = append(one.Intermediate.Calls, Call{Name: call.Name, Args: call.Input})
		}
		for _, said := range t.Said {
			one.Intermediate.Said = append(one.Intermediate.Said, Said{said.Author, []*event.Part{{Text: said.Text}}})
		}
		turns = append(turns, one)
	}
	var doc object
	doc.add("evalId", wire.Quote(nil, old.Name))
	conversation, err := json.Marshal(turns)
	if err != nil {
		return err
	}
	doc.add("conversation", conversation)
	input, err := json.Marshal(map[string]any{"appName": old.Session.App, "userId": old.Session.User, "state": old.Session.State})
	if err != nil {
		return err
	}
	doc.add("sessionInput", input)
	one, err := ReadCase(doc.json())
	s.Cases = append(s.Cases, one)
	return err
}

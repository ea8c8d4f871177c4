package eval

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
)

// NewSet is a set without cases.
func NewSet(id string, now time.Time) *Set {
	var rest object
	rest.add("name", wire.Quote(nil, id))
	rest.add("creationTimestamp", wire.Number(nil, event.Seconds(now)))
	return &Set{ID: id, doc: rest.json()}
}

// NewCase is a case of a conversation that was held.
func NewCase(id, app, user string, state map[string]json.RawMessage, turns []*Invocation, now time.Time) (*Case, error) {
	if state == nil {
		state = map[string]json.RawMessage{}
	}
	doc, err := json.Marshal(struct {
		ID           string        `json:"evalId"`
		Conversation []*Invocation `json:"conversation"`
		Input        any           `json:"sessionInput"`
		Created      float64       `json:"creationTimestamp"`
	}{
		id, turns, struct {
			App   string                     `json:"appName"`
			User  string                     `json:"userId"`
			State map[string]json.RawMessage `json:"state"`
		}{app, user, state}, event.Seconds(now),
	})
	if err != nil {
		return nil, err
	}
	return ReadCase(doc)
}

// MarshalJSON writes the case in camelCase, as it is answered to clients.
func (c *Case) MarshalJSON() ([]byte, error) { return c.doc, nil }

// MarshalJSON writes the set in camelCase, as it is answered to clients.
func (s *Set) MarshalJSON() ([]byte, error) {
	var all object
	all.add("evalSetId", wire.Quote(nil, s.ID))
	if rest := bytes.TrimSpace(respell(s.doc, setShape, wire.Camel)); len(rest) > len("{}") {
		all.members = append(append(all.members, ','), rest[1:len(rest)-1]...)
	}
	cases := []byte{'['}
	for i, c := range s.Cases {
		if i > 0 {
			cases = append(cases, ',')
		}
		cases = append(cases, c.doc...)
	}
	all.add("evalCases", append(cases, ']'))
	return all.json(), nil
}

// file is what is written to disk: in snake_case, as other tools do, and so that
// people can read it.
func file(doc []byte, known shape) []byte {
	var out bytes.Buffer
	_ = json.Indent(&out, respell(doc, known, snake), "", "  ") // it is valid
	out.WriteByte('\n')
	return out.Bytes()
}

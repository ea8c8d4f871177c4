package agent

import (
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
)

// A call is known by its id: in the log, in the journal, to the client that
// answers it and to the user who approves it. So no two calls of a session may
// have the same one. Models do not see to that: some number the calls of every
// response from 0, and some give one number to all of them. A call whose id is
// taken therefore gets an id of its own, which ends with the id that the model
// gave. The model is sent the latter in later requests.

// callIDLength is the length of an id that Parley makes.
var callIDLength = len(newCallID())

// callIDs are the ids that the models of a run have given to calls. The run
// shares them with the agents that are used as tools in it, since what such an
// agent asks the user is asked in the session.
type callIDs struct {
	mu      sync.Mutex
	claimed map[string]struct{}
}

// callID is an id for a call to which the model gave another one, or none.
func (inv *invocation) callID(given string) string {
	switch {
	case given == "":
		return newCallID()
	case !strings.HasPrefix(given, model.CallIDPrefix) && inv.claim(given):
		return given
	}
	return newCallID() + "-" + given
}

// givenID is the id that the model gave to a call, or id itself if Parley has not
// replaced it.
func givenID(id string) string {
	if !strings.HasPrefix(id, model.CallIDPrefix) || len(id) <= callIDLength || id[callIDLength] != '-' {
		return id
	}
	return id[callIDLength+1:]
}

// claim takes an id if it is free.
func (inv *invocation) claim(id string) bool {
	ids := inv.ids
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if _, ok := ids.claimed[id]; ok || inv.taken(id) {
		return false
	}
	if ids.claimed == nil {
		ids.claimed = map[string]struct{}{}
	}
	ids.claimed[id] = struct{}{}
	return true
}

// taken reports whether a call in the log has the id, or one in the log of the
// run that this one is a tool of.
func (inv *invocation) taken(id string) bool {
	return hasCall(inv.Log, id) || inv.outer != nil && inv.outer.taken(id)
}

// hasCall reports whether a call in the log has the id. Logs of sessions have an
// index.
func hasCall(log agentrt.Log, id string) bool {
	if indexed, ok := log.(interface{ HasCall(id string) bool }); ok {
		return indexed.HasCall(id)
	}
	for i := log.Len() - 1; i >= 0; i-- {
		if slices.ContainsFunc(log.At(i).FunctionCalls(), func(c *event.FunctionCall) bool { return c.ID == id }) {
			return true
		}
	}
	return false
}

// callNames are the ids of the calls in one model response. A call has the same
// id in the pieces of the response as in the whole: it is known by the id that
// the model gave, by the name of the function, and by its place among calls that
// have both in common.
type callNames struct {
	list  []namedCall
	first [1]namedCall // where list begins, which saves an allocation (BenchmarkRun in package bench)
	// places are the indexes in list of the calls that the model gave the same id and
	// name. Most responses have the calls in the order of the list, and do not need it.
	places map[givenCall][]int
}

type givenCall struct{ id, name string }

type namedCall struct {
	given givenCall
	id    string
}

func givenCallOf(c *event.FunctionCall) givenCall { return givenCall{c.ID, c.Name} }

// add adds a call.
func (n *callNames) add(inv *invocation, given givenCall) {
	if n.places != nil {
		n.places[given] = append(n.places[given], len(n.list))
	}
	if n.list == nil {
		n.list = n.first[:0]
	}
	n.list = append(n.list, namedCall{given, inv.callID(given.id)})
}

// find returns the index of the call at a place among those with the same id and
// name, which is added if it is the next one.
func (n *callNames) find(inv *invocation, given givenCall, place int) int {
	if n.places == nil {
		n.places = map[givenCall][]int{}
		for i, c := range n.list {
			n.places[c.given] = append(n.places[c.given], i)
		}
	}
	if place == len(n.places[given]) {
		n.add(inv, given)
	}
	return n.places[given][place]
}

// replace is c, a piece of the response or the whole, with the ids that the calls
// have here. What the model has returned stays as it is.
func (n *callNames) replace(inv *invocation, c *event.Content) *event.Content {
	if c == nil {
		return nil
	}
	out := c
	count := 0                 // of the calls before
	var seen map[givenCall]int // the same by id and name, if they are not in the order of the list
	for i, p := range c.Parts {
		if p.FunctionCall == nil {
			continue
		}
		given, at := givenCallOf(p.FunctionCall), count
		if count == len(n.list) && seen == nil {
			n.add(inv, given)
		}
		if seen == nil && n.list[at].given != given {
			seen = map[givenCall]int{}
			for _, before := range c.Parts[:i] {
				if before.FunctionCall != nil {
					seen[givenCallOf(before.FunctionCall)]++
				}
			}
		}
		if seen != nil {
			at = n.find(inv, given, seen[given])
			seen[given]++
		}
		count++
		id := n.list[at].id
		if id == given.id {
			continue
		}
		replaced := &struct { // one allocation; see BenchmarkRun in package bench
			part    event.Part
			call    event.FunctionCall
			content event.Content  // if it is the only part
			parts   [1]*event.Part // likewise
		}{part: *p, call: *p.FunctionCall}
		replaced.call.ID = id
		replaced.part.FunctionCall = &replaced.call
		switch {
		case len(c.Parts) == 1:
			out = &replaced.content
			*out = event.Content{Role: c.Role, Parts: replaced.parts[:]}
		case out == c:
			out = &event.Content{Role: c.Role, Parts: slices.Clone(c.Parts)}
		}
		out.Parts[i] = &replaced.part
	}
	return out
}

// asGiven replaces the contents of a request that have ids of Parley's own by
// others with those that the model gave.
func (b *builder) asGiven() {
	for i, c := range b.out {
		given := contentAsGiven(c)
		if given == c {
			continue
		}
		b.out[i] = given
		if b.trail != nil {
			b.trail.replace(c, given)
		}
	}
}

// contentAsGiven is c, or a copy with the ids that the model gave.
func contentAsGiven(c *event.Content) *event.Content {
	if !slices.ContainsFunc(c.Parts, func(p *event.Part) bool { return partAsGiven(p) != p }) {
		return c
	}
	given := &event.Content{Role: c.Role, Parts: make([]*event.Part, len(c.Parts))}
	for i, p := range c.Parts {
		given.Parts[i] = partAsGiven(p)
	}
	return given
}

// partAsGiven is p, or a copy with the id that the model gave.
func partAsGiven(p *event.Part) *event.Part {
	switch {
	case p.FunctionCall != nil && givenID(p.FunctionCall.ID) != p.FunctionCall.ID:
		part, call := *p, *p.FunctionCall
		call.ID = givenID(call.ID)
		part.FunctionCall = &call
		return &part
	case p.FunctionResponse != nil && givenID(p.FunctionResponse.ID) != p.FunctionResponse.ID:
		part, response := *p, *p.FunctionResponse
		response.ID = givenID(response.ID)
		part.FunctionResponse = &response
		return &part
	}
	return p
}

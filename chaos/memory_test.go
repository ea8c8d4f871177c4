//go:build unix

package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/session"
)

// conversation is what clients remember of a session.
type conversation struct {
	key session.Key

	mu       sync.Mutex
	patches  map[string]string // keys of the state that were acknowledged
	messages []*message
	reads    [][]string        // logs that were read, as their events
	known    map[string]string // all of these events
	ended    bool              // the client has requested the end of one or all of its runs
	rewound  bool              // a message was sent that takes others back
}

// undone reports whether something of the conversation may have been rewound.
func (c *conversation) undone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rewound
}

// message is what one client remembers of one message, or of the answer to a
// call.
type message struct {
	conversation *conversation
	word         string // that no other message has
	stages       []string
	answers      string // the call that it answers, empty for none
	policy       string
	body         []byte

	requests int    // that were sent until it was accepted or refused
	run      string // from when it is known to be accepted
	refused  string // why it was not, empty if it was
	stream   []seen // what was followed, without the pieces
	ended    string // the run as it was told at the end of the stream
	status   string // of the run, then
	closed   int    // events that a stream had when it ended in good order, -1 if none did
	whole    []string
	stories  []string // what happened to the client
}

// seen is an event as a client got it.
type seen struct{ id, json string }

func (m *message) note(format string, args ...any) {
	m.stories = append(m.stories, fmt.Sprintf(format, args...))
}

func (m *message) last() string {
	if len(m.stream) == 0 {
		return ""
	}
	return m.stream[len(m.stream)-1].id
}

// waits reports whether a run of the message may wait.
func (m *message) waits() bool {
	return m.answers != "" || slices.ContainsFunc(m.stages, func(s string) bool { return strings.Contains(s, "wait") })
}

// apps are the applications of the fixture, with the agents in each that call
// tools.
var apps = map[string][]string{
	"solo": {"solo"}, "row": {"first", "second"}, "fan": {"left", "middle", "right"}, "tree": {"one", "other", "after"}, "hand": {"inner"},
}

// event is what the suite wants to know of an event.
type event struct {
	ID                 string
	InvocationID       string
	Author             string
	Partial            bool
	ErrorCode          string
	LongRunningToolIDs []string `json:"longRunningToolIds"`
	Content            struct {
		Parts []struct {
			Text         string
			FunctionCall *struct {
				ID, Name string
				Args     struct{ Key string }
			}
			FunctionResponse *struct {
				ID, Name string
				Response struct{ Did, Status string }
			}
		}
	}
}

func decode(doc string) (*event, error) {
	ev := &event{}
	if err := json.Unmarshal([]byte(doc), ev); err != nil {
		return nil, fmt.Errorf("%w: %s", err, doc)
	}
	return ev, nil
}

// open returns the calls of a run that wait for an answer.
func (m *message) open() (calls []string) {
	for _, s := range m.stream {
		ev, err := decode(s.json)
		if err != nil {
			continue
		}
		calls = append(calls, ev.LongRunningToolIDs...)
		for _, p := range ev.Content.Parts {
			if r := p.FunctionResponse; r != nil && r.Response.Status != "pending" {
				calls = slices.DeleteFunc(calls, func(id string) bool { return id == r.ID })
			}
		}
	}
	return calls
}

package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// Check holds a session to what is promised of every session, whatever has
// happened to the servers that wrote it:
//
//   - The sequence is dense, every entry is what was written and can be read, and
//     ids are not used twice.
//   - Every call has an answer, and no more than one that is final; except that
//     one may be open of a run that is not over, and that what only the server
//     asks the user is open while a run waits for it.
//   - The state is what the log makes of the state that it began with.
//   - At most one run is running, no two had one epoch, and what a run has
//     written is where the run says.
//
// s has the whole log, damaged entries included, and the initial state.
func Check(s *session.Session, runs []*session.Run) []Problem {
	c := &checker{s: s, calls: map[string]*call{}, byRun: map[string][]int64{}}
	c.log()
	if s.Damaged != 0 {
		return c.found // the rest cannot be known
	}
	c.runs(runs)
	c.answers(runs)
	c.state()
	return c.found
}

type checker struct {
	s     *session.Session
	found []Problem
	calls map[string]*call
	order []string           // of the calls
	byRun map[string][]int64 // sequences by invocation
}

// call is a function call in the log.
type call struct {
	seq        int64
	invocation string
	name       string
	long       bool // its answer may come from outside
	answers    int
	final      int
}

func (c *checker) problem(seq int64, repair repairKind, format string, args ...any) {
	c.found = append(c.found, Problem{Session: c.s.Key, Seq: seq, What: fmt.Sprintf(format, args...), repair: repair})
}

func (c *checker) log() {
	if c.s.Seq != int64(len(c.s.Entries)) {
		c.problem(0, rebuild, "the session counts %d entries and has %d", c.s.Seq, len(c.s.Entries))
	}
	ids := map[string]int64{}
	for i, e := range c.s.Entries {
		if want := int64(i) + 1; e.Seq != want {
			c.problem(e.Seq, none, "entry %d of the log has the sequence %d", want, e.Seq)
		}
		if e.Damaged() {
			c.problem(e.Seq, none, "the event is damaged: its bytes are not those that were written")
			continue
		}
		ev, err := e.Decode()
		if err != nil {
			c.problem(e.Seq, none, "the entry cannot be read: %v", err)
			continue
		}
		if before, twice := ids[ev.ID]; twice {
			c.problem(e.Seq, none, "the event id %s is that of #%d, too", ev.ID, before)
		}
		ids[ev.ID] = e.Seq
		c.byRun[ev.InvocationID] = append(c.byRun[ev.InvocationID], e.Seq)
		c.event(e.Seq, ev)
	}
}

func (c *checker) event(seq int64, ev *event.Event) {
	for _, f := range ev.FunctionCalls() {
		if before := c.calls[f.ID]; before != nil && before.answers == 0 {
			c.problem(seq, none, "the call %s is made again before it has an answer", f.ID)
		}
		c.calls[f.ID] = &call{
			seq: seq, invocation: ev.InvocationID, name: f.Name, long: slices.Contains(ev.LongRunningToolIDs, f.ID),
		}
		c.order = append(c.order, f.ID)
	}
	for _, r := range ev.FunctionResponses() {
		made := c.calls[r.ID]
		if made == nil {
			c.problem(seq, none, "the answer to %s (%s) has no call before it", r.ID, r.Name)
			continue
		}
		made.answers++
		made.long = made.long || slices.Contains(ev.LongRunningToolIDs, r.ID) // put before the user after a takeover
		// What a long-running tool says itself is a receipt.
		if agentrt.Unmade(ev, r) {
			continue
		}
		if ev.ErrorCode == run.Aborted || !r.Interim() && (!made.long || ev.Author == event.User) {
			if made.final++; made.final == 2 {
				c.problem(seq, none, "the call %s (%s) of #%d has a second final answer", r.ID, r.Name, made.seq)
			}
		}
	}
}

func (c *checker) answers(runs []*session.Run) {
	under := map[string]bool{}
	waits := map[string]bool{}
	for _, r := range runs {
		under[r.ID] = !r.Status.Ended()
		waits[r.ID] = r.Status == session.Waiting
	}
	for _, id := range c.order {
		made := c.calls[id]
		if made.answers > 0 || under[made.invocation] || waits[made.invocation] && agentrt.IsReserved(made.name) {
			continue
		}
		if made.answers == 0 {
			c.problem(made.seq, answer, "the call %s (%s) has no answer", id, made.name)
			made.answers = -1 // told once
		}
	}
}

func (c *checker) runs(runs []*session.Run) {
	running := 0
	epochs := map[int64]string{}
	for _, r := range runs {
		if r.Status == session.Running {
			running++
		}
		if other, twice := epochs[r.Epoch]; twice && r.Epoch != 0 {
			c.problem(0, none, "the runs %s and %s have one epoch", r.ID, other)
		}
		epochs[r.Epoch] = r.ID
		entries := c.byRun[r.ID]
		switch {
		case r.First == 0 && len(entries) > 0:
			c.problem(entries[0], none, "the run %s has not begun and has written", r.ID)
		case r.First != 0 && (len(entries) == 0 || entries[0] != r.First):
			c.problem(r.First, none, "the message of the run %s is not where it should be", r.ID)
		case r.Status.Ended() && r.Last != 0 && len(entries) > 0 && entries[len(entries)-1] > r.Last:
			c.problem(r.Last, none, "the run %s has written after its end", r.ID)
		}
	}
	if running > 1 {
		c.problem(0, none, "%d runs are running", running)
	}
}

func (c *checker) state() {
	want := session.StateOf(c.s.Initial, c.s.Entries)
	got := session.State{}.Apply(session.ScopeSession, c.s.State)
	if !maps.EqualFunc(want, got, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		c.problem(0, rebuild, "the state is not what follows from the log")
	}
}

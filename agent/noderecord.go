package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/schema"
	"github.com/parley-run/parley/tool"
)

// nodeRecords is what the log says about the runs of nodes: of this run, if
// another process began it, and of the runs that this one resumes. A nil
// nodeRecords is empty.
type nodeRecords struct {
	runs  map[string][]*nodeRecord // by scope; more than one if a workflow was retried
	order []*nodeRecord
}

// nodeRecord is what the log says about one run of a node.
type nodeRecord struct {
	agentrt.NodeInfo

	scope  string
	branch string
	events []*event.Event // what it emitted, without requests for input and its end
	output json.RawMessage
	routes []string
	ended  bool
	failed *event.Event // its end, if it failed
	used   bool

	asked    []request
	now      bool // some of its events are of this run
	answered bool // the message of this run answers something that it asked
}

// request is a call that waits for the user.
type request struct {
	id       string
	event    *event.Event
	call     *event.FunctionCall // nil if the event does not have it
	response *event.FunctionResponse
	answer   json.RawMessage // the value of the response; nil until there is one
}

// open reports whether the run waits for an answer.
func (r *nodeRecord) open() bool {
	return slices.ContainsFunc(r.asked, func(q request) bool { return q.answer == nil })
}

// inputs are the requests whose answers are for the function. Logins are not.
func (r *nodeRecord) inputs() []request {
	isLogin := func(q request) bool { return q.call != nil && tool.IsCredentialCall(q.call.Name) }
	if !slices.ContainsFunc(r.asked, isLogin) {
		return r.asked
	}
	return slices.DeleteFunc(slices.Clone(r.asked), isLogin)
}

// workflowLog is what the workflows of a run know of it. Most runs have none, and
// do not pay for it.
type workflowLog struct {
	recordOnce sync.Once
	records    *nodeRecords // see invocation.nodes

	runsOnce sync.Once
	runs     map[string]bool // see invocation.runsBefore
	message  int             // the index of the message that began the run, once runs is set
	first    int             // see invocation.firstOfRuns

	mu     sync.Mutex
	graphs map[string]int // runs of workflows that are not nodes, by path
}

func (inv *invocation) workflowLog() *workflowLog {
	if inv.workflows.Load() == nil {
		inv.workflows.CompareAndSwap(nil, &workflowLog{})
	}
	return inv.workflows.Load()
}

// nodes reads the records from the log, once.
func (inv *invocation) nodes() *nodeRecords {
	if inv.Resume == nil && !inv.Takeover {
		return nil
	}
	w := inv.workflowLog()
	w.recordOnce.Do(func() { w.records = inv.readNodes() })
	return w.records
}

func (inv *invocation) readNodes() *nodeRecords {
	all := &nodeRecords{runs: map[string][]*nodeRecord{}}
	runs := inv.runsBefore()
	message := inv.workflowLog().message
	for i := inv.firstOfRuns(); i < inv.Log.Len(); i++ {
		ev := inv.Log.At(i)
		if !runs[ev.InvocationID] || ev.Partial {
			continue
		}
		if ev.Author == event.User {
			all.answer(ev, i == message)
			continue
		}
		info, ok := agentrt.NodeOf(ev)
		if ok {
			all.of(info, ev).add(ev, info, i > message)
		}
	}
	return all
}

// nodeOutput returns the latest output of the nodes of that name.
func (inv *invocation) nodeOutput(name string) json.RawMessage {
	runs := inv.runsBefore()
	for i := inv.Log.Len() - 1; i >= 0; i-- {
		ev := inv.Log.At(i)
		output := ev.Extra[agentrt.OutputMember]
		if output == nil || !runs[ev.InvocationID] {
			continue
		}
		info, _ := agentrt.NodeOf(ev)
		leaf := info.Path[strings.LastIndexByte(info.Path, '.')+1:]
		if leaf, _, _ = strings.Cut(leaf, "@"); leaf == name {
			return output
		}
	}
	return nil
}

// runsBefore returns the ids of this run and of those that it resumes.
func (inv *invocation) runsBefore() map[string]bool {
	w := inv.workflowLog()
	w.runsOnce.Do(func() { w.runs, w.message, w.first = inv.resumed() })
	return w.runs
}

// firstOfRuns returns a place before which the log has no event of the runs of runsBefore,
// so that they are not searched in all of a long log.
func (inv *invocation) firstOfRuns() int {
	inv.runsBefore()
	return inv.workflowLog().first
}

func (inv *invocation) resumed() (runs map[string]bool, message, first int) {
	log := inv.Log
	message = -1
	for i := log.Len() - 1; i >= 0; i-- {
		// Events of a private log have no invocation id.
		if ev := log.At(i); ev.Author == event.User && (ev.InvocationID == inv.ID || ev.InvocationID == "") {
			message = i
			break
		}
	}
	runs = map[string]bool{inv.ID: true, "": true}
	if inv.Resume == nil {
		return runs, message, inv.begins()
	}
	next := inv.Resume.InvocationID
	for i := message - 1; i >= 0 && next != ""; i-- {
		runs[next] = true
		ev := log.At(i)
		if ev.Author != event.User || ev.InvocationID != next {
			continue
		}
		next, first = "", i
		for _, r := range ev.FunctionResponses() {
			for j := i - 1; j >= 0 && next == ""; j-- {
				if asked := log.At(j); slices.Contains(asked.LongRunningToolIDs, r.ID) {
					next = asked.InvocationID
				}
			}
		}
	}
	if next != "" { // where it began is not known
		first = 0
	}
	return runs, message, first
}

// of returns the record of a run, a new one if the latest has ended.
func (all *nodeRecords) of(info agentrt.NodeInfo, ev *event.Event) *nodeRecord {
	scope := info.Scope()
	if runs := all.runs[scope]; len(runs) > 0 && !runs[len(runs)-1].ended {
		return runs[len(runs)-1]
	}
	r := &nodeRecord{NodeInfo: info, scope: scope, branch: ev.Branch}
	all.runs[scope] = append(all.runs[scope], r)
	all.order = append(all.order, r)
	return r
}

func (r *nodeRecord) add(ev *event.Event, info agentrt.NodeInfo, now bool) {
	r.now = r.now || now
	output, routes := ev.Extra[agentrt.OutputMember], routesOf(ev)
	if output != nil {
		r.output = output
	}
	if routes != nil {
		r.routes = routes
	}
	for _, id := range ev.LongRunningToolIDs {
		r.asked = append(r.asked, request{id: id, event: ev, call: callIn(ev, id)})
	}
	switch {
	case ev.Actions.EndOfAgent:
		r.ended = true
		if ev.ErrorCode != "" {
			r.failed = ev
		}
	case (output != nil || routes != nil) && !info.MessageAsOutput && !info.More:
		r.ended = true
	case len(ev.LongRunningToolIDs) == 0:
		r.events = append(r.events, ev)
	}
}

func callIn(ev *event.Event, id string) *event.FunctionCall {
	for _, call := range ev.FunctionCalls() {
		if call.ID == id {
			return call
		}
	}
	return nil
}

// answer notes the answers in a message of the user.
func (all *nodeRecords) answer(message *event.Event, now bool) {
	for _, response := range message.FunctionResponses() {
		for _, r := range slices.Backward(all.order) {
			i := slices.IndexFunc(r.asked, func(q request) bool { return q.id == response.ID && q.answer == nil })
			if i < 0 {
				continue
			}
			r.answered = r.answered || now
			if q := &r.asked[i]; !response.Interim() {
				var args json.RawMessage
				if q.call != nil {
					args = q.call.Args
				}
				q.response, q.answer = response, schema.InputValue(args, response.Response)
			}
			break
		}
	}
}

// take returns the record of the run with a scope that has not been used, nil if
// there is none.
func (all *nodeRecords) take(scope string) *nodeRecord {
	if all == nil {
		return nil
	}
	for _, r := range all.runs[scope] {
		if !r.used {
			r.used = true
			return r
		}
	}
	return nil
}

// within calls f for each record of a scope and below it.
func (all *nodeRecords) within(scope string, f func(*nodeRecord)) {
	if all == nil {
		return
	}
	for _, r := range all.order {
		if agentrt.Within(r.scope, scope) {
			f(r)
		}
	}
}

// runID returns the id of the run of a node that was triggered by another one, if
// the log has it; skip are the ids that are in use.
func (all *nodeRecords) runID(path, trigger string, skip map[string]bool) string {
	if all == nil {
		return ""
	}
	for _, r := range all.order {
		if r.Path == path && r.Trigger == trigger && !skip[r.RunID] {
			return r.RunID
		}
	}
	return ""
}

// taken reports whether the log has a run of a node with that id.
func (all *nodeRecords) taken(path, runID string) bool {
	return all != nil && len(all.runs[agentrt.RunScope(path, runID)]) > 0
}

// routesOf are the routes that the node of an event has chosen.
func routesOf(ev *event.Event) []string {
	doc := ev.Actions.Extra[agentrt.RouteMember]
	if doc == nil || string(doc) == "null" {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(doc, &list) != nil {
		list = []json.RawMessage{doc}
	}
	routes := make([]string, len(list))
	for i, one := range list {
		if json.Unmarshal(one, &routes[i]) != nil {
			routes[i] = string(one) // a number or a boolean
		}
	}
	return routes
}

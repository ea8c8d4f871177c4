package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/workflowrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// countedLog counts how many events are read.
type countedLog struct {
	*agentrt.PrivateLog
	read atomic.Int64
}

func (l *countedLog) At(i int) *event.Event {
	l.read.Add(1)
	return l.PrivateLog.At(i)
}

// HasCall does not count: logs of sessions have an index.
func (l *countedLog) HasCall(id string) bool { return hasCall(l.PrivateLog, id) }

// asJSON is what a model would be sent.
func asJSON(t *testing.T, contents []*event.Content) []string {
	t.Helper()
	var out []string
	for _, c := range contents {
		doc, err := c.MarshalJSON() // which json.Marshal would read and copy once more
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(doc))
	}
	return out
}

// mess makes events of everything that builders treat in a way of its own.
type mess struct {
	*rand.Rand
	calls []string
}

func (m *mess) id() string {
	if len(m.calls) == 0 || m.IntN(9) == 0 {
		return "unknown"
	}
	if m.IntN(3) > 0 {
		return m.calls[len(m.calls)-1]
	}
	return m.calls[m.IntN(len(m.calls))]
}

func (m *mess) part(author string) *event.Part {
	text := fmt.Sprint("text ", m.IntN(1000))
	switch m.IntN(6) {
	case 0:
		return &event.Part{Text: text, Thought: true}
	case 1, 2:
		if author == event.User {
			break
		}
		id := newCallID()
		switch m.IntN(3) {
		case 0:
			id += "-0" // the model has given another one
		case 1:
			id = fmt.Sprint("id", m.IntN(50)) // which may come again
		}
		m.calls = append(m.calls, id)
		return &event.Part{FunctionCall: &event.FunctionCall{ID: id, Name: m.name(), Args: json.RawMessage(`{}`)}}
	case 3, 4:
		return &event.Part{FunctionResponse: &event.FunctionResponse{ID: m.id(), Name: m.name(), Response: json.RawMessage(`{"text":"` + text + `"}`)}}
	}
	return &event.Part{Text: text}
}

func (m *mess) name() string {
	if m.IntN(8) == 0 {
		return "adk_request_confirmation"
	}
	return "f"
}

func (m *mess) event() *event.Event {
	pick := func(of ...string) string { return of[m.IntN(len(of))] }
	ev := &event.Event{ID: event.NewID(), Author: pick(event.User, "a", "a", "a", "b"), Branch: pick("", "", "", "p.a", "p.b")}
	if m.IntN(10) == 0 {
		return ev // only changes the state
	}
	if m.IntN(10) == 0 {
		ev.Extra = map[string]json.RawMessage{agentrt.ScopeMember: json.RawMessage(`"` + pick("x", "y") + `"`)}
	}
	ev.Content = &event.Content{Role: event.RoleUser}
	for range 1 + m.IntN(3) {
		ev.Content.Parts = append(ev.Content.Parts, m.part(ev.Author))
	}
	return ev
}

// summary is an event that says that two events, and what is between them, are
// compacted.
func (m *mess) summary(events []*event.Event) *event.Event {
	place := func() string { return events[m.IntN(len(events))].ID }
	return &event.Event{
		ID: event.NewID(), Author: "a",
		Actions:        event.Actions{Extra: map[string]json.RawMessage{compactionMember: json.RawMessage(`{}`)}},
		CustomMetadata: map[string]json.RawMessage{compactionMember: rawJSON(compactionNote{FirstEventID: place(), LastEventID: place(), KeptEventIDs: []string{place()}})},
	}
}

// A view has the same contents as a reading of the whole log, however the log has
// grown, and requests that were made before stay as they are.
func TestViewIsWhatTheLogSays(t *testing.T) {
	keys := []viewKey{{agent: "a"}, {agent: "b"}, {agent: "a", branch: "p.a"}, {agent: "a", isolation: "x"}, {agent: "a", part: true}, {agent: "a", part: true, silent: true}}
	summaries := 0
	for seed := range uint64(40) {
		m := &mess{Rand: rand.New(rand.NewPCG(seed, 1))}
		var events []*event.Event
		all := map[viewKey]*view{}
		for range 20 {
			if m.IntN(8) == 0 && len(events) > 0 { // a rewind
				at := m.IntN(len(events))
				to := min(len(events), at+1+m.IntN(9))
				events = slices.Delete(slices.Clone(events), at, to)
			}
			for range m.IntN(5) {
				events = append(events, m.event())
			}
			if m.IntN(4) == 0 && len(events) > 0 {
				events = append(events, m.summary(events))
			}
			log := agentrt.NewPrivateLog(nil, slices.Clone(events))
			for _, key := range keys {
				if all[key] == nil {
					all[key] = &view{}
				}
				before := all[key].given // requests share it
				said := asJSON(t, before)
				b := builder{agent: key.agent, isolation: key.isolation}
				var got []*event.Content
				if key.part {
					end := max(0, len(events)-m.IntN(8))
					if key.silent {
						b.thoughts = end
					}
					got = all[key].before(log, key, end, func(rest *builder) { rest.readFrom(log, end, key.branch, nil) })
				} else {
					got = all[key].contents(log, key)
				}
				want := asJSON(t, b.read(log, key.branch, IncludeAll, nil))
				if !slices.Equal(asJSON(t, got), want) {
					t.Fatalf("seed %d, %+v: got\n%q\nwant\n%q", seed, key, asJSON(t, got), want)
				}
				if !slices.Equal(asJSON(t, before), said) {
					t.Fatalf("seed %d, %+v: an earlier request was changed", seed, key)
				}
				found, latest := all[key].compaction(log, key), findCompaction(log, key.agent, key.branch, 0, log.Len())
				if !reflect.DeepEqual(found, latest) {
					t.Fatalf("seed %d, %+v: the latest compaction is %+v, want %+v", seed, key, found, latest)
				}
				if latest != nil {
					summaries++
				}
				_ = append(got, nil) // which must not get into the view
			}
		}
	}
	if summaries == 0 {
		t.Error("no log had a summary")
	}
}

// lastReader is a model that looks at the last content only. It calls a function, if
// it has one, and answers when that has returned.
type lastReader struct{ call *event.FunctionCall }

func (*lastReader) Name() string { return "last-reader" }

func (r *lastReader) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	contents := req.Contents()
	resp := model.Text("yes")
	if r.call != nil && len(contents[len(contents)-1].FunctionResponses()) == 0 {
		resp = &model.Response{Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: r.call}}}}
	}
	return func(yield func(*model.Response, error) bool) { yield(resp, nil) }
}

// nodesOf is a workflow that runs agents one after the other. This is a test of package
// agent itself, which cannot import package workflow.
func nodesOf(history bool, agents ...*Agent) *Agent {
	g := &workflowrt.Graph{Start: []int{0}}
	cfg := &workflowrt.Config{Name: "root", Graph: g}
	for i, a := range agents {
		cfg.Agents = append(cfg.Agents, a)
		g.Nodes = append(g.Nodes, &workflowrt.Node{Name: a.name, Agent: a, History: history})
		g.Out, g.Before = append(g.Out, nil), append(g.Before, nil)
		if i > 0 {
			g.Out[i-1], g.Before[i] = []workflowrt.Target{{Node: i}}, []int{i - 1}
		}
	}
	a, err := engine{}.NewWorkflow(cfg)
	if err != nil {
		panic(err)
	}
	return a.(*Agent)
}

// A turn of a long session reads as many events as one of a short session.
func TestTurnReadsOnlyNewEvents(t *testing.T) {
	one := func(name string, subAgents ...*Agent) *Agent {
		return Must(NewLLM(LLMConfig{Name: name, Model: &lastReader{}, SubAgents: subAgents}))
	}
	calling := func(name, args string, subAgents []*Agent, tools ...tool.Tool) *Agent {
		m := &lastReader{call: &event.FunctionCall{Name: name, Args: json.RawMessage(args)}}
		return Must(NewLLM(LLMConfig{Name: "root", Model: m, SubAgents: subAgents, Tools: tools}))
	}
	summarize := func(*tool.Context, []*event.Event) (*model.Response, error) { return model.Text("in short"), nil }
	compacting := Must(NewLLM(LLMConfig{Name: "a", Model: &lastReader{}, Compactions: []*Compaction{{Events: 20, Keep: 4, Summarize: summarize}}}))
	f := tool.Must(tool.New(tool.Declaration{Name: "f"}, func(*tool.Context, struct{}) (int, error) { return 1, nil }))
	for name, root := range map[string]*Agent{
		"one agent":  one("a"),
		"tool":       calling("f", `{}`, nil, f),
		"transfer":   calling(transferTool, `{"agent_name":"a"}`, []*Agent{one("a")}),
		"agent tool": calling("a", `{"request":"x"}`, nil, AsTool(one("a"))),
		"sequential": Must(NewSequential(Config{Name: "root", SubAgents: []*Agent{one("a"), one("b")}})),
		"compaction": compacting,
		"thoughts":   Must(NewLLM(LLMConfig{Name: "a", Model: &lastReader{}, Compactions: []*Compaction{{DropThoughts: true, Keep: 4}}})),
		"history":    nodesOf(true, one("a")),
		"parallel":   Must(NewParallel(Config{Name: "root", SubAgents: []*Agent{one("a"), one("b")}})),
		"workflow":   nodesOf(false, one("a"), one("b")),
	} {
		t.Run(name, func(t *testing.T) {
			log := &countedLog{PrivateLog: agentrt.NewPrivateLog(nil, nil)}
			const short, long = 100, 300
			read := make([]int, long+1)
			for turn := range read {
				inv := &agentrt.Invocation{ID: fmt.Sprint(turn), UserContent: event.Text(event.RoleUser, "hi"), Log: log}
				emit := func(ev *event.Event) error {
					ev.InvocationID = inv.ID
					return log.Emit(ev)
				}
				if err := emit(&event.Event{Author: event.User, Content: inv.UserContent}); err != nil {
					t.Fatal(err)
				}
				before := log.read.Load()
				if err := inv.Start(t.Context(), root, emit); err != nil {
					t.Fatal(err)
				}
				read[turn] = int(log.read.Load() - before)
			}
			// A turn that makes a summary reads all that it is about.
			early, late := slices.Min(read[short-20:short]), slices.Min(read[long-20:long])
			if late > early+10 || late > 80 {
				t.Errorf("before turn %d, turns read %d events, and before turn %d %d", short, early, long, late)
			}
		})
	}
}

// An answer to a question in a long session reads as many events as one in a short session.
func TestAnswerReadsOnlyNewEvents(t *testing.T) {
	later := tool.Must(tool.New(tool.Declaration{Name: "f", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
	asking := func(name string) *Agent {
		m := &lastReader{call: &event.FunctionCall{Name: "f", Args: json.RawMessage(`{}`)}}
		return Must(NewLLM(LLMConfig{Name: name, Model: m, Tools: []tool.Tool{later}}))
	}
	for name, root := range map[string]*Agent{
		"one agent":  asking("a"),
		"sequential": Must(NewSequential(Config{Name: "root", SubAgents: []*Agent{asking("a")}})),
		"workflow":   nodesOf(false, asking("a")),
		"history":    nodesOf(true, asking("a")),
	} {
		t.Run(name, func(t *testing.T) {
			log := &countedLog{PrivateLog: agentrt.NewPrivateLog(nil, nil)}
			run := func(id string, message *event.Content, resume *agentrt.Resume) (asked string, read int, err error) {
				inv := &agentrt.Invocation{ID: id, UserContent: message, Log: log, Resume: resume}
				emit := func(ev *event.Event) error {
					ev.InvocationID = inv.ID
					for _, id := range ev.LongRunningToolIDs {
						asked = id
					}
					return log.Emit(ev)
				}
				if err := emit(&event.Event{Author: event.User, Content: inv.UserContent}); err != nil {
					t.Fatal(err)
				}
				before := log.read.Load()
				err = inv.Start(t.Context(), root, emit)
				return asked, int(log.read.Load() - before), err
			}
			const short, long = 100, 300
			read := make([]int, long+1)
			for turn := range read {
				id := fmt.Sprint(turn)
				call, _, err := run(id, event.Text(event.RoleUser, "hi"), nil)
				if !errors.Is(err, ErrWaiting) {
					t.Fatalf("error %v, want ErrWaiting", err)
				}
				answer := &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
					FunctionResponse: &event.FunctionResponse{ID: call, Name: "f", Response: json.RawMessage(`{"ok":true}`)},
				}}}
				waits := "a"
				if root.kind == agentrt.KindWorkflow {
					waits = "root"
				}
				if _, read[turn], err = run(id+"-answer", answer, &agentrt.Resume{Agent: waits, InvocationID: id}); err != nil {
					t.Fatal(err)
				}
			}
			early, late := slices.Min(read[short-20:short]), slices.Min(read[long-20:long])
			if late > early+10 || late > 120 {
				t.Errorf("before turn %d, answers read %d events, and before turn %d %d", short, early, long, late)
			}
		})
	}
}

// A log has a bounded number of views.
func TestViewsAreBounded(t *testing.T) {
	log := agentrt.NewPrivateLog(nil, make([]*event.Event, minView))
	for i := range 3 * maxViews {
		if viewOf(log, viewKey{agent: fmt.Sprint(i)}) == nil {
			t.Fatal("there is no view")
		}
	}
	kept, _ := log.Derived(nil).(*views)
	if kept == nil || len(kept.all) != maxViews {
		t.Errorf("the log keeps %+v", kept)
	}
	if viewOf(agentrt.NewPrivateLog(nil, make([]*event.Event, minView-1)), viewKey{}) != nil {
		t.Error("a short log keeps a view")
	}
}

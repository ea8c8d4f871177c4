package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// tape is a session as a store has it, and all that was stored, step by step.
type tape struct {
	id string // of the run that is in progress

	mu      sync.Mutex
	events  []*event.Event
	state   map[string]json.RawMessage
	notes   map[string][]byte
	pending map[string][]byte // notes to be stored with the next event
	moments []moment
	flushes int
}

// moment is what is left of a run when its process dies.
type moment struct {
	events int
	notes  map[string][]byte
}

func newTape() *tape {
	return &tape{id: "run-1", state: map[string]json.RawMessage{}, notes: map[string][]byte{}, pending: map[string][]byte{}}
}

func (tp *tape) store() {
	for k, v := range tp.pending {
		if v == nil {
			delete(tp.notes, k)
		} else {
			tp.notes[k] = v
		}
	}
	tp.pending = map[string][]byte{}
	tp.moments = append(tp.moments, moment{len(tp.events), maps.Clone(tp.notes)})
}

func (tp *tape) emit(ev *event.Event) error {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	if ev.Partial { // the server does not store them either
		return nil
	}
	ev.ID, ev.InvocationID = event.NewID(), tp.id
	tp.events = append(tp.events, ev)
	maps.Copy(tp.state, ev.Actions.StateDelta)
	tp.store()
	return nil
}

// cut is what another process finds after a crash.
func (tp *tape) cut(t *testing.T, at moment) *tape {
	t.Helper()
	found := &tape{id: tp.id, state: map[string]json.RawMessage{}, notes: maps.Clone(at.notes), pending: map[string][]byte{}}
	for _, ev := range tp.events[:at.events] {
		doc, err := ev.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		again := &event.Event{}
		if err := again.UnmarshalJSON(doc); err != nil {
			t.Fatal(err)
		}
		found.events = append(found.events, again)
		maps.Copy(found.state, ev.Actions.StateDelta)
	}
	found.moments = []moment{at}
	return found
}

func (tp *tape) Len() int {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return len(tp.events)
}

func (tp *tape) At(i int) *event.Event {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return tp.events[i]
}

func (tp *tape) All() map[string]json.RawMessage {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return maps.Clone(tp.state)
}

func (tp *tape) Get(key string) (json.RawMessage, bool) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	v, ok := tp.state[key]
	return v, ok
}

// journal is the tape's other side, which has a Get of its own.
type journal struct{ *tape }

func (j journal) Get(name string) ([]byte, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, ok := j.pending[name]
	if !ok {
		v = j.notes[name]
	}
	return v, v != nil
}

func (j journal) Put(name string, value []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending[name] = value
}

func (j journal) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.flushes++
	j.store()
	return nil
}

// world is what is outside of one process: it counts what was done to it.
type world struct {
	mu    sync.Mutex
	asked int            // answers of models
	runs  map[string]int // calls made, by id

	functions map[string]int // runs of nodes
}

// node is a node whose runs are counted.
func (w *world) node(name string, cfg workflow.NodeConfig, fn func(ctx *workflow.Context, in any) (any, error)) *workflow.Node {
	return workflow.Func(name, func(ctx *workflow.Context, in any) (any, error) {
		_, scope, _ := strings.Cut(ctx.FunctionCallID, ":")
		w.mu.Lock()
		if w.functions == nil {
			w.functions = map[string]int{}
		}
		w.functions[scope]++
		w.mu.Unlock()
		return fn(ctx, in)
	}, cfg)
}

// adds is a node that puts its name behind its input.
func (w *world) adds(name string) *workflow.Node {
	return w.node(name, workflow.NodeConfig{}, func(ctx *workflow.Context, in any) (any, error) {
		return fmt.Sprintf("%v+%s", in, name), ctx.State.Set(name, "done")
	})
}

// model answers by the number of answers that it finds in the conversation, as
// a model does that has only the conversation to go by.
func (w *world) model(steps ...scripted.Step) model.Model {
	return scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		n := 0
		for _, c := range req.Contents() {
			again := len(c.FunctionCalls()) > 0 && strings.Contains(c.FunctionCalls()[0].ID, "~") // see contents
			if c.Role == event.RoleModel && !again && !strings.HasPrefix(c.Text(), "callback") {
				n++
			}
		}
		if n >= len(steps) {
			return scripted.Fail(fmt.Errorf("the model is asked for answer %d of %d", n+1, len(steps)))(ctx, req)
		}
		w.mu.Lock()
		w.asked++
		w.mu.Unlock()
		return steps[n](ctx, req)
	})
}

func effectOf(name string) tool.Effect {
	for _, e := range []tool.Effect{tool.Pure, tool.Idempotent} {
		if strings.HasPrefix(name, string(e)) {
			return e
		}
	}
	if name == "transfer_to_agent" || name == "finish_task" || name == "missing" {
		return tool.Pure
	}
	return tool.Once
}

// tool leaves its name in the state. Its own name starts with its effect.
func (w *world) tool(name string, change ...func(*event.Actions)) tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: name, Effect: effectOf(name)}, func(ctx *tool.Context, _ struct{}) (map[string]string, error) {
		w.ran(ctx)
		for _, c := range change {
			c(ctx.Actions)
		}
		return map[string]string{"done": name}, ctx.State.Set(name, "done")
	}))
}

// later is a long-running tool; its result is only a receipt.
func (w *world) later(name string, receipt any) tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: name, LongRunning: true, Effect: effectOf(name)}, func(ctx *tool.Context, _ struct{}) (any, error) {
		w.ran(ctx)
		return receipt, nil
	}))
}

func (w *world) ran(ctx *tool.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[ctx.FunctionCallID]++
}

// llm is an agent whose model takes these steps.
func (w *world) llm(name string, tools []tool.Tool, steps ...scripted.Step) *agent.Agent {
	return mustLLM(agent.LLMConfig{Name: name, Model: w.model(steps...), Tools: tools, OutputKey: "says_" + name})
}

func calls(names ...string) scripted.Step {
	var all []*event.FunctionCall
	for _, name := range names {
		all = append(all, &event.FunctionCall{Name: name, Args: json.RawMessage("{}")})
	}
	return scripted.Calls(all...)
}

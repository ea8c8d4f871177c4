package parley_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// edges counts the calls of models and tools.
type edges struct {
	models, tools atomic.Int64  // also lists of tools, code, and messages to other servers
	name          string        // of the agent led, if it has another one
	instruction   string        // of the agent led
	described     string        // the description of the tool note
	session       string        // the URL of the store
	text          string        // what the model says in the end
	answer        scripted.Step // in place of what models answer
	called        string        // the name of the models, if they have another one
}

// named is a model with another name.
type named struct {
	model.Model

	name string
}

func (n named) Name() string { return n.name }

// model is one that answers with answer, and counts.
func (e *edges) model(answer scripted.Step) model.Model {
	m := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		e.models.Add(1)
		if e.answer != nil {
			return e.answer(ctx, req)
		}
		return answer(ctx, req)
	})
	return named{m, cmp.Or(e.called, m.Name())}
}

func (e *edges) tool(name string, do func(ctx *tool.Context) (any, error)) tool.Tool {
	d := tool.Declaration{Name: name, Description: e.described}
	return tool.Must(tool.New(d, func(ctx *tool.Context, _ struct {
		Text string `json:"text,omitempty"`
	},
	) (any, error) {
		e.tools.Add(1)
		return do(ctx)
	}))
}

func must(t *testing.T) func(a *agent.Agent, err error) *agent.Agent {
	t.Helper()
	return func(a *agent.Agent, err error) *agent.Agent {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// toolThen calls a tool, and says something when it has the result.
func toolThen(name string, args any, text func() string) scripted.Step {
	return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if len(scripted.LastResponses(req)) > 0 {
			return scripted.Say(text())(ctx, req)
		}
		return scripted.Call(name, args)(ctx, req)
	}
}

// listing is a toolset that counts how often it is asked.
type listing struct {
	*edges
	one tool.Tool
}

func (l listing) Tools(*tool.Context) ([]tool.Tool, error) {
	l.tools.Add(1)
	return []tool.Tool{l.one}, nil
}

// executing is an executor that counts.
type executing struct{ *edges }

func (e executing) Execute(*tool.Context, *code.Request) (*code.Result, error) {
	return &code.Result{Stdout: fmt.Sprint("execution ", e.tools.Add(1)), Files: []code.File{{Name: "a.txt", Data: []byte("a")}}}, nil
}

// codeThen writes code, and says something when it has the result.
func codeThen(source string, text func() string) scripted.Step {
	return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		contents := req.Contents()
		if strings.Contains(contents[len(contents)-1].Text(), "execution") {
			return scripted.Say(text())(ctx, req)
		}
		return scripted.Say("```python\n"+source+"\n```")(ctx, req)
	}
}

// far is an agent of another server that counts. It cannot be reached the third time.
type far struct{ *edges }

func (f far) Send(_ context.Context, _ *agent.RemoteAuth, m *agent.RemoteMessage) iter.Seq2[*agent.RemoteUpdate, error] {
	return func(yield func(*agent.RemoteUpdate, error) bool) {
		n := f.tools.Add(1)
		task := fmt.Sprint("task-", n)
		say := func(text string, ended bool) bool {
			ev := &event.Event{Content: event.Text(event.RoleModel, text)}
			return yield(&agent.RemoteUpdate{Task: task, Conversation: "talk", Event: ev, ID: text, Ended: ended}, nil)
		}
		if say(fmt.Sprint("first ", n), false) && len(m.Parts) > 0 && m.Parts[0].Text == "and again" {
			yield(nil, errors.New("no route to the agent"))
			return
		}
		say(fmt.Sprint("then ", n), true)
	}
}

func (f far) Follow(context.Context, *agent.RemoteAuth, string) iter.Seq2[*agent.RemoteUpdate, error] {
	f.tools.Add(1)
	return func(func(*agent.RemoteUpdate, error) bool) {}
}

func (f far) Cancel(context.Context, *agent.RemoteAuth, string) error { return nil }

// trees are applications that use the two edges in all ways that there are.
func (e *edges) trees(t *testing.T) map[string]*agent.Agent {
	t.Helper()
	ok := must(t)
	note := func() tool.Tool {
		return e.tool("note", func(ctx *tool.Context) (any, error) {
			return map[string]string{"noted": "yes"}, ctx.State.Set("noted", "yes")
		})
	}
	done := func() string { return "Done. " + e.text }
	lead := agent.LLMConfig{Name: cmp.Or(e.name, "led"), Instruction: e.instruction, Model: e.model(toolThen("note", map[string]string{"text": "a"}, done)), Tools: []tool.Tool{note()}}
	save := e.tool("note", func(ctx *tool.Context) (any, error) {
		_, err := ctx.SaveArtifact("a.txt", &event.Part{Text: "saved"})
		return "saved", err
	})
	say := func(name, key string) *agent.Agent {
		return ok(agent.NewLLM(agent.LLMConfig{Name: name, Model: e.model(scripted.Say(name)), OutputKey: key}))
	}
	changed := lead
	changed.AfterModel = []agent.AfterModel{func(_ *tool.Context, resp *model.Response) (*model.Response, error) {
		if resp.Content.Text() == "" {
			return nil, nil
		}
		return model.Text(resp.Content.Text() + "!"), nil
	}}
	inPlace := lead
	inPlace.AfterModel = []agent.AfterModel{func(_ *tool.Context, resp *model.Response) (*model.Response, error) {
		for _, p := range resp.Content.Parts {
			if p.Text != "" {
				p.Text += "?"
			}
		}
		return nil, nil
	}}
	after := lead
	after.AfterTool = []agent.AfterTool{func(*tool.Context, *agent.Call, json.RawMessage) (any, error) {
		return map[string]string{"changed": "yes"}, nil
	}}
	inner := lead
	inner.Name = "inner"
	double := workflow.Func("double", func(_ *workflow.Context, in string) (string, error) { return in + in, nil }, workflow.NodeConfig{})
	long := tool.Must(tool.New(tool.Declaration{Name: "note", LongRunning: true}, func(*tool.Context, struct{}) (any, error) {
		e.tools.Add(1)
		return nil, nil
	}))
	asks := lead
	asks.Tools = []tool.Tool{tool.Confirm(note(), nil)}
	waits := lead
	waits.Tools = []tool.Tool{long}
	files := lead
	files.Tools = []tool.Tool{save}
	fails := lead
	fails.Tools = []tool.Tool{e.tool("note", func(*tool.Context) (any, error) { return nil, errors.New("no disk") })}
	twice := lead
	twice.Model = e.model(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if len(scripted.LastResponses(req)) > 0 {
			return scripted.Say(done())(ctx, req)
		}
		return scripted.Calls(&event.FunctionCall{Name: "note", Args: json.RawMessage(`{"text":"a"}`)}, &event.FunctionCall{Name: "note", Args: json.RawMessage(`{"text":"b"}`)})(ctx, req)
	})
	bare := lead
	bare.Model = e.model(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if len(scripted.LastResponses(req)) > 0 {
			return scripted.Say(done())(ctx, req)
		}
		return scripted.Calls(&event.FunctionCall{Name: "note"})(ctx, req)
	})
	lists := lead
	lists.Tools, lists.Toolsets = []tool.Tool{e.tool("own", func(*tool.Context) (any, error) { return nil, nil })}, []tool.Toolset{listing{e, note()}}
	listsLong := lead
	listsLong.Tools, listsLong.Toolsets = nil, []tool.Toolset{listing{e, long}}
	return map[string]*agent.Agent{
		"toolset": ok(agent.NewLLM(lists)),
		"longset": ok(agent.NewLLM(listsLong)),
		"code": ok(agent.NewLLM(agent.LLMConfig{
			Name: "coder", Model: e.model(codeThen("print(1)", done)), Code: &code.Config{Executor: executing{e}},
		})),
		"remote": ok(agent.NewRemote(agent.RemoteConfig{Config: agent.Config{Name: "far"}, Remote: far{e}})),
		"remotes": ok(agent.NewParallel(agent.Config{Name: "p", SubAgents: []*agent.Agent{
			ok(agent.NewRemote(agent.RemoteConfig{Config: agent.Config{Name: "far"}, Remote: far{e}})),
			ok(agent.NewRemote(agent.RemoteConfig{Config: agent.Config{Name: "farther"}, Remote: far{e}})),
		}})),
		"tool":    ok(agent.NewLLM(lead)),
		"bare":    ok(agent.NewLLM(bare)),
		"fails":   ok(agent.NewLLM(fails)),
		"twice":   ok(agent.NewLLM(twice)),
		"changed": ok(agent.NewLLM(changed)),
		"inplace": ok(agent.NewLLM(inPlace)),
		"after":   ok(agent.NewLLM(after)),
		"files":   ok(agent.NewLLM(files)),
		"confirm": ok(agent.NewLLM(asks)),
		"long":    ok(agent.NewLLM(waits)),
		"refuses": ok(agent.NewLLM(agent.LLMConfig{Name: "r", Model: e.model(scripted.Error("SAFETY", "no"))})),
		"broken":  ok(agent.NewLLM(agent.LLMConfig{Name: "b", Model: e.model(scripted.Fail(errors.New("no route to the model")))})),
		"transfer": ok(agent.NewLLM(agent.LLMConfig{
			Name: "top", Model: e.model(scripted.Call("transfer_to_agent", map[string]string{"agentName": "led"})), SubAgents: []*agent.Agent{ok(agent.NewLLM(lead))},
		})),
		"parallel": ok(agent.NewParallel(agent.Config{Name: "p", SubAgents: []*agent.Agent{say("one", "x"), say("two", "y"), say("three", "z")}})),
		"sequence": ok(agent.NewSequential(agent.Config{Name: "s", SubAgents: []*agent.Agent{say("one", "x"), ok(agent.NewLLM(agent.LLMConfig{
			Name: "two", Instruction: "Repeat {x}.", Model: e.model(scripted.Say("two")),
		}))}})),
		"astool": ok(agent.NewLLM(agent.LLMConfig{
			Name: "outer", Model: e.model(toolThen("inner", map[string]string{"request": "do it"}, done)), Tools: []tool.Tool{agent.AsTool(ok(agent.NewLLM(inner)))},
		})),
		"workflow": ok(workflow.New(workflow.Config{Name: "w", Edges: workflow.Chain(workflow.Start, double, workflow.Agent(say("one", "x"), workflow.NodeConfig{}))})),
		"compaction": ok(agent.NewLLM(agent.LLMConfig{
			Name: "c", Model: e.model(scripted.Say("more")),
			Compactions: []*agent.Compaction{{Events: 2, Keep: 1, Summarize: agent.Summarizer(e.model(scripted.Say("a summary")), "")}},
		})),
	}
}

func (e *edges) open(t *testing.T) *parley.Server {
	t.Helper()
	srv, err := parley.Open(t.Context(), parley.Config{
		Models: map[string]model.Model{"other": scripted.Func(scripted.Say("I am another.")), "echo": scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			said := req.Instruction
			if req.Config != nil && req.Config.Temperature != nil {
				said += fmt.Sprintf(" At %v.", *req.Config.Temperature)
			}
			return scripted.Say(said)(ctx, req)
		})},
		Agents: e.trees(t), Recording: parley.RecordingConfig{Share: 1}, Sessions: parley.SessionConfig{URL: e.session}, Artifacts: parley.ArtifactConfig{URL: "memory://"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

// converse holds a conversation of some messages, answers what is asked in it, and
// returns the ids of its runs.
func converse(t *testing.T, srv *parley.Server, app string, stream bool) (runs []string) {
	t.Helper()
	send := func(message *event.Content) *parley.Result {
		t.Helper()
		r, err := srv.Start(t.Context(), parley.Request{App: app, User: "u", Session: "s", Message: message, Stream: stream})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r.ID())
		result, err := r.Wait(t.Context())
		if err != nil && !errors.Is(err, parley.ErrFailed) {
			t.Fatal(err)
		}
		return result
	}
	for _, text := range []string{"hello", "again", "and again"} {
		result := send(event.Text(event.RoleUser, text))
		for result != nil && result.Waiting() {
			answer := &event.Content{Role: event.RoleUser}
			for _, ev := range result.Events {
				for _, call := range ev.FunctionCalls() {
					switch {
					case call.Name == tool.ConfirmationCall:
						answer.Parts = append(answer.Parts, &event.Part{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage(`{"confirmed":true}`)}})
					case len(ev.LongRunningToolIDs) > 0:
						answer.Parts = append(answer.Parts, &event.Part{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage(`{"answer":42}`)}})
					}
				}
			}
			result = send(answer)
		}
	}
	return runs
}

func report(t *testing.T, srv *parley.Server, app, run string, plan replay.Plan) *replay.Report {
	t.Helper()
	r, err := srv.Replay(t.Context(), session.Key{App: app, User: "u", ID: "s"}, run, plan)
	if err != nil {
		t.Fatalf("replay %s: %v", app, err)
	}
	return r
}

func differences(r *replay.Report) string {
	doc, _ := json.MarshalIndent(r, "", " ")
	return string(doc)
}

// kind is an instruction that the recordings of a session share.
var kind = strings.Repeat("Be kind. ", 100)

// onlyRecorded are the applications whose runs cannot be repeated from the log.
var onlyRecorded = map[string]string{
	"changed":    "the log has what callbacks made of the answer",
	"inplace":    "the log has what callbacks made of the answer",
	"after":      "the log has what callbacks made of the result",
	"astool":     "the log does not have what agents in tools do",
	"compaction": "the log does not have the answer of the model that summarizes",
	"broken":     "the log does not have why a model could not be reached",
}

// A replay with recorded answers calls nothing, and does the same: after a
// restart, on another server, and if nothing was recorded.
func TestExactReplay(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "sqlite://"} {
		for _, recorded := range []bool{true, false} {
			for app := range (&edges{}).trees(t) {
				name := strings.Trim(url, ":/") + "/" + app
				if !recorded {
					name += "/log"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if why, only := onlyRecorded[app]; only && !recorded {
						t.Skip(why)
					}
					e := &edges{instruction: kind}
					if url != "" {
						e.session = "sqlite://" + filepath.Join(t.TempDir(), "s.db")
					}
					srv := e.open(t)
					runs := converse(t, srv, app, true)
					if url != "" {
						srv.Close(context.WithoutCancel(t.Context()))
						srv = e.open(t)
					}
					defer func() { srv.Close(context.WithoutCancel(t.Context())) }()
					if !recorded {
						srv.ForgetRecordings()
					}
					before := [2]int64{e.models.Load(), e.tools.Load()}
					for _, run := range runs {
						if r := report(t, srv, app, run, replay.Plan{}); !r.Same || r.FromLog == recorded {
							t.Errorf("run %s: %s", run, differences(r))
						}
					}
					if after := [2]int64{e.models.Load(), e.tools.Load()}; after != before {
						t.Errorf("models and tools were called: %v, before %v", after, before)
					}
				})
			}
		}
	}
}

// firstDifference is the first call or event that is not as it was.
func firstDifference(r *replay.Report) string {
	for _, c := range r.Calls {
		switch {
		case c.Missing:
			return "call " + c.Name + " missing"
		case len(c.Differences) > 0:
			return "call " + c.Name + " " + c.Differences[0].Path
		}
	}
	for _, ev := range r.Events {
		if len(ev.Differences) > 0 {
			return "event " + ev.Author + " " + ev.Differences[0].Path
		}
	}
	return ""
}

// What has changed since a run was recorded is found in the first step that it
// changes. Nothing is called.
func TestReplayShowsTheFirstDifference(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, app string
		change    func(*edges)
		want      string
	}{
		{"nothing", "tool", func(*edges) {}, ""},
		{"instruction", "tool", func(e *edges) { e.instruction = "Be brief." }, "call scripted instruction"},
		{"instruction of a later agent", "transfer", func(e *edges) { e.instruction = "Be brief." }, "call scripted instruction"},
		{"tool", "tool", func(e *edges) { e.described = "Notes things." }, "call scripted tools[0].description"},
		{"model", "tool", func(e *edges) { e.called = "newer" }, "call newer model"},
		{"another agent", "tool", func(e *edges) { e.name = "other" }, "call scripted missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &edges{instruction: "Be kind.", session: "sqlite://" + filepath.Join(t.TempDir(), "s.db")}
			srv := e.open(t)
			run := converse(t, srv, tt.app, false)[0]
			srv.Close(context.WithoutCancel(t.Context()))
			tt.change(e)
			srv = e.open(t)
			defer srv.Close(context.WithoutCancel(t.Context()))
			before := [2]int64{e.models.Load(), e.tools.Load()}
			r := report(t, srv, tt.app, run, replay.Plan{})
			if got := firstDifference(r); got != tt.want || r.Same != (tt.want == "") {
				t.Errorf("the first difference is %q, want %q: %s", got, tt.want, differences(r))
			}
			if after := [2]int64{e.models.Load(), e.tools.Load()}; after != before {
				t.Errorf("models and tools were called: %v, before %v", after, before)
			}
		})
	}
}

// A plan says what is called, and what is answered in another way.
func TestReplayPlans(t *testing.T) {
	t.Parallel()
	last := func(t *testing.T, srv *parley.Server, id string) string {
		t.Helper()
		s, err := srv.Sessions().Get(t.Context(), session.Key{App: "tool", User: "u", ID: id})
		if err != nil {
			t.Fatal(err)
		}
		ev, err := s.Entries[len(s.Entries)-1].Decode()
		if err != nil {
			t.Fatal(err)
		}
		if s.Origin == nil || s.Origin.Session != "s" || s.Origin.Replay == "" {
			t.Errorf("the origin of the replay is %+v", s.Origin)
		}
		return ev.Content.Text()
	}
	for _, tt := range []struct {
		name          string
		plan          replay.Plan
		models, tools int64
		want          string
	}{
		{"recorded", replay.Plan{}, 0, 0, "Done. "},
		{"live models", replay.Plan{LiveModels: true}, 2, 0, "Done. now"},
		{"everything live", replay.Plan{LiveModels: true, LiveTools: true}, 2, 1, "Done. now"},
		{"from a step on", replay.Plan{From: 3}, 1, 0, "Done. now"},
		{"another result", replay.Plan{Results: map[int]json.RawMessage{2: json.RawMessage(`{"noted":"no"}`)}}, 1, 0, "Done. now"},
		{"another result for another model", replay.Plan{Results: map[int]json.RawMessage{2: json.RawMessage(`{"noted":"no"}`)}, Model: "other"}, 0, 0, "I am another."},
		{"another model", replay.Plan{From: 3, Model: "other"}, 0, 0, "I am another."},
		{"another model for one call", replay.Plan{Live: []int{3}, Model: "other"}, 0, 0, "I am another."},
		{"another instruction", replay.Plan{LiveModels: true, Model: "echo", Instructions: map[string]string{"led": "Say this."}}, 0, 0, "Say this."},
		{"another temperature", replay.Plan{LiveModels: true, Model: "echo", Instructions: map[string]string{"led": "Say this."}, Temperature: new(0.25)}, 0, 0, "Say this. At 0.25."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &edges{instruction: "Be kind."}
			srv := e.open(t)
			defer srv.Close(context.WithoutCancel(t.Context()))
			run := converse(t, srv, "tool", false)[0]
			kept, err := srv.Sessions().Get(t.Context(), session.Key{App: "tool", User: "u", ID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			e.text = "now"
			before := [2]int64{e.models.Load(), e.tools.Load()}
			r := report(t, srv, "tool", run, tt.plan)
			if got := last(t, srv, r.Session); got != tt.want {
				t.Errorf("it says %q, want %q: %s", got, tt.want, differences(r))
			}
			if got := [2]int64{e.models.Load() - before[0], e.tools.Load() - before[1]}; got != [2]int64{tt.models, tt.tools} {
				t.Errorf("%v calls of models and tools, want %d and %d: %s", got, tt.models, tt.tools, differences(r))
			}
			now, err := srv.Sessions().Get(t.Context(), session.Key{App: "tool", User: "u", ID: "s"})
			if err != nil || len(now.Entries) != len(kept.Entries) || now.Updated != kept.Updated {
				t.Errorf("the session has changed: %d entries of %d, %v", len(now.Entries), len(kept.Entries), err)
			}
		})
	}
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	e := &edges{}
	srv := e.open(t)
	defer srv.Close(context.WithoutCancel(t.Context()))
	run := converse(t, srv, "tool", false)[0]
	for _, tt := range []struct {
		run, want string
		plan      replay.Plan
	}{
		{"none", "parley: there is no run none in the session s", replay.Plan{}},
		{run, "set liveModels, from or results", replay.Plan{Model: "other"}},
		{run, "set liveModels, from or results", replay.Plan{Instructions: map[string]string{"a": "b"}}},
		{run, "set liveModels, from or results", replay.Plan{Temperature: new(0.5)}},
		{run, "not negative", replay.Plan{LiveModels: true, Temperature: new(-1.0)}},
		{run, "beginning with 1", replay.Plan{From: -1}},
		{run, "no recorded call with the number 9", replay.Plan{Live: []int{1, 9}}},
		{run, "no recorded call with the number 0", replay.Plan{Live: []int{0}}},
		{run, "either made or gets another result", replay.Plan{Live: []int{2}, Results: map[int]json.RawMessage{2: json.RawMessage(`{}`)}}},
		{run, "set liveModels, from or results", replay.Plan{Live: []int{2}, Model: "other"}},
		{run, "no recorded call of a tool with the number 1", replay.Plan{Results: map[int]json.RawMessage{1: json.RawMessage(`{}`)}}},
		{run, "not JSON", replay.Plan{Results: map[int]json.RawMessage{2: json.RawMessage(`{`)}}},
	} {
		_, err := srv.Replay(t.Context(), session.Key{App: "tool", User: "u", ID: "s"}, tt.run, tt.plan)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Replay(%s, %+v): %v, want %s", tt.run, tt.plan, err, tt.want)
		}
	}
	// What does not exist is named, and not what the store has tried.
	absent := session.Key{App: "tool", User: "u", ID: "none"}
	_, replayed := srv.Replay(t.Context(), absent, run, replay.Plan{})
	_, recorded := srv.Recording(t.Context(), absent, run)
	_, found := srv.FindRun(t.Context(), absent, run)
	_, got := srv.Sessions().Get(t.Context(), absent)
	for _, err := range []error{replayed, recorded, found, got} {
		if !errors.Is(err, parley.ErrNotFound) || err.Error() != "parley: there is no session none of the user u with the application tool" {
			t.Errorf("%v", err)
		}
	}
	list, _, err := srv.Sessions().List(t.Context(), "tool", "u", session.Page{})
	if err != nil || len(list) != 1 {
		t.Errorf("replays that were refused have left something: %+v, %v", list, err)
	}
}

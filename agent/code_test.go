package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// executor is an executor for tests, which keeps what it was asked for.
type executor struct {
	run    func(ctx *tool.Context, req *code.Request) (*code.Result, error)
	effect tool.Effect

	mu   sync.Mutex
	asks []*code.Request
	ids  []string
}

func (e *executor) Execute(ctx *tool.Context, req *code.Request) (*code.Result, error) {
	e.mu.Lock()
	e.asks, e.ids = append(e.asks, req), append(e.ids, ctx.FunctionCallID)
	e.mu.Unlock()
	return e.run(ctx, req)
}

func (e *executor) Effect() tool.Effect { return e.effect }

// prints is an executor whose code prints a text.
func prints(text string) *executor {
	return &executor{run: func(*tool.Context, *code.Request) (*code.Result, error) { return &code.Result{Stdout: text}, nil }}
}

// transcript is what happened, one line a part.
func transcript(events []*event.Event) string {
	var lines []string
	for _, ev := range events {
		for _, p := range ev.Content.Parts {
			switch {
			case p.ExecutableCode != nil:
				lines = append(lines, fmt.Sprintf("code %s %q", p.ExecutableCode.Language, p.ExecutableCode.Code))
			case p.CodeExecutionResult != nil:
				lines = append(lines, fmt.Sprintf("result %s %q", p.CodeExecutionResult.Outcome, p.CodeExecutionResult.Output))
			default:
				lines = append(lines, fmt.Sprintf("%s %q", ev.Content.Role, p.Text))
			}
		}
		if ev.TurnComplete {
			lines = append(lines, "end")
		}
	}
	return strings.Join(lines, "\n")
}

func wantTranscript(t *testing.T, events []*event.Event, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), transcript(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func contentsOf(req *model.Request) (lines []string) {
	for _, c := range req.Contents() {
		for _, p := range c.Parts {
			lines = append(lines, c.Role+" "+p.Text)
		}
	}
	return lines
}

func TestCodeBlocksAreRun(t *testing.T) {
	t.Parallel()
	m := scripted.New(
		scripted.Say("Let me see.\n```python\nprint(6*7)\n```\nIt is 41."),
		scripted.Say("```javascript\nconsole.log(1)\n```"),
		scripted.Say("It is 42."))
	e := prints("42")
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, OutputKey: "answer", Code: &code.Config{Executor: e, Stateful: true}}))
	events := c.say("go")
	wantTranscript(t, events,
		`model "Let me see.\n"`, `code PYTHON "print(6*7)"`, `result OUTCOME_OK "Code execution result:\n42\n"`,
		`code JAVASCRIPT "console.log(1)"`, `result OUTCOME_OK "Code execution result:\n42\n"`, `model "It is 42."`, "end")
	if diff := cmp.Diff([]*code.Request{{Code: "print(6*7)", Language: "python", ID: "s"}, {Code: "console.log(1)", Language: "javascript", ID: "s"}}, e.asks); diff != "" {
		t.Errorf("the executor was asked for (-want +got):\n%s", diff)
	}
	if e.ids[0] != events[0].ID || e.ids[1] != events[2].ID {
		t.Errorf("the executions have the ids %q, want those of the events with the code", e.ids)
	}
	for i, ev := range events[:4] {
		if len(ev.Actions.StateDelta) > 0 || ev.Final() && i%2 == 1 {
			t.Errorf("event %d is an answer", i)
		}
	}
	want := []string{
		"user go", "model Let me see.\n", "model ```tool_code\nprint(6*7)\n```", "user ```tool_output\nCode execution result:\n42\n\n```",
		"model ```javascript\nconsole.log(1)\n```", "user ```tool_output\nCode execution result:\n42\n\n```",
	}
	if diff := cmp.Diff(want, contentsOf(m.Requests()[2])); diff != "" {
		t.Errorf("the model has seen (-want +got):\n%s", diff)
	}
}

func TestCodeWithoutAnExecutorIsText(t *testing.T) {
	t.Parallel()
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Say("```python\nprint(1)\n```"))}))
	wantTranscript(t, c.say("go"), `model "`+"```python\\nprint(1)\\n```"+`"`, "end")
}

func TestCodeInParts(t *testing.T) {
	t.Parallel()
	parts := func(parts ...*event.Part) scripted.Step {
		return scripted.Respond(&model.Response{Content: &event.Content{Role: event.RoleModel, Parts: parts}})
	}
	run, ran := &event.Part{ExecutableCode: &event.ExecutableCode{Code: "1", Language: "PYTHON"}}, &event.Part{CodeExecutionResult: &event.CodeExecutionResult{Outcome: "OUTCOME_OK", Output: "1"}}
	call := &event.Part{FunctionCall: &event.FunctionCall{Name: "find", Args: json.RawMessage(`{}`)}}
	for name, tt := range map[string]struct {
		first *event.Content
		want  []string
	}{
		"code":                   {&event.Content{Parts: []*event.Part{call, run, {Text: "dropped"}, call}}, []string{`code PYTHON "1"`, `result OUTCOME_OK "Code execution result:\n2\n"`, `model "done"`, "end"}},
		"code with a result":     {&event.Content{Parts: []*event.Part{run, ran, {Text: "1"}}}, []string{`code PYTHON "1"`, `result OUTCOME_OK "1"`, `model "1"`, "end"}},
		"a thought of code":      {&event.Content{Parts: []*event.Part{{Text: "```python\n1\n```", Thought: true}, {Text: "no"}}}, []string{`model "` + "```python\\n1\\n```" + `"`, `model "no"`, "end"}},
		"an empty block":         {&event.Content{Parts: []*event.Part{{Text: "```python\n\n```"}}}, []string{`model "` + "```python\\n\\n```" + `"`, "end"}},
		"a block without an end": {&event.Content{Parts: []*event.Part{{Text: "```python\n1"}}}, []string{`model "` + "```python\\n1" + `"`, "end"}},
		"a block over parts":     {&event.Content{Parts: []*event.Part{{Text: "```sh"}, {Text: "ls\n```"}}}, []string{`code SHELL "ls"`, `result OUTCOME_OK "Code execution result:\n2\n"`, `model "done"`, "end"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := scripted.New(parts(tt.first.Parts...), scripted.Say("done"))
			c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools(lookup("find")), Code: &code.Config{Executor: prints("2")}}))
			wantTranscript(t, c.say("go"), tt.want...)
		})
	}
}

func TestCodeErrorsAreRetried(t *testing.T) {
	t.Parallel()
	block := scripted.Say("```python\nx\n```")
	for retries, want := range map[int]int{-1: 0, 0: 2, 3: 3} {
		t.Run(fmt.Sprint(retries), func(t *testing.T) {
			t.Parallel()
			e := &executor{run: func(*tool.Context, *code.Request) (*code.Result, error) {
				return &code.Result{Stdout: "unseen", Stderr: "NameError: x"}, nil
			}}
			c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(block, block, block, block, block), Code: &code.Config{Executor: e, ErrorRetries: retries}}))
			events := c.say("go")
			if len(e.asks) != want || len(events) != 2*want+1 {
				t.Errorf("%d executions and %d events, want %d:\n%s", len(e.asks), len(events), want, transcript(events))
			}
			if want > 0 {
				wantTranscript(t, events[:2], `code PYTHON "x"`, `result OUTCOME_FAILED "NameError: x"`)
			}
			wantTranscript(t, events[2*want:], `model "`+"```python\\nx\\n```"+`"`, "end")
		})
	}
}

func TestCodeSuccessResetsTheErrors(t *testing.T) {
	t.Parallel()
	n := 0
	e := &executor{run: func(*tool.Context, *code.Request) (*code.Result, error) {
		if n++; n%2 == 0 {
			return &code.Result{Stdout: "ok"}, nil
		}
		return nil, errors.New("no executor answers")
	}}
	block := scripted.Say("```python\nx\n```")
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(block, block, block, block, block, scripted.Say("done")), Code: &code.Config{Executor: e}}))
	events := c.say("go")
	if n != 5 || len(events) != 11 {
		t.Errorf("%d executions:\n%s", n, transcript(events))
	}
	wantTranscript(t, events[1:2], `result OUTCOME_FAILED "no executor answers"`)
}

func TestCodeLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", code.MaxOutput)
	for name, tt := range map[string]struct {
		code string
		run  func(ctx *tool.Context, req *code.Request) (*code.Result, error)
		want string
	}{
		"code": {code: strings.Repeat("x", code.MaxCode+1), want: `result OUTCOME_FAILED "the code has 262145 bytes, and at most 262144 are allowed: write less"`},
		"time": {code: "x", run: func(ctx *tool.Context, _ *code.Request) (*code.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, want: `result OUTCOME_DEADLINE_EXCEEDED "the execution did not end in its time: 1ms"`},
		"output": {code: "x", run: func(*tool.Context, *code.Request) (*code.Result, error) {
			return &code.Result{Stderr: long + "y"}, nil
		}, want: fmt.Sprintf("result OUTCOME_FAILED %q", long+"\n[The rest was left out: the output is too long.]")},
		"half a character": {code: "x", run: func(*tool.Context, *code.Request) (*code.Result, error) {
			return &code.Result{Stderr: long[1:] + "é"}, nil
		}, want: fmt.Sprintf("result OUTCOME_FAILED %q", long[1:]+"\n[The rest was left out: the output is too long.]")},
		"bytes of files": {code: "x", run: func(*tool.Context, *code.Request) (*code.Result, error) {
			return &code.Result{Files: []code.File{{Name: "a", Data: make([]byte, code.MaxBytes+1)}}}, nil
		}, want: `result OUTCOME_FAILED "the code has written too much, and nothing was saved: the files have 33554433 bytes, and at most 33554432 are allowed"`},
		"number of files": {code: "x", run: func(*tool.Context, *code.Request) (*code.Result, error) {
			return &code.Result{Files: make([]code.File, code.MaxFiles+1)}, nil
		}, want: `result OUTCOME_FAILED "the code has written too much, and nothing was saved: there are 101 files, and at most 100 are allowed"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := scripted.New(scripted.Say("```python\n"+tt.code+"\n```"), scripted.Say("done"))
			limit := time.Duration(0)
			if name == "time" {
				limit = time.Millisecond
			}
			c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Code: &code.Config{Executor: &executor{run: tt.run}, Timeout: limit}}))
			wantTranscript(t, c.say("go")[1:2], tt.want)
		})
	}
}

func TestCodeFiles(t *testing.T) {
	t.Parallel()
	var saved []byte
	e := &executor{run: func(_ *tool.Context, req *code.Request) (*code.Result, error) {
		if strings.Contains(req.Code, "read_csv") {
			return &code.Result{Stdout: "2 columns"}, nil
		}
		return &code.Result{Files: []code.File{{Name: "out/sum.csv", Data: []byte("3")}}}, nil
	}}
	m := scripted.New(scripted.Say("```tool_code\nsum()\n```"), scripted.Say("See the file."), scripted.Say("Still there."))
	root := mustLLM(agent.LLMConfig{
		Name: "a", Model: m, Code: &code.Config{Executor: e, DataFiles: true},
		AfterAgent: []agent.Callback{func(ctx *tool.Context) (*event.Content, error) {
			_, r, err := ctx.OpenArtifact("out/sum.csv", tool.LatestArtifact)
			if err == nil {
				saved, err = io.ReadAll(r)
				_ = r.Close()
			}
			return nil, err
		}},
	})
	c := newChat(t, root)
	csv := &event.Part{InlineData: &event.Blob{MIMEType: "text/csv", Data: []byte("a,b\n1,2\n")}}
	events, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{Text: "add"}, csv}})
	if err != nil {
		t.Fatal(err)
	}
	if got := events[0].Content.Parts; got[0].Text != "Processing input file: `data_1_2.csv`" || !strings.Contains(got[1].ExecutableCode.Code, "data_1_2 = pd.read_csv('data_1_2.csv')") {
		t.Errorf("the file was described with %s", transcript(events[:1]))
	}
	wantTranscript(t, events[1:], `result OUTCOME_OK "Code execution result:\n2 columns\n"`, `code PYTHON "sum()"`, `result OUTCOME_OK "Saved artifacts:\nout/sum.csv"`, `model "See the file."`, "end")
	if v, ok := events[3].Actions.ArtifactDelta["out/sum.csv"]; !ok || v != 0 || string(saved) != "3" {
		t.Errorf("saved %q, with the delta %v", saved, events[3].Actions.ArtifactDelta)
	}
	file := []code.File{{Name: "data_1_2.csv", MIMEType: "text/csv", Data: []byte("a,b\n1,2\n")}}
	if diff := cmp.Diff([][]code.File{file, file}, [][]code.File{e.asks[0].Files, e.asks[1].Files}); diff != "" {
		t.Errorf("the code can read (-want +got):\n%s", diff)
	}
	if got := contentsOf(m.Requests()[0])[:2]; got[1] != "user \nAvailable file: `data_1_2.csv`\n" {
		t.Errorf("the model has seen %q", got)
	}
	if c.say("again"); len(e.asks) != 2 {
		t.Errorf("the file was described again: %d executions", len(e.asks))
	}
}

// TestCodeTakeover ends the process of a run after each of its events.
func TestCodeTakeover(t *testing.T) {
	t.Parallel()
	for effect, again := range map[tool.Effect]bool{"": false, tool.Once: false, tool.Ask: false, tool.Pure: true, tool.Idempotent: true} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			steps := []scripted.Step{scripted.Say("```python\n1\n```"), scripted.Say("```python\n2\n```"), scripted.Say("done")}
			play := func(tp *tape, takeover bool) *executor {
				e := prints("ok")
				e.effect = effect
				m := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
					n := 0
					for _, c := range req.Contents() {
						if c.Role == event.RoleModel {
							n++
						}
					}
					return steps[n](ctx, req)
				})
				inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: tp.id, UserContent: event.Text(event.RoleUser, "go"), Log: tp, Journal: journal{tp}, Takeover: takeover, MaxModelCalls: 3}
				if err := inv.Start(t.Context(), mustLLM(agent.LLMConfig{Name: "a", Model: m, Code: &code.Config{Executor: e}}), tp.emit); err != nil {
					t.Fatal(err)
				}
				return e
			}
			whole := newTape()
			if err := whole.emit(&event.Event{Author: event.User, Content: event.Text(event.RoleUser, "go")}); err != nil {
				t.Fatal(err)
			}
			play(whole, false)
			for _, at := range whole.moments {
				found := whole.cut(t, at)
				last := found.events[len(found.events)-1]
				e := play(found, true)
				running := last.Content.Parts[len(last.Content.Parts)-1].ExecutableCode != nil
				want := strings.Split(transcript(whole.events), "\n")
				if running && !again {
					want[at.events] = `result OUTCOME_FAILED "The execution was interrupted before it finished; it may or may not have taken effect."`
				}
				wantTranscript(t, found.events, want...)
				runs := 2 - (at.events-1)/2
				if running && !again {
					runs--
				}
				if len(e.asks) != runs {
					t.Errorf("after %d events: %d executions, want %d", at.events, len(e.asks), runs)
				}
				if running && again && e.ids[0] != last.ID {
					t.Errorf("after %d events: the id of the repeated execution is %s, want %s", at.events, e.ids[0], last.ID)
				}
			}
		})
	}
}

func TestBuiltInCode(t *testing.T) {
	t.Parallel()
	m := scripted.New(scripted.Say("```python\nx\n```"))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Code: &code.Config{Executor: code.BuiltIn{}}}))
	wantTranscript(t, c.say("go"), `model "`+"```python\\nx\\n```"+`"`, "end")
	if got := m.Requests()[0].Config.ProviderTools; len(got) != 1 || string(got[0]) != `{"codeExecution":{}}` {
		t.Errorf("the tools of the provider are %s", got)
	}
}

func TestCodeWithoutExecutor(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]*code.Config{"no executor": {}, "no delimiters": {Executor: prints(""), Blocks: []code.Block{{}}}} {
		if _, err := agent.NewLLM(agent.LLMConfig{Name: "a", Code: cfg}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// codeWatcher keeps the steps of tools.
type codeWatcher struct {
	recordingObserver
	steps []string
}

func (w *codeWatcher) Done(s *agentrt.Step) {
	if s.Kind == agentrt.StepTool {
		w.steps = append(w.steps, fmt.Sprintf("%s %s %s %s", s.Tool.Declaration().Name, s.Input, s.Output, s.ErrorType))
	}
}

func (w *codeWatcher) Close(s *agentrt.Step) {
	if s.Kind == agentrt.StepTool {
		w.steps = append(w.steps, fmt.Sprint("with an event ", s.Event != "", s.CallID != ""))
	}
}

// Executions are steps for observers, like calls of tools.
func TestCodeIsObserved(t *testing.T) {
	t.Parallel()
	e := &executor{run: func(_ *tool.Context, req *code.Request) (*code.Result, error) {
		return &code.Result{Stderr: "no " + req.Code}, nil
	}}
	block := scripted.Say("```sh\nls\n```")
	root := mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(block, scripted.Say("done")), Code: &code.Config{Executor: e}})
	w, tp := &codeWatcher{}, newTape()
	inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: tp.id, Log: tp, Observer: w}
	if err := inv.Start(t.Context(), root, tp.emit); err != nil {
		t.Fatal(err)
	}
	want := []string{`execute_code {"language":"SHELL","code":"ls"} {"outcome":"OUTCOME_FAILED","output":"no ls"} OUTCOME_FAILED`, "with an event true true"}
	if diff := cmp.Diff(want, w.steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/coderun"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// Outcomes of executions, as Gemini names them.
const (
	outcomeOK       = "OUTCOME_OK"
	outcomeFailed   = "OUTCOME_FAILED"
	outcomeDeadline = "OUTCOME_DEADLINE_EXCEEDED"
)

// interruptedCode is the output of an execution whose outcome is not known.
const interruptedCode = "The execution was interrupted before it finished; it may or may not have taken effect."

// builtInCode is how a request has Gemini run code.
var builtInCode = json.RawMessage(`{"codeExecution":{}}`)

// coder runs the code of one agent.
type coder struct {
	code.Config
	retries int
}

// newCoder returns nil if the agent runs no code itself.
func newCoder(cfg *code.Config) (*coder, error) {
	switch {
	case cfg == nil:
		return nil, nil
	case cfg.Executor == nil:
		return nil, errors.New("field Code has no Executor")
	case isBuiltIn(cfg.Executor):
		return nil, nil
	}
	c := &coder{Config: *cfg, retries: cmp.Or(cfg.ErrorRetries, 2)}
	if c.Blocks == nil {
		c.Blocks = code.DefaultBlocks()
	}
	if c.ResultBlock == (code.Block{}) {
		c.ResultBlock = code.Block{Open: "```tool_output\n", Close: "\n```"}
	}
	for _, b := range c.Blocks {
		if b.Open == "" || b.Close == "" {
			return nil, errors.New("a block of Code has no delimiters")
		}
	}
	return c, nil
}

// executions are those of one run of an agent.
type executions struct {
	failed int // in a row
}

// runs reports whether code is still run after so many failures.
func (c *coder) runs(e *executions) bool { return c != nil && e != nil && e.failed < c.retries }

// extract returns a response up to the end of its first code, which is its last
// part; nil if there is none. Calls of tools are left out: the model calls them
// again when it has the result.
func (c *coder) extract(said *event.Content) *event.Content {
	if said == nil {
		return nil
	}
	for i, p := range said.Parts {
		if p.ExecutableCode != nil && (i+1 == len(said.Parts) || said.Parts[i+1].CodeExecutionResult == nil) {
			kept := slices.DeleteFunc(slices.Clone(said.Parts[:i+1]), func(p *event.Part) bool { return p.FunctionCall != nil })
			return &event.Content{Role: said.Role, Parts: kept}
		}
	}
	var texts []string
	kept := &event.Content{Role: said.Role}
	for _, p := range said.Parts {
		switch {
		case p.Thought:
			kept.Parts = append(kept.Parts, p)
		case p.IsText() && p.Text != "":
			texts = append(texts, p.Text)
		}
	}
	before, source, language := c.block(strings.Join(texts, "\n"))
	if source == "" {
		return nil
	}
	if before != "" {
		kept.Parts = append(kept.Parts, &event.Part{Text: before})
	}
	kept.Parts = append(kept.Parts, &event.Part{ExecutableCode: &event.ExecutableCode{Code: source, Language: strings.ToUpper(language)}})
	return kept
}

// block finds the first block of code in a text.
func (c *coder) block(text string) (before, source, language string) {
	at, found := len(text), code.Block{}
	for _, b := range c.Blocks {
		if i := strings.Index(text, b.Open); i >= 0 && i < at {
			at, found = i, b
		}
	}
	if found.Open == "" {
		return text, "", ""
	}
	source, _, ok := strings.Cut(text[at+len(found.Open):], found.Close)
	if !ok {
		return text, "", ""
	}
	return text[:at], source, found.Language
}

// codeIn returns the code that an event ends with, nil if there is none.
func codeIn(ev *event.Event) *event.ExecutableCode {
	if ev.Content == nil || len(ev.Content.Parts) == 0 {
		return nil
	}
	return ev.Content.Parts[len(ev.Content.Parts)-1].ExecutableCode
}

// isExecution reports whether an event is the result of an execution by an agent.
func isExecution(ev *event.Event) bool {
	return ev.Content != nil && len(ev.Content.Parts) == 1 && ev.Content.Parts[0].CodeExecutionResult != nil
}

// execute runs the code in said, which the agent has emitted last, and emits the
// result. ran is false if there is no code to run.
func (l *llm) execute(ctx *Context, said *event.Event, emit Emit) (ran bool, err error) {
	part := codeIn(said)
	if part == nil || said.ErrorCode != "" || !l.coder.runs(ctx.executions) {
		return false, nil
	}
	result, err := ctx.replay(emit)
	if err != nil {
		return false, err
	}
	if result == nil {
		step, within := l.codeStep(ctx, said, part)
		if result, err = l.runCode(within, said, part); err == nil {
			step.executed(result.Content.Parts[0].CodeExecutionResult)
			err = emit(result)
		}
		step.done(err)
		step.close(resultID(result))
		if err != nil {
			return false, err
		}
	}
	if result.ErrorCode != "" {
		return false, &agentrt.Failure{Code: result.ErrorCode, Message: result.ErrorMessage}
	}
	if isExecution(result) && result.Content.Parts[0].CodeExecutionResult.Outcome == outcomeOK {
		ctx.executions.failed = 0
	} else {
		ctx.executions.failed++
	}
	return true, nil
}

func resultID(ev *event.Event) string {
	if ev == nil {
		return ""
	}
	return ev.ID
}

// codeTool is an execution as observers and edges see it: the call of a tool.
type codeTool struct {
	effect tool.Effect
	run    func(tc *tool.Context) (any, error)
}

func (t codeTool) Declaration() tool.Declaration {
	return tool.Declaration{Name: agentrt.CodeCall, Effect: t.effect}
}

func (t codeTool) Call(tc *tool.Context, _ json.RawMessage) (any, error) {
	if t.run == nil {
		return nil, errors.New("only an agent executes code")
	}
	return t.run(tc)
}

// Unnamed implements agentrt.Unnamed.
func (codeTool) Unnamed() {}

// codeArgs is code as the arguments of a call.
func codeArgs(part *event.ExecutableCode) json.RawMessage {
	return append(wire.Quote(append(wire.Quote([]byte(`{"language":`), part.Language), `,"code":`...), part.Code), '}')
}

// codeOutcome is the outcome of an execution as the result of a call.
type codeOutcome struct {
	Outcome string `json:"outcome"`
	Output  string `json:"output"`
}

// codeStep is the step in which code is run.
func (l *llm) codeStep(ctx *Context, said *event.Event, part *event.ExecutableCode) (*observedStep, *Context) {
	call := &event.FunctionCall{ID: said.ID}
	if ctx.inv.Observer != nil && ctx.inv.Observer.Detailed() {
		call.Args = codeArgs(part)
	}
	return callStep(ctx, call, codeTool{effect: code.EffectOf(l.coder.Executor)})
}

// executed records the result of an execution.
func (s *observedStep) executed(r *event.CodeExecutionResult) {
	if s == nil {
		return
	}
	if s.inv.Observer.Detailed() {
		s.Output = append(wire.Quote(append(wire.Quote([]byte(`{"outcome":`), r.Outcome), `,"output":`...), r.Output), '}')
	}
	if r.Outcome != outcomeOK {
		s.ErrorType, s.Error = r.Outcome, r.Output
	}
	s.done(nil)
}

// runCode runs code and returns the event with its result. Like a call of a tool,
// code has begun as soon as its event is stored: in a run that was taken over it
// is run again only if the effect of the executor allows it.
func (l *llm) runCode(ctx *Context, said *event.Event, part *event.ExecutableCode) (*event.Event, error) {
	out := &event.CodeExecutionResult{ID: part.ID, Outcome: outcomeFailed}
	result := &event.Event{Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{CodeExecutionResult: out}}}}
	if ctx.inv.past.holds(said) && !code.EffectOf(l.coder.Executor).Repeatable() {
		out.Output = interruptedCode
		return result, nil
	}
	tc := ctx.toolContext(&result.Actions)
	tc.FunctionCallID = said.ID
	value, err := ctx.callTool(tc, codeTool{code.EffectOf(l.coder.Executor), func(tc *tool.Context) (any, error) { return l.executeCode(ctx, tc, said, part) }}, codeArgs(part))
	if err != nil {
		return nil, err
	}
	done, ok := value.(codeOutcome)
	if !ok { // encoded at an edge
		doc, err := toolresult.Of(value)
		if err == nil {
			err = json.Unmarshal(doc, &done)
		}
		if err != nil {
			return nil, fmt.Errorf("read the result of code: %w", err)
		}
	}
	out.Outcome, out.Output = done.Outcome, done.Output
	if err := ctx.inv.seal(ctx, &result.Actions); err != nil {
		out.Outcome, out.Output = outcomeFailed, err.Error()
	}
	out.Output = agentrt.ScrubText(ctx.inv.Secrets, out.Output)
	return result, nil
}

// executeCode runs code. It fails only if the run has ended, or the executor panics.
func (l *llm) executeCode(ctx *Context, tc *tool.Context, said *event.Event, part *event.ExecutableCode) (any, error) {
	req := &code.Request{Code: part.Code, Language: strings.ToLower(part.Language)}
	if l.coder.Stateful {
		req.ID = ctx.inv.Session
	}
	if l.coder.DataFiles {
		req.Files = l.inputFiles(ctx, said)
	}
	done, err := coderun.Run(tc, l.coder.Executor, req, l.coder.Timeout)
	if panicked := (*agentrt.Panic)(nil); errors.As(err, &panicked) {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	switch {
	case errors.Is(err, code.ErrTimeout):
		return codeOutcome{outcomeDeadline, err.Error()}, nil
	case err != nil:
		return codeOutcome{outcomeFailed, err.Error()}, nil //nolint:nilerr // the model sees it
	case done.Stderr != "":
		return codeOutcome{outcomeFailed, done.Stderr}, nil
	}
	return codeOutcome{outcomeOK, resultText(done)}, nil
}

// resultText is the output of code that has not failed.
func resultText(r *code.Result) string {
	text := ""
	if r.Stdout != "" || len(r.Files) == 0 {
		text = "Code execution result:\n" + r.Stdout + "\n"
	}
	if len(r.Files) == 0 {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	names := make([]string, len(r.Files))
	for i, f := range r.Files {
		names[i] = f.Name
	}
	return text + "Saved artifacts:\n" + strings.Join(names, ", ")
}

// show replaces code, results and data files in a request by texts: the model
// does not run the code itself, and providers know few languages.
func (c *coder) show(contents []*event.Content, t *trail) []*event.Content {
	for i, content := range contents {
		changed := c.shown(content, i)
		if changed == nil {
			continue
		}
		if t != nil {
			t.saw(changed, t.contents[content])
		}
		contents[i] = changed
	}
	return contents
}

// shown is show for the content at an index, nil if it stays as it is.
func (c *coder) shown(content *event.Content, index int) *event.Content {
	var out *event.Content
	for i, p := range content.Parts {
		var text string
		role := content.Role
		switch {
		case p.ExecutableCode != nil:
			b := c.blockOf(p.ExecutableCode.Language)
			text = b.Open + p.ExecutableCode.Code + b.Close
		case p.CodeExecutionResult != nil:
			text = c.ResultBlock.Open + p.CodeExecutionResult.Output + c.ResultBlock.Close
			if len(content.Parts) == 1 {
				role = event.RoleUser
			}
		case c.DataFiles && isDataFile(content, p):
			text = "\nAvailable file: `" + dataFileName(index, i) + "`\n"
		default:
			continue
		}
		if out == nil {
			out = &event.Content{Role: role, Parts: slices.Clone(content.Parts)}
		}
		out.Parts[i] = &event.Part{Text: text}
	}
	return out
}

// blockOf returns the first block for a language, or else the first block.
func (c *coder) blockOf(language string) code.Block {
	for _, b := range c.Blocks {
		if strings.EqualFold(b.Language, language) {
			return b
		}
	}
	if len(c.Blocks) > 0 {
		return c.Blocks[0]
	}
	return code.Block{}
}

// dataFilesKey is the key of the state that names the files which were described
// to the model, as in the Agent Development Kit.
const dataFilesKey = "_code_execution_context"

type dataFilesState struct {
	Processed []string `json:"processed_input_files"`
}

// processing begins the event with the code that describes a file.
const processing = "Processing input file: `"

func isDataFile(c *event.Content, p *event.Part) bool {
	return c.Role == event.RoleUser && p.InlineData != nil && p.InlineData.MIMEType == "text/csv"
}

// dataFileName is the name of a file by its place in the conversation.
func dataFileName(content, part int) string { return fmt.Sprintf("data_%d_%d.csv", content+1, part+1) }

// dataFile returns the file that an event describes; empty if it does not.
func dataFile(ev *event.Event) string {
	if ev.Content == nil || len(ev.Content.Parts) != 2 {
		return ""
	}
	name, ok := strings.CutPrefix(ev.Content.Parts[0].Text, processing)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(name, "`")
}

// inputFiles returns the files of the conversation that the code in said can
// read. Code that describes one file reads only that.
func (l *llm) inputFiles(ctx *Context, said *event.Event) []code.File {
	var files []code.File
	only := dataFile(said)
	for i, c := range l.contents(ctx, nil) {
		for j, p := range c.Parts {
			if name := dataFileName(i, j); isDataFile(c, p) && (only == "" || only == name) {
				files = append(files, code.File{Name: name, MIMEType: p.InlineData.MIMEType, Data: p.InlineData.Data})
			}
		}
	}
	return files
}

// describe emits the code that describes the next file which the model does not
// know yet, and returns it; nil if there is none. The loop runs it like other
// code.
func (l *llm) describe(ctx *Context, emit Emit) (*event.Event, error) {
	if !l.coder.runs(ctx.executions) || !l.coder.DataFiles {
		return nil, nil
	}
	var known dataFilesState
	if doc, ok := ctx.inv.Log.Get(dataFilesKey); ok && json.Unmarshal(doc, &known) != nil {
		known = dataFilesState{}
	}
	for _, f := range l.inputFiles(ctx, &event.Event{}) {
		if slices.Contains(known.Processed, f.Name) {
			continue
		}
		state, err := json.Marshal(dataFilesState{append(known.Processed, f.Name)})
		if err != nil {
			return nil, err
		}
		ev := &event.Event{
			Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
				{Text: processing + f.Name + "`"},
				{ExecutableCode: &event.ExecutableCode{Code: describeCSV(f.Name), Language: strings.ToUpper(code.Python)}},
			}},
			Actions: event.Actions{StateDelta: map[string]json.RawMessage{dataFilesKey: state}},
		}
		return ev, emit(ev)
	}
	return nil, nil
}

// describeCSV is Python code that loads a file and prints what is in it.
func describeCSV(name string) string {
	variable := strings.TrimSuffix(name, ".csv")
	return "import pandas as pd\n\n" +
		variable + " = pd.read_csv('" + name + "')\n\n" +
		"print('Total rows:', len(" + variable + "))\n" +
		"print('Total columns:', len(" + variable + ".columns))\n" +
		"print()\n" +
		"with pd.option_context('display.max_columns', None, 'display.expand_frame_repr', False):\n" +
		"    print(pd.DataFrame({\n" +
		"        'Dtype': " + variable + ".dtypes,\n" +
		"        'Non-Null Count': " + variable + ".notna().sum(),\n" +
		"        'Unique Values Count': " + variable + ".nunique(),\n" +
		"        'Examples': [str(" + variable + "[c].drop_duplicates().head(5).tolist()) for c in " + variable + ".columns],\n" +
		"    }))\n"
}

// isBuiltIn reports whether the model runs the code itself.
func isBuiltIn(e code.Executor) bool {
	_, ok := e.(code.BuiltIn)
	return ok
}

// withBuiltIn returns settings with which Gemini runs code.
func withBuiltIn(config *model.Config) *model.Config {
	c := model.Config{}
	if config != nil {
		c = *config
	}
	c.ProviderTools = append(slices.Clone(c.ProviderTools), builtInCode)
	return &c
}

package script

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/testkit"
)

// write makes files in a new directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "app")
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// source is an agent with one tool, fine, whose body is given.
func source(body string) string {
	return `import { FunctionTool, LlmAgent } from '@google/adk';
const fine = new FunctionTool({ name: 'fine', description: 'Works.', execute: async () => { ` + body + ` } });
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [fine] });
`
}

// A broken application says where it is broken, and the others are served.
func TestBrokenApplications(t *testing.T) {
	dir := write(t, map[string]string{
		"syntax/index.ts":  "export const x = 1;\nexport const rootAgent = new (;\n",
		"missing/index.ts": "import { x } from './nowhere';\nexport const rootAgent = x;\n",
		"package/index.ts": "import left from 'left-pad';\nexport const rootAgent = left;\n",
		"throws/index.ts":  "const f = () => {\n  throw new Error('at load');\n};\nf();\nexport const rootAgent = null;\n",
		"noagent/index.ts": "export const other = 1;\n",
		"two/index.ts":     "import { LlmAgent } from '@google/adk';\nexport const a = new LlmAgent({name: 'a'});\nexport const b = new LlmAgent({name: 'b'});\n",
		"exits/index.ts":   "process.exit(1);\nexport const rootAgent = 1;\n",
		"good/index.ts":    source(`return 1`),
	})
	var log testkit.Buffer
	apps := loadApps(t, dir, func(o *Options) { o.Limits, o.Log = &generous, slog.New(slog.NewTextHandler(&log, nil)) })
	if strings.Contains(log.String(), "Uncaught") {
		t.Errorf("errors are told twice: %s", log.String())
	}
	short := generous
	short.Turn = time.Second
	endless := write(t, map[string]string{"index.ts": "for (;;) {}\n"})
	if _, _, err := loadApps(t, endless, func(o *Options) { o.Limits = &short }).Agent("app"); err == nil || !strings.Contains(err.Error(), "without yielding") {
		t.Errorf("an endless loop: %v", err)
	}
	for name, want := range map[string][]string{
		"syntax":  {"index.ts:2:", "export const rootAgent = new (;"},
		"missing": {"index.ts:1:", "./nowhere"},
		"package": {"left-pad", "npm install"},
		"throws":  {"index.ts:2:", "at load", "throw new Error('at load');"},
		"noagent": {"export the root agent as rootAgent"},
		"two":     {"a, b", "rootAgent"},
		"exits":   {"process.exit"},
	} {
		root, ok, err := apps.Agent(name)
		if root != nil || !ok || err == nil {
			t.Errorf("%s: %v, %v, %v", name, root, ok, err)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error %q lacks %q", name, err, part)
			}
		}
		if strings.Contains(err.Error(), dir) {
			t.Errorf("%s: the error has a path of the machine: %v", name, err)
		}
	}
	if got := result(t, rootOf(t, apps, "good"), "fine"); got != `{"result":1}` {
		t.Errorf("the good one says %s", got)
	}
	if _, ok, _ := apps.Agent("other"); ok {
		t.Error("there is an application without a source")
	}
}

// Errors at run time are logged with the author's file and line.
func TestStackTraces(t *testing.T) { onEngines(t, testStackTraces) }

func testStackTraces(t *testing.T, on func(*Options)) {
	t.Helper()
	dir := write(t, map[string]string{
		"index.ts": "import { fail } from './lib.js';\n" + source(`fail(); return 1`),
		"lib.ts":   "interface Unused {\n  a: string;\n}\n\nexport function fail(): never {\n  throw new TypeError('in lib');\n}\n",
	})
	var log bytes.Buffer
	apps := loadApps(t, dir, on, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	if got := result(t, rootOf(t, apps, "app"), "fine"); !strings.Contains(got, "Error in tool 'fine': in lib") {
		t.Errorf("the model is told %s", got)
	}
	if n := strings.Count(log.String(), "TypeError: in lib"); n != 1 {
		t.Errorf("the log has the message %d times: %s", n, &log)
	}
	if !strings.Contains(log.String(), "lib.ts:6:") || !strings.Contains(log.String(), "index.ts:3:") {
		t.Errorf("the log has no places: %s", &log)
	}
}

// A mistake of a model is not an error of the code.
func TestInvalidArgumentsInTheLog(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"at once": "z.object({ city: z.string() })",
		"later":   "z.object({ city: z.string(), day: z.string().default('today').refine(async () => true) })",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			apps := loadApps(t, write(t, map[string]string{"index.ts": `import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';
const weather = new FunctionTool({ name: 'weather', description: 'Tells.', parameters: ` + schema + ` as any, execute: () => 1 });
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [weather] });
`}), func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			const wrong = "invalid arguments: city: Invalid input: expected string, received undefined"
			if got := result(t, rootOf(t, apps, "app"), "weather"); got != `{"error":"Error in tool 'weather': `+wrong+`"}` {
				t.Errorf("the model is told %s", got)
			}
			want := `level=INFO msg="a tool was called with invalid arguments" app=app tool=weather err="` + wrong + `"` + "\n"
			if !strings.HasSuffix(log.String(), want) || strings.Contains(log.String(), "threw an error") {
				t.Errorf("the log is %s", &log)
			}
		})
	}
}

// A generator is not a result: nothing would run it.
func TestToolsThatReturnGenerators(t *testing.T) {
	t.Parallel()
	apps := loadApps(t, write(t, map[string]string{"index.ts": appOf("async function* count() { yield 1; yield 2; }", `
		asynchronous: async function* () { yield 1; },
		plain: function* () { yield 1; },
		handedOn: async () => count(),
`)}))
	root := rootOf(t, apps, "app")
	for _, name := range []string{"asynchronous", "plain", "handedOn"} {
		want := `{"error":"Error in tool '` + name + `': The tool \"` + name + `\" returned a generator, which is not supported by this version: return a list of what it yields"}`
		if got := result(t, root, name); got != want {
			t.Errorf("%s: the model is told %s", name, got)
		}
	}
}

// Errors of promises that are not awaited are logged, all with the author's file
// and line.
func TestErrorsThatAreNotAwaited(t *testing.T) {
	var log journal
	apps := loadApps(t, write(t, map[string]string{"index.ts": appOf("", `
		timer: () => void setTimeout(() => { throw new TypeError('in a timer'); }),
		floating: () => { (async () => { await null; throw new RangeError('afloat'); })(); return 1; },
		console: () => console.error('so:', new Error('shown', { cause: new Error('inner') })),
		heard: async () => { const p = Promise.reject(new Error('heard')); await null; await p.catch(() => {}); try { await (async () => { throw new Error('heard'); })(); } catch {} },
		last: () => { Promise.reject('the last'); },
`)}), func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	root := rootOf(t, apps, "app")
	for _, one := range []struct{ tool, want string }{
		{"timer", `Uncaught TypeError: in a timer\n    at <anonymous> (index.ts:4:`},
		{"floating", `Uncaught (in promise) RangeError: afloat\n    at <anonymous> (index.ts:5:`},
		{"console", `so: Error: shown\n    at console (index.ts:6:`},
		{"heard", ""},
		{"last", `Uncaught (in promise) the last`},
	} {
		result(t, root, one.tool)
		log.waitFor(t, one.want)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if strings.Contains(string(log.text), "heard") || strings.Contains(string(log.text), "bundle.js") {
		t.Errorf("the log says %s", log.text)
	}
}

func TestReload(t *testing.T) {
	dir := write(t, map[string]string{"index.ts": source(`return 'one'`), "other.ts": ""})
	var log journal
	apps := loadApps(t, dir, func(o *Options) {
		o.Reload = true
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	before := rootOf(t, apps, "app")
	change := func(text, logged string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		log.waitFor(t, logged)
	}
	change(source(`return 'two'`), "was reloaded")
	if got := result(t, rootOf(t, apps, "app"), "fine"); !strings.Contains(got, "two") {
		t.Errorf("after the change: %s", got)
	}
	if got := result(t, before, "fine"); !strings.Contains(got, "one") {
		t.Errorf("a run that began before the change: %s", got)
	}
	change("export const rootAgent = ;", "the version before is still served")
	if got := result(t, rootOf(t, apps, "app"), "fine"); !strings.Contains(got, "two") {
		t.Errorf("after a change that does not work: %s", got)
	}
	change(source(`return 'three'`), "was reloaded")
	if got := result(t, rootOf(t, apps, "app"), "fine"); !strings.Contains(got, "three") {
		t.Errorf("after it was repaired: %s", got)
	}
}

// journal is a log that can be waited for.
type journal struct {
	mu   sync.Mutex
	text []byte
	seen int
}

func (b *journal) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

// waitFor waits until a text has come since the last time.
func (b *journal) waitFor(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		b.mu.Lock()
		i := bytes.Index(b.text[b.seen:], []byte(want))
		if i >= 0 {
			b.seen += i + len(want)
		}
		b.mu.Unlock()
		if i >= 0 {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("%q was never logged: %s", want, b.text)
}

func TestEnginesShareNoVariables(t *testing.T) {
	dir := write(t, map[string]string{"index.ts": "let n = 0;\n" + source(`return ++n`)})
	apps := loadApps(t, dir, func(o *Options) { o.Engines = 2 })
	root := rootOf(t, apps, "app")
	var got []string
	for range 4 {
		got = append(got, result(t, root, "fine"))
	}
	if want := []string{`{"result":1}`, `{"result":1}`, `{"result":2}`, `{"result":2}`}; !cmp.Equal(got, want) {
		t.Errorf("two engines count %v", got)
	}
}

// Calls that wait do not stand in each other's way.
func TestCallsInterleave(t *testing.T) {
	const calls = 200
	dir := write(t, map[string]string{"index.ts": `let waiting = 0; let open; const all = new Promise(r => { open = r; });
` + source(fmt.Sprintf(`if (++waiting === %d) open(); await all; return waiting`, calls))})
	root := rootOf(t, loadApps(t, dir), "app")
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if got := result(t, root, "fine"); got != fmt.Sprintf(`{"result":%d}`, calls) {
				t.Errorf("a call says %s", got)
			}
		})
	}
	wg.Wait()
}

// When a run is cancelled, the abort signal of its code fires.
func TestCancelReachesTheCode(t *testing.T) {
	dir := write(t, map[string]string{"index.ts": `import { FunctionTool, LlmAgent } from '@google/adk';
let waits = false, heard = 'nothing';
const tools = {
  wait: (_, ctx) => new Promise((_, reject) => (waits = true, ctx.abortSignal.addEventListener('abort', () => { heard = ctx.abortSignal.reason.name; reject(ctx.abortSignal.reason); }))),
  waits: () => waits,
  fine: () => heard,
};
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: Object.entries(tools).map(([name, execute]) => new FunctionTool({ name, description: name, parameters: {type: 'OBJECT'}, execute })) });
`})
	root := rootOf(t, loadApps(t, dir), "app")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := ask(ctx, root, "wait")
		ended <- err
	}()
	for result(t, root, "waits") != `{"result":true}` {
		runtime.Gosched()
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the run was not cancelled")
	}
	if got := result(t, root, "fine"); got != `{"result":"AbortError"}` {
		t.Errorf("the code heard %s", got)
	}
}

func TestYAML(t *testing.T) {
	dir := write(t, map[string]string{
		"root_agent.yaml": `
name: boss
model: scripted
description: Leads.
instruction: Be {adjective?} brief.
output_key: said
generate_content_config:
  temperature: 0.5
  max_output_tokens: 100
tools:
  - name: tools.fine
  - name: exit_loop
sub_agents:
  - config_path: helper.yaml
before_agent_callbacks:
  - name: tools.before
`,
		"helper.yaml": "agent_class: SequentialAgent\nname: steps\nsub_agents:\n  - code: tools.step\n",
		"tools.ts": `import { FunctionTool, LlmAgent } from '@google/adk';
export const fine = new FunctionTool({ name: 'fine', description: 'Works.', execute: () => 'from yaml' });
export const step = new LlmAgent({ name: 'step', model: 'scripted' });
export const before = ({ state }) => { state.set('seen', true); };
`,
	})
	root := rootOf(t, loadApps(t, dir), "app")
	if got := result(t, root, "fine"); got != `{"result":"from yaml"}` {
		t.Errorf("the tool says %s", got)
	}
	info, _ := agentrt.InfoOf(root)
	if root.Name() != "boss" || root.Find("step") == nil || len(info.Tools) != 2 || info.Instruction != "Be {adjective?} brief." {
		t.Errorf("the agent is %s, %+v", root.Name(), info)
	}
	graph := write(t, map[string]string{
		"root_agent.yaml": "agent_class: desk.Desk\nname: desk\n",
		"desk.ts": `import { Workflow, node } from '@google/adk';
export class Desk extends Workflow { constructor(o: any) { super({ ...o, edges: [['START', node(() => 1, { name: 'first' })]] }); } }`,
	})
	if root := rootOf(t, loadApps(t, graph), "app"); root.Name() != "desk" || root.Kind() != "Workflow" {
		t.Errorf("the agent is the %s %s", root.Kind(), root.Name())
	}
	bad := write(t, map[string]string{"a/root_agent.yaml": "name: x\ntemperature: y\n", "b/root_agent.yaml": "name: [\n"})
	apps := loadApps(t, bad)
	if _, _, err := apps.Agent("a"); err == nil || !strings.Contains(err.Error(), `"temperature" is not a member`) {
		t.Errorf("a misspelled member: %v", err)
	}
	if _, _, err := apps.Agent("b"); err == nil || !strings.Contains(err.Error(), "not an agent config") {
		t.Errorf("no YAML: %v", err)
	}
}

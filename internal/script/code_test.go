package script

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
)

// codeModel answers with one step for each request: a text, or parts.
const codeModel = `
import * as adk from '@google/adk';
class Scripted extends adk.BaseLlm {
  constructor(...steps) { super({ model: 'scripted' }); this.steps = steps; }
  async *generateContentAsync() {
    const step = this.steps.shift() ?? 'no step is left';
    yield { content: { role: 'model', parts: typeof step === 'string' ? [{ text: step }] : step } };
  }
}
const call = (name, args) => [{ functionCall: { name, args } }];
`

// talk loads an application and returns the events of its answer.
func talk(t *testing.T, code string, options ...func(*Options)) []*event.Event {
	t.Helper()
	apps := loadApps(t, write(t, map[string]string{"app/index.ts": codeModel + code}), options...)
	events, err := ask(t.Context(), rootOf(t, apps, "app"), "go")
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// results are the outputs of executions, and the responses to calls.
func results(events []*event.Event) (all []string) {
	for _, ev := range events {
		if ev.Content == nil {
			continue
		}
		for _, p := range ev.Content.Parts {
			if r := p.CodeExecutionResult; r != nil {
				all = append(all, r.Outcome+" "+r.Output)
			}
			if r := p.FunctionResponse; r != nil {
				all = append(all, string(r.Response))
			}
		}
	}
	return all
}

func TestJavaScriptCodeExecutor(t *testing.T) {
	t.Parallel()
	events := talk(t, `
const model = new Scripted("`+"```tool_code\\nconsole.log(6 * 7)\\n```"+`", "`+"```python\\nprint(1)\\n```"+` and `+"```js\\nfetch('x')\\n```"+`", "done");
export const rootAgent = new adk.LlmAgent({ name: 'a', model, codeExecutor: new adk.JavaScriptCodeExecutor({ timeoutSeconds: 120 }) });`)
	if got := results(events); len(got) != 2 || got[0] != "OUTCOME_OK Code execution result:\n42\n\n" || !strings.HasPrefix(got[1], "OUTCOME_FAILED ReferenceError: 'fetch' is not defined") {
		t.Errorf("%q", got)
	}
	if code := events[0].Content.Parts[0].ExecutableCode; code == nil || code.Language != "JAVASCRIPT" {
		t.Errorf("the code is %+v", code)
	}
}

func TestSkillScriptsInAnExecutor(t *testing.T) {
	t.Parallel()
	events := talk(t, `
const tidy = { frontmatter: { name: 'tidy', description: 'Tidies.' }, instructions: 'Sweep.', resources: {
  scripts: { 'sweep.js': { src: "console.log(process.argv.slice(2).join(' '), require('../assets/rooms.json').length);" } },
  assets: { 'rooms.json': '[1, 2]' } } };
const model = new Scripted(call('run_skill_script', { skill_name: 'tidy', script_path: 'scripts/sweep.js', args: { room: 'hall' } }), 'done');
export const rootAgent = new adk.LlmAgent({ name: 'a', model, tools: [new adk.SkillToolset([tidy], { codeExecutor: new adk.JavaScriptCodeExecutor({ timeoutSeconds: 120 }) })] });`)
	if got := results(events); len(got) != 1 || !strings.Contains(got[0], `"stdout":"--room hall 2\n"`) {
		t.Errorf("%q", got)
	}
}

// standIn is a program that runs the command of a container here.
const standIn = `#!/bin/sh
[ -z "$HOME$USER" ] || exit 125 # the environment of the server
while [ "$1" != -c ]; do shift; done
box=$(mktemp -d)
script=$(printf %s "$2" | sed "s#/box#$box#")
shift 2
sh -c "$script" "$@"
status=$?
rm -r "$box"
exit $status
`

func TestContainerCodeExecutor(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the program that stands in for docker is a shell script")
	}
	program := filepath.Join(t.TempDir(), "docker")
	if err := os.WriteFile(program, []byte(standIn), 0o700); err != nil {
		t.Fatal(err)
	}
	agent := `
const executor = new adk.ContainerCodeExecutor({ program: '` + program + `', timeoutSeconds: 300 });
const direct = new adk.FunctionTool({ name: 'direct', description: 'd', execute: () => executor.executeCode({ codeExecutionInput: { code: 'echo "$@"; cat in.txt', language: 'shell', inputFiles: [{ name: 'in.txt', content: 'in', contentEncoding: 'utf-8' }], args: ['x', 1] } }) });
const model = new Scripted("` + "```bash\\necho from a container\\n```" + `", call('direct', {}), "done");
export const rootAgent = new adk.LlmAgent({ name: 'a', model, tools: [direct], codeExecutor: executor });`
	got := results(talk(t, agent, func(o *Options) { o.Processes = true }))
	if len(got) != 2 || got[0] != "OUTCOME_OK Code execution result:\nfrom a container\n\n" || got[1] != `{"stdout":"x 1\nin","stderr":"","outputFiles":[]}` {
		t.Errorf("%q", got)
	}
	for code, want := range map[string]string{
		agent: "a ContainerCodeExecutor starts processes, and the server does not allow agents to start processes: the operator allows it with --allow_processes",
		"export const rootAgent = new adk.LlmAgent({ name: 'a', model: 'x', codeExecutor: new adk.ContainerCodeExecutor({ baseUrl: 'x' }) });":     "set DOCKER_HOST of the server",
		"export const rootAgent = new adk.LlmAgent({ name: 'a', model: 'x', codeExecutor: new adk.ContainerCodeExecutor({ memry: 1 }) });":         "ContainerCodeExecutor has no option memry: there are image, ",
		"export const rootAgent = new adk.LlmAgent({ name: 'a', model: 'x', codeExecutor: new adk.JavaScriptCodeExecutor({ memory: 2 ** 40 }) });": "memory is at most 268435456 bytes",
	} {
		apps, err := Load(t.Context(), Options{Dir: write(t, map[string]string{"app/index.ts": codeModel + code}), Models: told, Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			_, _, err = apps.Agent("app")
			apps.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The skills in the directory beside the code run in the executor of their agent.
func TestScriptsBesideTheCode(t *testing.T) {
	t.Parallel()
	apps := loadApps(t, write(t, map[string]string{
		"app/skills/tidy/SKILL.md": tidy, "app/skills/tidy/scripts/sweep.js": "console.log('swept', process.argv[3]);",
		"app/index.ts": codeModel + `
const model = new Scripted(call('run_skill_script', { skill_name: 'tidy', script_path: 'scripts/sweep.js', args: { room: 'hall' } }), 'done');
export const rootAgent = new adk.LlmAgent({ name: 'a', model, codeExecutor: new adk.JavaScriptCodeExecutor({ timeoutSeconds: 120 }) });`,
	}))
	events, err := ask(t.Context(), rootOf(t, apps, "app"), "go")
	if err != nil {
		t.Fatal(err)
	}
	if got := results(events); len(got) != 1 || got[0] != `{"stdout":"swept hall\n","stderr":""}` {
		t.Errorf("%q", got)
	}
}

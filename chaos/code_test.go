//go:build unix

package chaos

import (
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// executionCode has two agents whose models write code: the name of the message. Their
// executors visit a server; one must not execute code twice.
const executionCode = `import { BaseCodeExecutor, BaseLlm, JoinNode, LlmAgent, Workflow, node } from '@google/adk';
class Writes extends BaseLlm {
  constructor() { super({ model: 'writes' }); }
  async *generateContentAsync({ contents }: any): AsyncGenerator<any, void> {
    const all = JSON.stringify(contents);
    const text = contents.some((one: any) => one.role === 'model') ? (all.includes('interrupted') ? 'saw an interruption' : 'saw a result') : '` + "```python\\n' + contents.at(-1).parts[0].text + '\\n```" + `';
    yield { content: { role: 'model', parts: [{ text }] } };
  }
  async connect(): Promise<any> {}
}
class Visits extends BaseCodeExecutor {
  constructor(private name: string, effect: string) { super(); Object.assign(this, { effect }); }
  async executeCode({ codeExecutionInput: { code } }: any): Promise<any> {
    await (await fetch('BASE/' + code.trim() + '/' + this.name)).text();
    return { stdout: 'visited', stderr: '', outputFiles: [] };
  }
}
const agent = (name: string) => new LlmAgent({ name, model: new Writes(), codeExecutor: new Visits(name, name) });
export const rootAgent = new Workflow({ name: 'root', edges: [['START', [agent('once'), agent('pure')], new JoinNode({ name: 'join' })]] });
`

// A server is killed while code is executed. It is executed again if its effect allows
// that; otherwise the model is told that it was interrupted.
func TestCodeExecution(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, args ...string) *world{
		"sqlite": func(t *testing.T, args ...string) *world {
			t.Helper()
			return newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "sessions.db"), nil, 1, 0, args...)
		},
		"postgres": func(t *testing.T, args ...string) *world {
			t.Helper()
			server := pgtest.Quick(t)
			return newWorld(t, server.Database(t), server, 1, 0, args...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &journeys{all: map[string]*journey{}}
			remote := httptest.NewServer(v)
			t.Cleanup(remote.Close)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(strings.ReplaceAll(executionCode, "BASE", remote.URL)), 0o600); err != nil {
				t.Fatal(err)
			}
			// The lease is long, so that a server that lives but is slow keeps its runs.
			w := start(t, "--scripts", dir, "--lease", "10s")
			c := w.at(w.replicas[0])
			for _, stop := range []string{"once", "pure"} {
				v.begin(c, &journey{stop: stop, came: make(chan struct{}), count: map[string]int{}})
			}
			for _, j := range v.all {
				<-j.came
				c.until(func() bool { return j.texts(c)["saw a result"] == 1 }) // by the other agent
			}
			c.only.kill()
			w.launch(c.only)
			for _, j := range v.all {
				c.until(func() bool { return c.row(j.run).Status == "completed" })
				visits, texts := map[string]int{"once": 1, "pure": 1}, j.texts(c)
				results, interruptions := 1, 1
				if j.stop == "pure" {
					visits["pure"], results, interruptions = 2, 2, 0
				}
				v.mu.Lock()
				count := maps.Clone(j.count)
				v.mu.Unlock()
				if !maps.Equal(count, visits) || texts["saw a result"] != results || texts["saw an interruption"] != interruptions {
					t.Errorf("killed in %s: visits %v, want %v; texts %v", j.stop, count, visits, texts)
				}
			}
		})
	}
}

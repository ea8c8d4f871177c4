//go:build unix

package chaos

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// workflowCode is a workflow whose nodes visit a server, under the text of the
// message that began it.
const workflowCode = `import { JoinNode, RequestInput, Workflow, node } from '@google/adk';
const visit = async (ctx: any, name: string) => void (await (await fetch('BASE/' + ctx.state.get('word') + '/' + name)).text());
const step = (name: string) => node(async (ctx: any, input: any) => { await visit(ctx, name); return name + '(' + (typeof input === 'string' ? input : 'all') + ')'; }, { name });
const [left, right, one, two, end] = ['left', 'right', 'one', 'two', 'end'].map(step);
const begin = node((ctx: any, input: string) => { ctx.state.set('word', input); return 'begin'; }, { name: 'begin' });
const generator = node(async function* (ctx: any) {
  await visit(ctx, 'generator');
  yield 'a piece';
  await visit(ctx, 'generator-yielded');
  yield 'generated';
}, { name: 'generator' });
const outer = node(async (ctx: any, input: any) => {
  await visit(ctx, 'outer');
  const { output } = await ctx.runNode(one, input);
  return 'outer(' + (await ctx.runNode(two, output)).output + ')';
}, { name: 'outer' });
const approve = node(async (ctx: any, input: any) => {
  await visit(ctx, 'approve');
  return ctx.resumeInputs.ok === undefined ? new RequestInput({ interruptId: 'ok', message: 'May I?' }) : 'approve(' + input + ')';
}, { name: 'approve', rerunOnResume: true });
export const rootAgent = new Workflow({ name: 'root', edges: [['START', begin, [left, right], new JoinNode({ name: 'join' }), generator, outer, approve, end]] });
`

// journey is one session with the workflow.
type journey struct {
	stop  string   // the node whose first visit is not answered; empty for none
	again []string // what is visited again after the kill
	conv  *conversation
	run   *message
	came  chan struct{} // closed at that visit
	count map[string]int
}

// journeys are the visits of all sessions, by their first message.
type journeys struct {
	mu  sync.Mutex
	all map[string]*journey
}

func (v *journeys) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	word, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	v.mu.Lock()
	j := v.all[word]
	j.count[name]++
	stops := j.count[name] == 1 && name == j.stop
	v.mu.Unlock()
	if stops {
		close(j.came)
		<-r.Context().Done()
	}
}

// A server is killed while workflows in TypeScript are at each of their nodes, or
// wait. Where they go on, what had ended is not done again.
func TestTypeScriptWorkflow(t *testing.T) {
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
			if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(strings.ReplaceAll(workflowCode, "BASE", remote.URL)), 0o600); err != nil {
				t.Fatal(err)
			}
			w := start(t, "--scripts", dir, "--lease", "10s") // as for TestCodeExecution
			c := w.at(w.replicas[0])                          // alone, or a slow machine would make others take runs over
			for stop, again := range map[string][]string{
				"left":              {"left"}, // the other branch has ended
				"generator":         {"generator"},
				"generator-yielded": {"generator", "generator-yielded"},
				"outer":             {"outer"},
				"two":               {"outer", "two"}, // and not one
				"approve":           {"approve"},
				"":                  nil, // it waits for the user
				"end":               {"end"},
			} {
				v.begin(c, &journey{stop: stop, again: again, came: make(chan struct{}), count: map[string]int{}})
			}
			for _, j := range v.all {
				switch j.stop {
				case "left":
					c.until(func() bool { return j.texts(c)["right(begin)"] > 0 })
				case "", "end":
					c.until(func() bool { return c.row(j.run).Status == "waiting" })
				}
				if j.stop == "end" {
					j.run = c.begin(j.conv) // the answer
				}
				if j.stop != "" {
					<-j.came
				}
			}
			c.only.kill()
			w.launch(c.only)
			for _, j := range v.all {
				v.finish(c, j)
			}
		})
	}
}

// begin starts a workflow whose first visit of a node is not answered.
func (v *journeys) begin(c *client, j *journey) {
	c.Helper()
	j.conv = c.create("script")
	v.mu.Lock()
	defer v.mu.Unlock() // until the word is known
	j.run = c.begin(j.conv)
	v.all[j.run.word] = j
}

// finish lets a workflow end, and checks what was done again.
func (v *journeys) finish(c *client, j *journey) {
	c.Helper()
	if j.stop != "end" {
		c.until(func() bool { return c.row(j.run).Status == "waiting" })
		j.run = c.begin(j.conv) // the answer
	}
	c.until(func() bool { return c.row(j.run).Status == "completed" })
	v.mu.Lock()
	defer v.mu.Unlock()
	want := map[string]int{"left": 1, "right": 1, "generator": 1, "generator-yielded": 1, "outer": 1, "one": 1, "two": 1, "approve": 2, "end": 1}
	for _, name := range j.again {
		want[name]++
	}
	if !maps.Equal(j.count, want) {
		c.Errorf("killed in %q: visits %v, want %v", j.stop, j.count, want)
	}
	texts := j.texts(c)
	for _, text := range []string{"begin", "left(begin)", "right(begin)", "a piece", "generated", "one(generated)", "two(one(generated))", "end(approve(outer(two(one(generated)))))"} {
		if texts[text] != 1 {
			c.Errorf("killed in %q: %d events say %s", j.stop, texts[text], text)
		}
	}
}

// texts counts what the events of the session say.
func (j *journey) texts(c *client) map[string]int {
	c.Helper()
	status, body := c.insist(http.MethodGet, sessionPath(j.conv.key), nil, nil)
	var session struct {
		Events []struct {
			Content struct{ Parts []struct{ Text string } }
		}
	}
	if err := json.Unmarshal(body, &session); status != http.StatusOK || err != nil {
		c.Fatalf("status %d, %v: %s", status, err, body)
	}
	count := map[string]int{}
	for _, ev := range session.Events {
		for _, p := range ev.Content.Parts {
			count[p.Text]++
		}
	}
	return count
}

// until waits for something.
func (c *client) until(done func() bool) {
	c.Helper()
	for end := time.Now().Add(quiet); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatal("it does not happen")
		}
	}
}

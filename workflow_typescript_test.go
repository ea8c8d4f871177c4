package parley_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/tool"
)

// graphApp is a workflow whose nodes visit a server.
const graphApp = `import { JoinNode, RequestInput, Workflow, node } from '@google/adk';
const visit = async (name: string) => void (await (await fetch('BASE/' + name)).text());
const step = (name: string) => node(async (ctx: any, input: any) => { await visit(name); return name + '(' + (typeof input === 'string' ? input : 'all') + ')'; }, { name });
const [a, left, right, one, two, end] = ['a', 'left', 'right', 'one', 'two', 'end'].map(step);
const generator = node(async function* (ctx: any) {
  await visit('generator');
  yield 'a piece';
  await visit('generator-yielded');
  yield 'generated';
}, { name: 'generator' });
const outer = node(async (ctx: any, input: any) => {
  await visit('outer');
  const { output } = await ctx.runNode(one, input);
  return 'outer(' + (await ctx.runNode(two, output)).output + ')';
}, { name: 'outer' });
const approve = node(async (ctx: any, input: any) => {
  await visit('approve');
  return ctx.resumeInputs.ok === undefined ? new RequestInput({ interruptId: 'ok', message: 'May I?' }) : 'approve(' + input + ')';
}, { name: 'approve', rerunOnResume: true });
export const rootAgent = new Workflow({ name: 'root', edges: [['START', a, [left, right], new JoinNode({ name: 'join' }), generator, outer, approve, end]] });
`

// visits counts the visits, and does not answer the first one of stop.
type visits struct {
	stop  string
	came  chan struct{} // closed at the first visit of stop
	mu    sync.Mutex
	count map[string]int
}

func (v *visits) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	v.mu.Lock()
	v.count[name]++
	first := v.count[name] == 1
	v.mu.Unlock()
	if first && name == v.stop {
		close(v.came)
		<-r.Context().Done()
	}
}

// A server that continues a workflow of another one begins with the node that had
// not ended.
func TestTypeScriptWorkflowTakeover(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"quickjs", "node"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			if engine == "node" {
				nodejs.Node(t)
			}
			workflowTakeover(t, engine)
		})
	}
}

func workflowTakeover(t *testing.T, engine string) {
	t.Helper()
	once := map[string]int{"a": 1, "left": 1, "right": 1, "generator": 1, "generator-yielded": 1, "outer": 1, "one": 1, "two": 1, "approve": 2, "end": 1}
	for stop, again := range map[string][]string{
		"a":                 {"a"},
		"left":              {"left"}, // the other branch has ended
		"generator":         {"generator"},
		"generator-yielded": {"generator", "generator-yielded"},
		"outer":             {"outer"},
		"one":               {"outer", "one"},
		"two":               {"outer", "two"},
		"approve":           {"approve"},
		"":                  nil, // it waits for the user
		"end":               {"end"},
	} {
		t.Run("in "+stop, func(t *testing.T) {
			t.Parallel()
			v := &visits{stop: stop, came: make(chan struct{}), count: map[string]int{}}
			remote := httptest.NewServer(v)
			t.Cleanup(remote.Close)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(strings.ReplaceAll(graphApp, "BASE", remote.URL)), 0o600); err != nil {
				t.Fatal(err)
			}
			db := "sqlite://" + filepath.Join(t.TempDir(), "parley.db")
			open := func() *parley.Server {
				srv, err := parley.Open(t.Context(), parley.Config{
					Scripts: parley.ScriptConfig{Dir: dir, AppName: "app", Engine: parley.Engine(engine)}, Offline: true, Sessions: parley.SessionConfig{URL: db},
					Stdout: io.Discard, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { srv.Close(context.Background()) })
				return srv
			}
			g := &graphRun{t: t, server: open()}
			// kill ends the server in the midst of the run.
			kill := func() {
				over, cancel := context.WithCancel(t.Context())
				cancel()
				g.server.Close(over)
				g.server = open()
			}
			g.start(event.Text(event.RoleUser, "go"))
			switch stop {
			case "":
				g.follow()
				kill()
			case "end":
				g.follow()
				g.answer()
				<-v.came
				kill()
			default:
				if stop == "left" {
					g.await("right")
				}
				<-v.came
				kill()
				g.follow()
			}
			if stop != "end" {
				g.answer()
			}
			g.follow()
			v.mu.Lock()
			defer v.mu.Unlock()
			want := maps.Clone(once)
			for _, name := range again {
				want[name]++
			}
			if !maps.Equal(v.count, want) {
				t.Errorf("visits %v, want %v", v.count, want)
			}
			const text = "end(approve(outer(two(one(generated)))))"
			if g.last != text {
				t.Errorf("it ends with %s, want %s", g.last, text)
			}
			for node, n := range g.ends {
				if n != 1 {
					t.Errorf("%d events have the output of %s", n, node)
				}
			}
			if g.pieces != 1 {
				t.Errorf("what the generator yielded was emitted %d times", g.pieces)
			}
		})
	}
}

// graphRun is a client of a workflow.
type graphRun struct {
	t        *testing.T
	server   *parley.Server
	run      *parley.Run
	question string // the id of the call
	last     string
	ends     map[string]int
	pieces   int
}

func (g *graphRun) start(message *event.Content) {
	g.t.Helper()
	var err error
	if g.run, err = g.server.Start(g.t.Context(), parley.Request{App: "app", User: "u", Session: "s", Message: message}); err != nil {
		g.t.Fatal(err)
	}
}

// await reads until a node has ended.
func (g *graphRun) await(name string) {
	g.t.Helper()
	for ev, err := range g.run.Events(g.t.Context()) {
		if err != nil {
			g.t.Fatal(err)
		}
		if ev.Content != nil && strings.HasPrefix(ev.Content.Text(), name+"(") {
			return
		}
	}
	g.t.Fatalf("%s has not ended", name)
}

// follow reads all events of the session until the run ends or waits.
func (g *graphRun) follow() {
	g.t.Helper()
	for _, err := range g.server.Follow(g.t.Context(), g.run.Key(), g.run.ID(), "") {
		if err != nil {
			g.t.Fatal(err)
		}
	}
	s, err := g.server.Sessions().Get(g.t.Context(), g.run.Key())
	if err != nil {
		g.t.Fatal(err)
	}
	events, err := s.Events()
	if err != nil {
		g.t.Fatal(err)
	}
	g.ends, g.pieces = map[string]int{}, 0
	for _, ev := range events {
		for _, call := range ev.FunctionCalls() {
			if call.Name == tool.InputCall {
				g.question = call.ID
			}
		}
		if ev.Content == nil || ev.Author == event.User {
			continue
		}
		g.last = ev.Content.Text()
		if name, _, ok := strings.Cut(g.last, "("); ok {
			g.ends[name]++
		}
		if g.last == "a piece" {
			g.pieces++
		}
	}
}

func (g *graphRun) answer() {
	g.t.Helper()
	if g.question == "" {
		g.t.Fatal("the run asks nothing")
	}
	g.start(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: g.question, Name: tool.InputCall, Response: json.RawMessage(`{"result":"yes"}`)},
	}}})
}

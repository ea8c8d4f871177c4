//go:build unix

package script_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/script"
	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// mcpServer says that this process is an MCP server for another one.
const mcpServer = "PARLEY_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(mcpServer) == "" {
		_ = os.Setenv("SECRET", "hunter2") // which no server must see
		code := m.Run()
		pgtest.Cleanup()
		os.Exit(code)
	}
	if err := newMCPServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// newMCPServer has a tool that tells where it is and what it was given, and one
// that adds another.
func newMCPServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, say func(header http.Header) string) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "Does " + name + ".", Annotations: &sdk.ToolAnnotations{IdempotentHint: true}}, func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			header := http.Header{}
			if req.Extra != nil && req.Extra.Header != nil {
				header = req.Extra.Header
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: say(header)}}}, nil, nil
		})
	}
	add("where", func(header http.Header) string {
		dir, _ := os.Getwd()
		return fmt.Sprintf("dir=%s greeting=%s secret=%s key=%s", filepath.Base(dir), os.Getenv("GREETING"), os.Getenv("SECRET"), header.Get("X-Key"))
	})
	s.AddResource(&sdk.Resource{URI: "test://notes", Name: "notes"}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "noted"}}}, nil
	})
	add("variables", func(http.Header) string { return strings.Join(os.Environ(), "\n") })
	add("pid", func(http.Header) string { return "pid " + strconv.Itoa(os.Getpid()) })
	add("grow", func(http.Header) string {
		add("grown", func(http.Header) string { return "new" })
		return "ok"
	})
	return s
}

// mcpApp is an application beside a program that is an MCP server: tools is the
// expression of its tools.
func mcpApp(t *testing.T, tools, address string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "assistant")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "bin", "server")); err != nil {
		t.Fatal(err)
	}
	code := fmt.Sprintf("import * as adk from '@google/adk';\nimport * as ts from 'adk-typescript';\nconst address = %s;\nconst env = { GREETING: 'hi', %s: '1' };\nexport const rootAgent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', tools: %s });", toJSON(address), mcpServer, tools)
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ask is what happens when an application is asked once.
func (h *host) ask(t *testing.T) string {
	t.Helper()
	var all []string
	for ev, err := range h.send(t.Context(), event.Text(event.RoleUser, "Well?"), false) {
		if err != nil {
			all = append(all, "failed: "+err.Error())
			continue
		}
		all = append(all, lineOf(ev))
	}
	return strings.Join(all, "\n")
}

// TestMCPToolsets declares a server in all the ways that there are.
func TestMCPToolsets(t *testing.T) {
	t.Parallel()
	streamable := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newMCPServer() }, nil))
	t.Cleanup(streamable.Close)
	sse := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return newMCPServer() }, nil)
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		sse.ServeHTTP(w, r)
	}))
	t.Cleanup(older.Close)
	const (
		call    = "call where{}\nDone."
		process = "dir=assistant greeting=hi secret= key="
		web     = "key=k1"
		server  = "serverParams: { command: './bin/server', args: [], env }"
		modern  = "type: 'StreamableHTTPConnectionParams', url: address, transportOptions: { requestInit: { headers: { 'X-Key': 'k1' } } }"
	)
	for name, c := range map[string]struct{ address, tools, says, want string }{
		"stdio":              {"", "[new adk.MCPToolset({ type: 'StdioConnectionParams', " + server + " })]", call, process},
		"stdio, its cwd":     {"", "[new adk.MCPToolset({ type: 'StdioConnectionParams', serverParams: { command: './server', cwd: 'bin', env } })]", call, "dir=bin "},
		"stdio, snake_case":  {"", "[new adk.MCPToolset({ connection_params: new adk.StdioConnectionParams({ server_params: { command: './bin/server', env } }) })]", call, process},
		"stdio, the other":   {"", "[new ts.MCPToolset({ connectionParams: { command: './bin/server', args: [], env } })]", call, process},
		"stdio, by a class":  {"", "[new ts.MCPToolset({ connectionParams: new ts.StdioServerParameters({ command: './bin/server', env }) })]", call, process},
		"HTTP":               {streamable.URL, "[new adk.MCPToolset({ " + modern + " })]", call, web},
		"HTTP, old header":   {streamable.URL, "[new adk.MCPToolset({ type: 'StreamableHTTPConnectionParams', url: address, header: { 'X-Key': 'k1' } })]", call, web},
		"HTTP, web headers":  {streamable.URL, "[new adk.MCPToolset({ type: 'StreamableHTTPConnectionParams', url: new URL(address), transportOptions: { requestInit: { headers: new Headers({ 'X-Key': 'k1' }) } } })]", call, web},
		"HTTP, the other":    {streamable.URL, "[new ts.MCPToolset({ connectionParams: { " + modern + " } })]", call, web},
		"SSE":                {older.URL, "[new ts.MCPToolset({ connectionParams: new ts.SseServerParams({ url: address, headers: { 'X-Key': 'k1' } }) })]", call, "where returned {\"result\":\"dir="},
		"SSE, by an address": {older.URL, "[new ts.MCPToolset({ connectionParams: { url: address, headers: { 'X-Key': 'k1' } } })]", call, "where returned {\"result\":\"dir="},
		"at once":            {"", "await new adk.MCPToolset({ " + server + " }).getTools()", call, process},
		"a promise":          {streamable.URL, "new ts.MCPToolset({ connectionParams: { " + modern + " } }).getTools()", call, web},
		"from a server":      {"", "(await ts.MCPToolset.fromServer({ connectionParams: { command: './bin/server', env } })).tools", call, process},
		"all":                {"", "[new adk.MCPToolset({ " + server + " })]", "tell tools", "a: grow (Does grow.) {"},
		"filter":             {"", "[new adk.MCPToolset({ " + server + " }, ['where'])]", "tell tools", "a: where (Does where.) {"},
		"empty filter":       {"", "[new adk.MCPToolset({ " + server + " }, [])]", "tell tools", "; where (Does where.)"},
		"filter, the other":  {"", "[new ts.MCPToolset({ connectionParams: { command: './bin/server', env }, toolFilter: ['where'] })]", "tell tools", "a: where (Does where.) {"},
		"filter, a function": {"", "[new adk.MCPToolset({ " + server + " }, (tool, context) => tool instanceof adk.MCPTool && tool.description === 'Does where.' && context.agentName === 'a')]", "tell tools", "a: where (Does where.) {"},
		"prefix":             {"", "[new adk.MCPToolset({ " + server + " }, ['where', 'my_pid'], 'my')]", "tell tools", "a: my_pid (Does pid.) {"},
		"prefix, called":     {"", "[new adk.MCPToolset({ " + server + " }, [], 'my')]", "call my_where{}\nDone.", "my_where returned {"},
		"two servers":        {"", "[new adk.MCPToolset({ " + server + " }, ['where'], 'x'), new adk.MCPToolset({ " + server + " }, ['where'], 'y')]", "call x_where{} & y_where{}\nDone.", "y_where returned {"},
		"a list that grows":  {"", "[new adk.MCPToolset({ " + server + " }, ['grow', 'grown'])]", "call grow{}\ncall grown{}\nDone.", "grown returned {"},
		"resources": {
			"", "[new adk.FunctionTool({ name: 'read', description: 'd', execute: async () => { const set = new adk.MCPToolset({ " + server + " }); return { names: await set.listResources(), contents: await set.readResource('notes'), other: await set.readResource('other').catch((e) => e.message) }; } })]",
			"call read{}\nDone.", `read returned {"names":["notes"],"contents":[{"uri":"test://notes","mimeType":"text/plain","text":"noted"}],"other":"mcp: `,
		},
		"called by another": {
			"", "[new adk.FunctionTool({ name: 'both', description: 'd', execute: async (_, toolContext) => ({ all: (await Promise.all((await new adk.MCPToolset({ " + server + " }, ['where']).getTools()).map((tool) => tool.runAsync({ args: {}, toolContext })))).length }) })]",
			"call both{}\nDone.", `both returned {"all":1}`,
		},
		"a class of the author's": {
			"", "[new (class extends adk.MCPToolset { async getTools(context) { return (await super.getTools(context)).filter((tool) => tool.name === 'where'); } })({ " + server + " })]",
			"tell tools", "a: where (Does where.) {",
		},
		"no server":    {"http://127.0.0.1:1/mcp", "[new adk.MCPToolset({ type: 'StreamableHTTPConnectionParams', url: address })]", "Hi.", "the tools of agent a: mcp: the tools of 127.0.0.1:1: "},
		"no such file": {"", "[new adk.MCPToolset({ serverParams: { command: './gone' } })]", "Hi.", "the tools of agent a: mcp: the tools of ./gone: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := mcpApp(t, c.tools, c.address)
			h, err := serve(t, dir, says{flash: c.says})
			if err != nil {
				t.Fatal(err)
			}
			story := h.ask(t)
			if !strings.Contains(story, c.want) || strings.Contains(story, filepath.Dir(dir)) {
				t.Errorf("no %q in:\n%s", c.want, story)
			}
			if strings.Contains(name, "filter") && !strings.Contains(name, "empty") && strings.Contains(story, "pid") {
				t.Errorf("the filter has no effect:\n%s", story)
			}
		})
	}
}

// A process gets the few variables that programs need as the agent sees them,
// those that the agent gives it, and nothing of the server's.
func TestMCPProcessSeesWhatTheAgentSees(t *testing.T) {
	dir := mcpApp(t, "[new adk.MCPToolset({ serverParams: { command: './bin/server', env } })]", "")
	h, err := serve(t, dir, says{flash: "call variables{}\nDone."}, "HOME=/home/agent", "GOOGLE_API_KEY=key")
	if err != nil {
		t.Fatal(err)
	}
	story := h.ask(t)
	for what, want := range map[string]bool{"HOME=/home/agent": true, "GREETING=hi": true, "GOOGLE_API_KEY": false, "SECRET": false, "PATH=": false} {
		if strings.Contains(story, what) != want {
			t.Errorf("%s: %v, want %v, in:\n%s", what, !want, want, story)
		}
	}
}

// Without the permission, an application that starts processes is refused when
// it is loaded, and code that tries it later gets an error.
func TestMCPProcessNeedsPermission(t *testing.T) {
	for _, test := range []struct{ name, tools, want string }{
		{"load", "[new adk.MCPToolset({ serverParams: { command: './bin/server', env } })]", ""},
		{"tool", "[new adk.FunctionTool({ name: 'start', description: 'd', execute: () => new adk.MCPToolset({ serverParams: { command: './bin/server', env } }).getTools().then(() => 'started', (e) => e.message) })]", "start returned"},
	} {
		t.Run(test.name, func(t *testing.T) {
			apps, err := script.Load(t.Context(), script.Options{
				Dir: mcpApp(t, test.tools, ""), AppName: "app", Models: says{flash: "call start{}\nDone."}.make(), Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(apps.Close)
			_, _, err = apps.Agent("app")
			said := fmt.Sprint(err)
			if test.want != "" {
				said = hostOf(t, apps, slog.New(slog.DiscardHandler)).ask(t)
			}
			if !strings.Contains(said, test.want) || !strings.Contains(said, "--allow_processes") || !strings.Contains(said, "./bin/server") {
				t.Errorf("it says %s", said)
			}
		})
	}
}

// A config in YAML has the same toolset.
func TestMCPToolsetInYAML(t *testing.T) {
	dir := mcpApp(t, "[]", "")
	if err := os.Rename(filepath.Join(dir, "index.ts"), filepath.Join(dir, "unused.txt")); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("name: a\nmodel: gemini-2.5-flash\ninstruction: Help.\ntools:\n- name: McpToolset\n  args:\n    stdio_server_params:\n      command: ./bin/server\n      env: { GREETING: hi, %s: '1' }\n    tool_filter: [where]\n", mcpServer)
	if err := os.WriteFile(filepath.Join(dir, "root_agent.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := serve(t, dir, says{flash: "call where{}\ntell tools"})
	if err != nil {
		t.Fatal(err)
	}
	if story := h.ask(t); !strings.Contains(story, "dir=assistant greeting=hi") || strings.Contains(story, "pid") {
		t.Error(story)
	}
}

// hostOf serves what an application is now, for one question.
func hostOf(t *testing.T, apps *script.Apps, log *slog.Logger) *host {
	t.Helper()
	root, _, err := apps.Agent("app")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{app: "app"}
	if h.srv, err = parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}, Log: log}); err != nil {
		t.Fatal(err)
	}
	return h
}

var pidSaid = regexp.MustCompile(`pid (\d+)`)

func (h *host) pid(t *testing.T) int {
	t.Helper()
	story := h.ask(t)
	h.srv.Close(context.WithoutCancel(t.Context()))
	m := pidSaid.FindStringSubmatch(story)
	if m == nil {
		t.Fatalf("no pid in:\n%s", story)
	}
	pid, _ := strconv.Atoi(m[1])
	return pid
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// A process ends with the version of the application that has started it. One
// that dies is started again.
func TestMCPProcessEnds(t *testing.T) {
	dir := mcpApp(t, "[new adk.MCPToolset({ serverParams: { command: './bin/server', env } })]", "")
	buffer := &logBuffer{}
	log := slog.New(slog.NewTextHandler(buffer, nil))
	apps, err := script.Load(t.Context(), script.Options{Dir: dir, AppName: "app", Models: says{flash: strings.Repeat("call pid{}\nDone.\n", 4)}.make(), Log: log, Reload: true, Processes: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(apps.Close)
	first := hostOf(t, apps, log).pid(t)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := hostOf(t, apps, log).pid(t)
	if second == first {
		t.Error("the process that was killed has answered")
	}
	code, err := os.ReadFile(filepath.Join(dir, "index.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), append(code, "\n// changed\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	buffer.await(t, "the application was reloaded")
	third := hostOf(t, apps, log).pid(t)
	for late := time.After(time.Minute); alive(second); {
		runtime.GC() // finds that the old version is no longer used
		select {
		case <-late:
			t.Fatal("the process of the version before lives on")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if !alive(third) {
		t.Error("the process of the version that is served has ended")
	}
	apps.Close()
	if alive(third) {
		t.Error("the process lives on after its application")
	}
}

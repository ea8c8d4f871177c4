package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/internal/face/mcp"
)

// gateway makes one MCP server of many: the kits expect one with all of their tools,
// and an application has one. A call goes to the application with the name of the tool,
// what belongs to a call goes where that went, and the rest to one of them. Resources
// with the addresses of the kits are artifacts of a session, with these names. All
// answers are those of the server.
type gateway struct {
	url, base string
	apps      []string
	gate      *gate

	mu     sync.Mutex
	routes map[string]string // the applications of tasks, and of sessions of the protocol
}

const (
	kitResources = "test://"
	ourResources = "artifact:///kit/"
)

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{gate: newGate(t), routes: map[string]string{}}
	apps := kitApps(t, g.gate)
	g.apps = slices.Sorted(maps.Keys(apps))
	g.base = listen(t, apps)
	backend, err := url.Parse(g.base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, ModifyResponse: g.remember, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(backend)
		r.Out.Host = r.In.Host // the server refuses other names than its own
		r.Out.Header.Set(patienceHeader, g.gate.id)
	}}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.route(w, r, proxy) }))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	g.url = web.URL
	g.save(t, "static-text", "text/plain", "This is the content of the static text resource.")
	g.save(t, "static-binary", "image/png", "png")
	g.save(t, "template/123/data", "application/json", `{"id":"123","templateTest":true,"data":"Data for ID: 123"}`)
	return g
}

// save saves an artifact.
func (g *gateway) save(t *testing.T, name, kind, data string) {
	t.Helper()
	session := g.base + "/apps/" + mainApp + "/users/user/sessions/kit"
	doc, err := json.Marshal(map[string]any{"filename": name, "artifact": map[string]any{"inlineData": map[string]any{"mimeType": kind, "data": []byte(data)}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range [][2]string{{session, "{}"}, {session + "/artifacts", string(doc)}} {
		resp, err := http.Post(one[0], "application/json", strings.NewReader(one[1]))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // the session exists the second time
	}
}

// route sends a request to an application.
func (g *gateway) route(w http.ResponseWriter, r *http.Request, proxy http.Handler) {
	body, _ := io.ReadAll(r.Body) // the server reports what is missing
	body = bytes.ReplaceAll(body, []byte(`"`+kitResources), []byte(`"`+ourResources))
	var in struct {
		Method string
		Params struct{ Name, TaskID string }
	}
	_ = json.Unmarshal(body, &in) // the server reports what is wrong
	if name := r.Header.Get("Mcp-Name"); strings.HasPrefix(name, kitResources) {
		r.Header.Set("Mcp-Name", ourResources+strings.TrimPrefix(name, kitResources))
	}
	app := mainApp
	connection := r.Header.Get("Mcp-Session-Id")
	g.mu.Lock()
	switch {
	case in.Method == "tools/call" && slices.Contains(g.apps, in.Params.Name):
		app = in.Params.Name
		g.routes[connection] = app
	case strings.HasPrefix(in.Method, "tasks/") && g.routes[in.Params.TaskID] != "":
		app = g.routes[in.Params.TaskID]
	case in.Method == "" && g.routes[connection] != "": // the answer to a question
		app = g.routes[connection]
	}
	g.mu.Unlock()
	switch {
	case in.Method == "tasks/get":
		g.gate.open()
	case app == reconnection && r.Header.Get("Last-Event-ID") != "":
		// A client also sends a GET without an id after it has connected, which may arrive after its first call.
		g.gate.openWhenReached(r.Context())
	}
	r.URL.Path = "/apps/" + app + "/mcp"
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if in.Method != "tools/list" {
		proxy.ServeHTTP(w, r)
		return
	}
	first := httptest.NewRecorder()
	proxy.ServeHTTP(first, r)
	var doc map[string]any
	if json.Unmarshal(first.Body.Bytes(), &doc) == nil && at(doc, "result", "tools") != nil {
		var tools []any
		for _, one := range append([]string{mainApp}, g.apps...) {
			if len(tools) > 0 && one == mainApp {
				continue
			}
			r.URL.Path, r.Body = "/apps/"+one+"/mcp", io.NopCloser(bytes.NewReader(body))
			next := httptest.NewRecorder()
			proxy.ServeHTTP(next, r)
			var list any
			_ = json.Unmarshal(next.Body.Bytes(), &list)
			tools = append(tools, at(list, "result", "tools").([]any)...)
		}
		at(doc, "result").(map[string]any)["tools"] = tools
		all, _ := json.Marshal(doc)
		first.Body = bytes.NewBuffer(all)
	}
	first.Header().Del("Content-Length")
	maps.Copy(w.Header(), first.Header())
	w.WriteHeader(first.Code)
	_, _ = w.Write(first.Body.Bytes())
}

// cut is a stream that ends after its first event.
type cut struct {
	io.ReadCloser
	ended bool
}

func (c *cut) Read(p []byte) (int, error) {
	if c.ended {
		return 0, io.EOF
	}
	n, err := c.ReadCloser.Read(p)
	if i := bytes.Index(p[:n], []byte("\n\n")); i >= 0 {
		n, c.ended = i+2, true
	}
	return n, err
}

// remember notes which application has a task, and cuts the stream that the kit wants
// to be cut.
func (g *gateway) remember(resp *http.Response) error {
	app := strings.Split(resp.Request.URL.Path, "/")[2]
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		if app == reconnection && resp.Request.Method == http.MethodPost {
			resp.Body = &cut{ReadCloser: resp.Body}
		}
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	body = bytes.ReplaceAll(body, []byte(ourResources), []byte(kitResources))
	var doc any
	_ = json.Unmarshal(body, &doc) // some have no body
	if id, ok := at(doc, "result", "taskId").(string); ok {
		g.mu.Lock()
		g.routes[id] = app
		g.mu.Unlock()
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// declared returns what the server declares in a version: its capabilities, and one
// tool and one prompt with the members of all.
func (g *gateway) declared(t *testing.T, version string) any {
	t.Helper()
	if version == "extension" {
		version = modern
	}
	ask := func(method, params string) any {
		t.Helper()
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
		if version == modern {
			message = request(method, "", "{}")
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url, strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "MCP-Protocol-Version": version, "Mcp-Method": method} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var doc any
		if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || at(doc, "result") == nil {
			t.Fatal(method, doc, err)
		}
		return at(doc, "result")
	}
	about := map[string]string{modern: "server/discover"}[version]
	if about == "" {
		about = "initialize"
	}
	declared := map[string]any{"capabilities": at(ask(about, `{"protocolVersion":"`+version+`","capabilities":{}}`), "capabilities")}
	for _, kind := range []string{"tool", "prompt"} {
		all := map[string]any{}
		for _, one := range at(ask(kind+"s/list", "{}"), kind+"s").([]any) {
			maps.Copy(all, one.(map[string]any))
		}
		declared[kind] = all
	}
	return declared
}

// gate is where models wait that take long. While one does, calls have waited long
// enough; a client that asks for a task, or continues a stream, lets it continue.
type gate struct {
	id string

	mu      sync.Mutex
	inside  int
	waiting []func()
	next    chan struct{}
}

var gates sync.Map

// patienceHeader says how long a call waits before it becomes a task: until a model is
// at a gate, or not at all. Without it, it waits for the end.
const patienceHeader, impatient = "X-Patience", "none"

func init() {
	mcp.Patience(func(r *http.Request, over func()) func() bool {
		how := r.Header.Get(patienceHeader)
		if how == impatient {
			over()
		} else if g, ok := gates.Load(how); ok {
			g.(*gate).notify(over)
		}
		return func() bool { return true }
	})
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{id: t.Name(), next: make(chan struct{})}
	gates.Store(g.id, g)
	t.Cleanup(func() { gates.Delete(g.id) })
	return g
}

// openWhenReached opens the gate once a model is there.
func (g *gate) openWhenReached(ctx context.Context) {
	reached := make(chan struct{})
	g.notify(func() { close(reached) })
	select {
	case <-reached:
		g.open()
	case <-ctx.Done():
	}
}

// notify calls a function when a model is at the gate.
func (g *gate) notify(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside > 0 {
		f()
		return
	}
	g.waiting = append(g.waiting, f)
}

func (g *gate) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside++
	for _, f := range g.waiting {
		f()
	}
	g.waiting = nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
}

// asked returns a channel that is closed when a client asks.
func (g *gate) asked() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.next
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.next)
	g.next = make(chan struct{})
}

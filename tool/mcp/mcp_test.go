//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/mcp"
)

// web serves MCP over streamable HTTP.
func web(t *testing.T, server *sdk.Server, wrap ...func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	for _, w := range wrap {
		handler = w(handler)
	}
	srv := httptest.NewServer(handler)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		hangUp(server)
	})
	return srv
}

// hangUp ends the sessions of a server.
func hangUp(server *sdk.Server) {
	for session := range server.Sessions() {
		_ = session.Close()
	}
}

// Every way to a server leads to the same tools.
func TestTransports(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]func(t *testing.T) mcp.Config{
		"stdio": func(*testing.T) mcp.Config { return mcp.Config{Stdio: stdio("")} },
		"http": func(t *testing.T) mcp.Config {
			t.Helper()
			return mcp.Config{HTTP: &mcp.HTTP{URL: web(t, newServer()).URL}}
		},
		"sse": func(t *testing.T) mcp.Config {
			t.Helper()
			server := newServer()
			srv := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil))
			t.Cleanup(func() {
				srv.CloseClientConnections()
				srv.Close()
			})
			return mcp.Config{SSE: &mcp.HTTP{URL: srv.URL}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := open(t, cfg(t))
			first := k.tools()
			if again := k.tools(); len(first) == 0 || &first[0] != &again[0] {
				t.Error("tools that have not changed are listed again")
			}
			d := named(first, "echo").Declaration()
			if d.Description != "Says it again." || !strings.Contains(string(d.Parameters), `"what to say"`) || d.Effect != tool.Once {
				t.Errorf("echo is %+v", d)
			}
			if d := named(first, "image_draw").Declaration(); d.Description != "Draws." {
				t.Errorf("image.draw is %+v", d)
			}
			if e := named(first, "point").Declaration().Effect; e != tool.Pure {
				t.Errorf("what only reads is %s", e)
			}
			if e := named(first, "pid").Declaration().Effect; e != tool.Idempotent {
				t.Errorf("what can be done twice is %s", e)
			}
			for _, c := range []struct{ tool, args, want string }{
				{"echo", `{"text":"hi"}`, `"hi"`},
				{"echo", `{"text":5}`, "error: "},
				{"point", ``, `{"x":1,"y":2}`},
				{"image_draw", `{}`, `{"content":[{"type":"text","text":"Here:"},{"type":"image","mimeType":"image/png","data":"cG5n"}]}`},
				{"fail", `{}`, "error: out of paper"},
				{"huge", `{"bytes":1000000}`, `"xxx`},
				{"huge", `{"bytes":10486000}`, "error: the result must not be larger than 10 MiB, and this one has 10486002 bytes: ask for less"},
			} {
				if got := k.call(c.tool, c.args); !strings.HasPrefix(got, c.want) {
					t.Errorf("%s%s: %.200s, want %s", c.tool, c.args, got, c.want)
				}
			}
			if got := k.call("grow", `{}`); got != `"ok"` {
				t.Errorf("grow: %s", got)
			}
			eventually(t, "the new tool", func() bool { return named(k.tools(), "grown") != nil })
			if got := k.call("grown", `{}`); got != `"new"` {
				t.Errorf("grown: %s", got)
			}
			// Calls go side by side.
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					if got, want := k.call("echo", fmt.Sprintf(`{"text":"%d"}`, i)), fmt.Sprintf(`"%d"`, i); got != want {
						t.Errorf("call %d: %s", i, got)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	k := open(t, mcp.Config{Stdio: stdio(""), Filter: mcp.Only("echo", "pid"), Prefix: "srv", Confirm: true})
	tools := k.tools()
	if len(tools) != 2 || named(tools, "srv_echo") == nil || named(tools, "srv_pid") == nil {
		t.Fatalf("%d tools", len(tools))
	}
	ctx := toolContext(t.Context())
	if got := k.callAs(ctx, "srv_echo", `{"text":"hi"}`); !strings.Contains(got, "requires confirmation") || ctx.Actions.RequestedToolConfirmations["c1"] == nil {
		t.Errorf("a call that was not approved: %s", got)
	}
	ctx.Confirmation = &tool.Confirmation{Confirmed: true}
	if got := k.callAs(ctx, "srv_echo", `{"text":"hi"}`); got != `"hi"` {
		t.Errorf("the approved call: %s", got)
	}
}

func TestProcessEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "hunter2")
	got := open(t, mcp.Config{Stdio: stdio("", "GIVEN=yes")}).call("environment", `{}`)
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "GIVEN=yes") || !strings.Contains(got, "PATH=") {
		t.Errorf("the process sees %s", got)
	}
}

// alive reports whether a process is there and not a zombie.
func alive(pid string) bool {
	n, err := strconv.Atoi(strings.Trim(pid, `"`+"\n"))
	if err != nil || syscall.Kill(n, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestProcessEndsWithTheToolset(t *testing.T) {
	t.Parallel()
	k := open(t, mcp.Config{Stdio: stdio("")})
	server, child := k.call("pid", ""), k.call("child", "")
	if !alive(server) || !alive(child) {
		t.Fatal("they do not run")
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the server and its child", func() bool { return !alive(server) && !alive(child) })
	if _, err := k.Tools(toolContext(t.Context())); err == nil || !strings.Contains(err.Error(), "the toolset is closed") {
		t.Errorf("the tools of a closed toolset: %v", err)
	}
	if got := k.Close(); got != nil {
		t.Errorf("closed twice: %v", got)
	}
}

// A host that is killed leaves no server behind.
func TestProcessEndsWithItsHost(t *testing.T) {
	t.Parallel()
	host := stdio("host")
	cmd := exec.CommandContext(t.Context(), host.Command)
	cmd.Env = append(os.Environ(), host.Env...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !alive(pid) {
		t.Errorf("the server is %q: %v", pid, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, "the end of the server", func() bool { return !alive(pid) })
}

func TestServerDiesInTheCall(t *testing.T) {
	t.Parallel()
	k := open(t, mcp.Config{Stdio: stdio("")})
	before := k.call("pid", "")
	if got := k.call("die", ""); !strings.Contains(got, "was lost during the call, which may or may not have taken effect") {
		t.Errorf("die: %s", got)
	}
	after := k.call("pid", "")
	if after == before || !alive(after) {
		t.Errorf("the server was %s and is %s", before, after)
	}
	// What may be done twice is.
	file := filepath.Join(t.TempDir(), "died")
	if got := k.call("die_once", fmt.Sprintf(`{"text":%q}`, file)); got != `"alive"` {
		t.Errorf("die_once: %s", got)
	}
	// It may also die between calls.
	n, _ := strconv.Atoi(strings.Trim(k.call("pid", ""), `"`))
	_ = syscall.Kill(n, syscall.SIGKILL)
	eventually(t, "that another one is there", func() bool { return k.call("echo", `{"text":"back"}`) == `"back"` })
}

func TestSlowServer(t *testing.T) {
	t.Parallel()
	t.Run("call", func(t *testing.T) {
		t.Parallel()
		k := open(t, mcp.Config{Stdio: stdio(""), CallTimeout: 50 * time.Millisecond})
		if got := k.call("slow", ""); !strings.Contains(got, "did not answer in 50ms") {
			t.Errorf("slow: %s", got)
		}
		eventually(t, "that it answers in time", func() bool { return alive(k.call("pid", "")) })
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		k := open(t, mcp.Config{Stdio: stdio("")})
		slow := named(k.tools(), "slow")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := slow.Call(toolContext(ctx), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
	t.Run("closed in the call", func(t *testing.T) {
		t.Parallel()
		k := open(t, mcp.Config{Stdio: stdio("")})
		slow := named(k.tools(), "slow")
		time.AfterFunc(20*time.Millisecond, func() { _ = k.Close() })
		if _, err := slow.Call(toolContext(t.Context()), nil); err == nil {
			t.Error("the call has an answer")
		}
	})
	t.Run("start", func(t *testing.T) {
		t.Parallel()
		k := open(t, mcp.Config{Stdio: stdio("mute"), ConnectTimeout: 50 * time.Millisecond})
		_, err := k.Tools(toolContext(t.Context()))
		if err == nil || !strings.Contains(err.Error(), "it did not answer in 50ms") {
			t.Errorf("a mute server: %v", err)
		}
	})
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	k := open(t, mcp.Config{Stdio: stdio("broken")})
	if _, err := k.Tools(toolContext(t.Context())); err == nil || !strings.Contains(err.Error(), "cannot be connected to") {
		t.Errorf("a broken server: %v", err)
	}
	eventually(t, "what it said in the log", func() bool { return strings.Contains(k.log.String(), "no configuration") })
	k = open(t, mcp.Config{Stdio: &mcp.Stdio{Command: "no-such-command-here"}})
	if _, err := k.Tools(toolContext(t.Context())); err == nil || !strings.Contains(err.Error(), "no-such-command-here") {
		t.Errorf("a command that is not there: %v", err)
	}
}

// Servers of older protocols need not hear what newer ones are asked first. That
// is found out once.
func TestOldServers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"deaf", "strict"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "starts")
			k := open(t, mcp.Config{Stdio: stdio(kind, "STARTS="+file)})
			if got := k.call("echo", `{"text":"hello"}`); got != `"hello"` {
				t.Errorf("echo: %s", got)
			}
			k.call("die", "")
			eventually(t, "that another one is there", func() bool { return k.call("echo", `{"text":"back"}`) == `"back"` })
			if starts, _ := os.ReadFile(file); string(starts) != "xxx" {
				t.Errorf("it was started %d times", len(starts))
			}
		})
	}
}

// A server over HTTP that was restarted does not know its sessions any more.
func TestSessionExpires(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[http.Handler]
	renew := func() {
		server := newServer()
		t.Cleanup(func() { hangUp(server) })
		var h http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
		current.Store(&h)
	}
	renew()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	k := open(t, mcp.Config{HTTP: &mcp.HTTP{URL: srv.URL}})
	for i := range 3 {
		if got := k.call("echo", `{"text":"hi"}`); got != `"hi"` {
			t.Fatalf("round %d: %s", i, got)
		}
		renew()
	}
}

// A server that is unavailable keeps its tools; their calls fail, until it is back.
func TestServerIsUnavailable(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	srv := web(t, newServer(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if away.Load() {
				http.Error(w, "away", http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	k := open(t, mcp.Config{HTTP: &mcp.HTTP{URL: srv.URL + "/?key=hunter2"}})
	k.tools()
	away.Store(true)
	if got := k.call("echo", `{"text":"hi"}`); !strings.HasPrefix(got, "error: the server 127.0.0.1:") || strings.Contains(got, "hunter2") {
		t.Errorf("a call of a server that is unavailable: %s", got)
	}
	if len(k.tools()) == 0 {
		t.Error("it has lost its tools")
	}
	away.Store(false)
	eventually(t, "that it is back", func() bool { return k.call("echo", `{"text":"hi"}`) == `"hi"` })
	if strings.Contains(k.log.String(), "hunter2") {
		t.Error("the key is in the log")
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	server := newServer()
	var sessions sync.Map
	srv := web(t, server, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Key") != "k" {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			if id := r.Header.Get("Mcp-Session-Id"); id != "" {
				if user, known := sessions.LoadOrStore(id, r.Header.Get("X-User")); known && user != r.Header.Get("X-User") {
					t.Errorf("a session of %s is used by %s", user, r.Header.Get("X-User"))
				}
			}
			next.ServeHTTP(w, r)
		})
	})
	k := open(t, mcp.Config{HTTP: &mcp.HTTP{
		URL: srv.URL, Header: http.Header{"X-Key": {"k"}},
		Headers: func(ctx *tool.Context) (map[string]string, error) {
			if ctx.User == "anonymous" {
				return nil, errors.New("no token")
			}
			return map[string]string{"X-User": ctx.User}, nil
		},
	}})
	for _, user := range []string{"ann", "bob", "ann"} {
		ctx := toolContext(t.Context())
		ctx.User = user
		if got := k.callAs(ctx, "who", ""); got != fmt.Sprintf(`"%s k"`, user) {
			t.Errorf("%s is %s", user, got)
		}
	}
	ctx := toolContext(t.Context())
	ctx.User = "anonymous"
	if _, err := k.Tools(ctx); err == nil || !strings.Contains(err.Error(), "no token") {
		t.Errorf("anonymous: %v", err)
	}
}

// Headers do not follow a redirect to another host.
func TestHeadersDoNotFollowRedirects(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" {
			seen.Add(1)
		}
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer other.Close()
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	k := open(t, mcp.Config{HTTP: &mcp.HTTP{URL: srv.URL, Header: http.Header{"X-Key": {"k"}}}})
	if _, err := k.Tools(toolContext(t.Context())); err == nil {
		t.Error("the other server has tools")
	}
	if seen.Load() != 0 {
		t.Error("another host has got the key")
	}
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]mcp.Config{
		"nothing": {}, "both": {Stdio: &mcp.Stdio{Command: "x"}, HTTP: &mcp.HTTP{URL: "https://x"}},
		"no command": {Stdio: &mcp.Stdio{}}, "no address": {HTTP: &mcp.HTTP{URL: "x"}}, "odd prefix": {Stdio: &mcp.Stdio{Command: "x"}, Prefix: "a b"},
	} {
		if _, err := mcp.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "mcp: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseConfig(t *testing.T) {
	for doc, want := range map[string]string{
		`{"type":"StdioConnectionParams","serverParams":{"command":"npx","args":["-y","x"],"env":{"B":"2","A":"1"},"cwd":"/tmp"},"timeout":5}`: `stdio npx [-y x] [A=1 B=2] /tmp 5s 0s`,
		`{"type":"StdioConnectionParams","server_params":{"command":"npx"},"timeout":5000}`:                                                    `stdio npx [] []  5s 0s`,
		`{"command":"npx","args":["x"]}`: `stdio npx [x] []  0s 0s`,
		`{"type":"StreamableHTTPConnectionParams","url":"https://x/mcp","header":{"a":"1"},"transportOptions":{"requestInit":{"headers":{"b":"2"}}},"sseReadTimeout":60}`: `http https://x/mcp map[A:[1] B:[2]] 0s 1m0s`,
		`{"url":"http://x","headers":{"a":"1"}}`:          `http http://x map[A:[1]] 0s 0s`,
		`{"type":"SseConnectionParams","url":"http://x"}`: `sse http://x map[] 0s 0s`,
		`{}`:                                  "need a type",
		`{"type":"Carrier","url":"http://x"}`: `"Carrier" is no kind`,
		`{"type":"StdioConnectionParams"}`:    "needs a command",
		`{"url":"ftp://x"}`:                   "should be an address",
		`[]`:                                  "cannot be read",
	} {
		cfg, err := mcp.ParseConfig(json.RawMessage(doc))
		got := fmt.Sprint(err)
		switch {
		case err != nil:
		case cfg.Stdio != nil:
			got = fmt.Sprint("stdio ", cfg.Stdio.Command, " ", cfg.Stdio.Args, " ", cfg.Stdio.Env, " ", cfg.Stdio.Dir)
		case cfg.HTTP != nil:
			got = fmt.Sprint("http ", cfg.HTTP.URL, " ", map[string][]string(cfg.HTTP.Header))
		default:
			got = fmt.Sprint("sse ", cfg.SSE.URL, " ", map[string][]string(cfg.SSE.Header))
		}
		if err == nil {
			got += fmt.Sprint(" ", cfg.ConnectTimeout, " ", cfg.CallTimeout)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s\n is %s\nwant %s", doc, got, want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(`{"type":"StdioConnectionParams","serverParams":{"command":"npx","env":{"B":"2"}},"timeout":1e300}`)
	f.Add(`{"url":"https://x","transportOptions":{"requestInit":{"headers":{"b":"2"}}}}`)
	f.Fuzz(func(t *testing.T, doc string) {
		cfg, err := mcp.ParseConfig(json.RawMessage(doc))
		if err != nil {
			return
		}
		if cfg.ConnectTimeout < 0 || cfg.CallTimeout < 0 {
			t.Errorf("negative times of %s", doc)
		}
		if _, err := mcp.New(cfg); err != nil {
			t.Errorf("%s is read, and cannot be used: %v", doc, err)
		}
	})
}

// What a server has to read is listed, and read by name or by URI, also after its
// process has died.
func TestResources(t *testing.T) {
	t.Parallel()
	k := open(t, mcp.Config{Stdio: stdio("")})
	ctx := toolContext(t.Context())
	list, err := k.Resources(ctx)
	if err != nil || len(list) != 2 || list[1] != (mcp.Resource{URI: "test://notes", Name: "notes", Description: "What was noted.", MIMEType: "text/plain"}) {
		t.Errorf("the resources are %+v, %v", list, err)
	}
	for i, name := range []string{"notes", "test://notes", "notes"} {
		if i == 2 {
			n, _ := strconv.Atoi(strings.Trim(k.call("pid", ""), `"`))
			_ = syscall.Kill(n, syscall.SIGKILL)
			eventually(t, "that another one is there", func() bool { _, err := k.Resources(ctx); return err == nil })
		}
		got, err := k.ReadResource(ctx, name)
		if want := `[{"uri":"test://notes","mimeType":"text/plain","text":"It is test://notes"}]`; err != nil || string(got) != want {
			t.Errorf("%s is %s, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{"nothing": `has no resource "nothing"`, "gone": `the resource "gone"`} {
		if got, err := k.ReadResource(ctx, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %s, %v", name, got, err)
		}
	}
}

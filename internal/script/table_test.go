package script

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// differs are the packages of the table that do not behave as in Node.js with QuickJS,
// and why.
var differs = map[string]string{
	"playwright-core": "it requires files by names that it computes, and starts programs",
	"sharp":           "it is a native addon",
	"sql.js":          "it is WebAssembly",
	"tiktoken":        "it is WebAssembly",
}

// The packages that authors of agents use behave as in Node.js: each file in
// testdata/table has a tool that uses one, and gives the same in both. In QuickJS each
// is an application. In a process of Node.js they are one, all.js: it is the same
// Node.js, and what differs is how it finds packages.
func TestTable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it installs packages")
	}
	dir, err := filepath.Abs(filepath.Join("testdata", "table"))
	if err != nil {
		t.Fatal(err)
	}
	nodejs.Install(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.js"))
	if err != nil || len(files) < 80 {
		t.Fatalf("%d packages: %v", len(files), err)
	}
	var names []string
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".js"); name != all {
			names = append(names, name)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	env := []string{"TABLE_URL=" + server.URL, "TABLE_CLOSED=" + closedPort(t), "TABLE_SOCKETS=" + socketServer(t, dir), "TZ=UTC"}
	want := inNode(t, dir, env, names)
	for _, on := range []struct {
		engine  string
		differs map[string]string
		least   int // per cent
		use     func(t *testing.T) func(t *testing.T, name string) (string, error)
	}{
		{"quickjs", differs, 88, func(*testing.T) func(*testing.T, string) (string, error) {
			return func(t *testing.T, name string) (string, error) {
				t.Helper()
				root, err := loadPackage(t, filepath.Join(dir, name+".js"), name, "quickjs", env)
				if err != nil {
					return "", err
				}
				return result(t, root, "use"), nil
			}
		}},
		{"node", nil, 97, func(t *testing.T) func(*testing.T, string) (string, error) {
			t.Helper()
			root, err := loadPackage(t, filepath.Join(dir, all+".js"), all, "node", env)
			if err != nil {
				t.Fatal(err)
			}
			return func(t *testing.T, name string) (string, error) {
				t.Helper()
				return result(t, root, notWord.ReplaceAllString(name, "_")), nil
			}
		}},
	} {
		t.Run(on.engine, func(t *testing.T) {
			t.Parallel()
			use := on.use(t)
			var equal atomic.Int64
			t.Run("packages", func(t *testing.T) {
				for _, name := range names {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						got, err := use(t, name)
						same := err == nil && got == want[name]
						if same {
							equal.Add(1)
						}
						switch why := on.differs[name]; {
						case same && why != "":
							t.Errorf("it is the same as in Node.js, but differs says: %s", why)
						case !same && why == "":
							t.Errorf("got  %s (%v)\nwant %s", got, err, want[name])
						}
					})
				}
			})
			n := int(equal.Load())
			t.Logf("%d of %d packages behave as in Node.js", n, len(names))
			if n*100 < on.least*len(names) {
				t.Errorf("these are less than %d %%", on.least)
			}
		})
	}
}

// all is the application with all packages.
const all = "all"

// notWord is what the names of tools do not have.
var notWord = regexp.MustCompile(`\W`)

// loadPackage returns the agent of an application that ends with the test.
func loadPackage(t *testing.T, file, name, engineName string, env []string) (*agent.Agent, error) {
	t.Helper()
	limits := engine.Limits{Memory: 2 << 30, Turn: time.Hour, Call: time.Hour, Load: time.Hour} // some load megabytes of code
	apps, err := Load(t.Context(), Options{Dir: file, Engine: engineName, Models: caller, Environ: env, Limits: &limits, Scratch: 1 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	t.Cleanup(apps.Close)
	root, _, err := apps.Agent(name)
	return root, err
}

// inNode returns what the tools give in Node.js.
func inNode(t *testing.T, dir string, env, names []string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), append([]string{"--no-warnings", "lib/run.js"}, names...)...)
	cmd.Dir, cmd.Env = dir, append(cmd.Environ(), env...)
	out, err := cmd.Output()
	_, text, _ := strings.Cut(string(out), "\x00")
	var all map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal([]byte(text), &all)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[string]string{}
	for name, result := range all {
		if strings.HasPrefix(string(result), `{"error"`) {
			t.Errorf("%s fails in Node.js: %s", name, result)
		}
		want[name] = string(result)
	}
	return want
}

// closedPort is a port that nothing listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// socketServer starts a WebSocket server that sends everything back.
func socketServer(t *testing.T, dir string) (url string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "lib/socket.js")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// echo answers requests with what they are, in a document that has what the clients
// of several services expect.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch path := strings.Split(r.URL.Path, "/"); {
	case path[1] == "status":
		code, _ := strconv.Atoi(path[2])
		w.WriteHeader(code)
		return
	case path[1] == "redirect":
		http.Redirect(w, r, "/moved", http.StatusFound)
		return
	case path[1] == "hang":
		<-r.Context().Done()
		return
	case path[1] == "rss":
		_, _ = io.WriteString(w, `<rss version="2.0"><channel><title>T</title><item><title>A</title><link>https://x.example/a</link><pubDate>Thu, 01 Jan 1970 00:00:00 GMT</pubDate></item></channel></rss>`)
		return
	case strings.Contains(string(body), `"stream":true`):
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []string{"a", "b"} {
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", part)
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
		return
	}
	doc := map[string]any{
		"ok": true, "id": "x", "object": "chat.completion", "type": "message", "role": "assistant", "query": "q", "images": []any{}, "results": []any{map[string]any{"id": "r"}},
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": "hi"}}},
		"content": []any{map[string]any{"type": "text", "text": "hi"}},
		"echo": map[string]any{
			"method": r.Method, "path": r.URL.Path, "query": r.URL.RawQuery, "body": string(body),
			"authorization": r.Header.Get("Authorization"), "contentType": r.Header.Get("Content-Type"),
		},
	}
	w.Header().Set("Content-Type", "application/json")
	var to io.Writer = w
	if strings.HasSuffix(r.URL.Path, "/gzip") && slices.ContainsFunc(strings.Split(r.Header.Get("Accept-Encoding"), ","), func(s string) bool { return strings.TrimSpace(s) == "gzip" }) {
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		defer zip.Close()
		to = zip
	}
	_ = json.NewEncoder(to).Encode(doc)
}

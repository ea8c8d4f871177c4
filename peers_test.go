package parley_test

import (
	"bufio"
	"context"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// Clients of several protocols get the pieces of a text at a server that does not work on the
// run, whatever it checks of its callers.
func TestPiecesFromAnotherServer(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	halting := scripted.Func(func(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			piece := model.Text("Once upon ")
			piece.Partial = true
			if !yield(piece, nil) {
				return
			}
			select {
			case <-goOn:
				yield(model.Text("Once upon a time."), nil)
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
			}
		}
	})
	url := "sqlite:" + filepath.Join(t.TempDir(), "sessions.db")
	open := func() (*parley.Server, string) {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		srv, err := parley.Open(t.Context(), parley.Config{
			Agents: agents(halting), Sessions: parley.SessionConfig{URL: url}, Log: slog.New(slog.DiscardHandler),
			Network: parley.NetworkConfig{PeerAddr: listener.Addr().String(), AllowHosts: []string{"agents.example"}},
			Access:  parley.AccessConfig{Mode: parley.AccessPublic},
		})
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewUnstartedServer(srv.Handler())
		_ = web.Listener.Close()
		web.Listener = listener
		web.Start()
		t.Cleanup(func() {
			srv.Close(context.Background())
			web.Close()
		})
		return srv, web.URL
	}
	works, worker := open()
	_, elsewhere := open()
	run, err := works.Start(t.Context(), parley.Request{App: "app", User: "user", Session: "s", Message: event.Text(event.RoleUser, "go"), Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	stream := func(method, address, body string) *bufio.Reader {
		req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "agents.example"
		req.Header.Set("Accept", "text/event-stream")
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if resp.StatusCode != http.StatusOK {
			doc, _ := io.ReadAll(resp.Body)
			t.Fatalf("%s: %d %s", address, resp.StatusCode, doc)
		}
		return bufio.NewReader(resp.Body)
	}
	get := func(path string) *bufio.Reader { return stream(http.MethodGet, elsewhere+path, "") }
	// begun returns the id in the first frame of a client of another protocol, whose run begins
	// at the server that works.
	begun := func(path, body, pattern string) string {
		from := stream(http.MethodPost, worker+path, body)
		id := regexp.MustCompile(pattern)
		for {
			line, err := from.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: no id, %v", path, err)
			}
			if found := id.FindStringSubmatch(line); found != nil {
				return found[1]
			}
		}
	}
	response := begun("/v1/responses", `{"model":"app","conversation":"s2","input":"go","stream":true}`, `"id":"(resp_[^"]+)"`)
	task := begun("/a2a/app/message:stream", `{"message":{"messageId":"m","contextId":"s3","role":"ROLE_USER","parts":[{"text":"go"}]}}`, `"task":{"id":"([^"]+)"`)
	streams := map[string]*bufio.Reader{}
	for _, path := range []string{
		"/apps/app/users/user/sessions/s/runs/" + run.ID() + "/events",
		"/apps/app/agui?threadId=s&runId=" + run.ID(),
		"/apps/app/aisdk/s/stream",
		"/v1/responses/" + response + "?stream=true",
		"/a2a/app/tasks/" + task + ":subscribe",
	} {
		streams[path] = get(path)
	}
	for path, stream := range streams {
		for line := ""; !strings.Contains(line, `upon "`); { // some protocols have it word by word
			if line, err = stream.ReadString('\n'); err != nil {
				t.Fatalf("%s: no piece, %v", path, err)
			}
		}
	}
	close(goOn)
	for path, stream := range streams {
		rest, err := io.ReadAll(stream)
		if err != nil || !strings.Contains(string(rest), "a time.") {
			t.Errorf("%s: the stream ends with %s, %v", path, rest, err)
		}
	}
}

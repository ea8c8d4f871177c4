//go:build unix

package chaos

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// An agent of another server is in the middle of a text. The connection is cut, then
// the other server is killed, then the own one. The text is told once.
func TestRemoteAgentSurvives(t *testing.T) {
	t.Parallel()
	resumed := make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-resumed:
		case <-r.Context().Done(): // the server that asks was killed
		}
	}))
	t.Cleanup(model.Close)
	// between is where the servers meet: it knows which methods are called, and by
	// which address the other server is to be reached.
	var target atomic.Pointer[url.URL]
	methods := make(chan string, 1000)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target.Load())
		r.Out.Host = r.In.Host
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var call struct{ Method string }
		_ = json.Unmarshal(body, &call)
		proxy.ServeHTTP(statusWriter{w, func(status int) {
			if status == http.StatusOK {
				methods <- call.Method
			}
		}}, r)
	}))
	t.Cleanup(between.Close)
	server := pgtest.Quick(t)
	start := func(code string) *world {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		return newWorld(t, server.Database(t), server, 2, 0, "--scripts", dir, "--lease", "5s") // as for TestCodeExecution
	}
	far := start(strings.ReplaceAll(storyCode, "BASE", model.URL))
	near := start(`import { RemoteA2AAgent } from '@google/adk';
export const rootAgent = new RemoteA2AAgent({ name: 'root', agentCard: '` + between.URL + `/a2a/script' });`)
	point := func(r *replica) {
		u, err := url.Parse(r.base())
		if err != nil {
			t.Fatal(err)
		}
		target.Store(u)
	}
	await := func(method string) {
		t.Helper()
		for {
			select {
			case got := <-methods:
				if got == method {
					return
				}
			case <-t.Context().Done():
				t.Fatalf("%s was not called", method)
			}
		}
	}
	point(far.replicas[0])
	first, second := near.at(near.replicas[0]), near.at(near.replicas[1])
	if status, body := first.insist(http.MethodPost, "/apps/script/users/u/sessions/s", []byte("{}"), nil); status != http.StatusOK {
		t.Fatal(status, string(body))
	}
	resp, err := first.send(t.Context(), http.MethodPost, "/run_sse", []byte(`{"appName":"script","userId":"u","sessionId":"s","streaming":true,"newMessage":{"role":"user","parts":[{"text":"far"}]}}`), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	run := resp.Header.Get("X-Parley-Run")
	for lines, received := bufio.NewReader(resp.Body), ""; !strings.Contains(received, "time "); {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %s", err, received)
		}
		received += line
	}
	between.CloseClientConnections()
	await("SubscribeToTask")
	point(far.replicas[1])
	far.replicas[0].kill()
	await("SubscribeToTask")
	near.replicas[0].kill()
	await("SubscribeToTask")
	close(resumed)
	// The end of the stream is the end of the run.
	follow, err := second.send(t.Context(), http.MethodGet, "/apps/script/users/u/sessions/s/runs/"+run+"/events", nil, nil)
	if err != nil || follow.StatusCode != http.StatusOK {
		t.Fatal(follow, err)
	}
	defer follow.Body.Close()
	stream, err := io.ReadAll(follow.Body)
	if err != nil || !strings.Contains(string(stream), `"status":"completed"`) {
		t.Fatalf("%v:\n%s", err, stream)
	}
	var log struct {
		Events []struct {
			Author         string
			Content        struct{ Parts []struct{ Text string } }
			CustomMetadata map[string]string
		}
	}
	status, body := second.insist(http.MethodGet, "/apps/script/users/u/sessions/s", nil, nil)
	if err := json.Unmarshal(body, &log); err != nil || status != http.StatusOK {
		t.Fatal(status, string(body), err)
	}
	if len(log.Events) != 2 || log.Events[1].Content.Parts[0].Text != story {
		t.Errorf("the log is %s", body)
	}
	conversation := log.Events[len(log.Events)-1].CustomMetadata["a2a:context_id"]
	var tasks struct{ TotalSize int }
	status, body = far.at(far.replicas[1]).insist(http.MethodGet, "/a2a/script/tasks?contextId="+url.QueryEscape(conversation), nil, http.Header{"A2A-Version": {"1.0"}})
	if err := json.Unmarshal(body, &tasks); err != nil || status != http.StatusOK || tasks.TotalSize != 1 {
		t.Errorf("the tasks of the other server are %d %s, %v", status, body, err)
	}
}

// statusWriter reports the status of an answer.
type statusWriter struct {
	http.ResponseWriter

	wrote func(status int)
}

func (w statusWriter) WriteHeader(status int) {
	w.wrote(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

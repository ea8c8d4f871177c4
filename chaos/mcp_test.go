//go:build unix

package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// buyerCode is an agent that calls a tool, and whose model then waits until a server
// has answered.
const buyerCode = `import { BaseLlm, FunctionTool, LlmAgent } from '@google/adk';
const buy = new FunctionTool({ name: 'buy', description: 'Buys.', execute: async () => (await fetch('BASE/buy')).text() });
class Buyer extends BaseLlm {
  constructor() { super({ model: 'buyer' }); }
  async *generateContentAsync(request: any) {
    const result = request.contents.at(-1).parts[0].functionResponse;
    if (!result) {
      yield { content: { role: 'model', parts: [{ functionCall: { name: 'buy', args: {} } }] } };
      return;
    }
    await (await fetch('BASE/model')).text();
    yield { content: { role: 'model', parts: [{ text: 'Bought: ' + result.response.result }] } };
  }
  connect(): any { throw new Error('not here'); }
}
export const rootAgent = new LlmAgent({ name: 'root', model: new Buyer(), tools: [buy] });
`

// A server is killed while it works on a call of MCP that is a task, after the tool has
// run. Another server has the task and its result, and the tool runs once.
func TestTaskSurvives(t *testing.T) {
	t.Parallel()
	var bought atomic.Int32
	asked, killed := make(chan struct{}, 100), make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/buy" {
			fmt.Fprint(rw, bought.Add(1))
			return
		}
		asked <- struct{}{}
		select {
		case <-killed:
		case <-r.Context().Done(): // the server that asks was killed
		}
	}))
	t.Cleanup(remote.Close)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(strings.ReplaceAll(buyerCode, "BASE", remote.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	server := pgtest.Quick(t)
	// The lease is long, so that a server that lives but is slow keeps its run.
	w := newWorld(t, server.Database(t), server, 2, 0, "--scripts", dir, "--lease", "10s")
	// task sends a request about a task, and returns its result.
	type task struct {
		ResultType, TaskID, Status string
		Result                     struct{ Content []struct{ Text string } }
	}
	request := func(at *replica, method, name, params string) task {
		t.Helper()
		header := http.Header{}
		header.Set("Mcp-Protocol-Version", "2026-07-28")
		header.Set("Mcp-Method", method)
		header.Set("Mcp-Name", name)
		if method == "tools/call" {
			header.Set("Idempotency-Key", "once") // the client may repeat a request
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
			"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, method, params)
		status, doc := w.at(at).insist(http.MethodPost, "/apps/script/mcp", []byte(body), header)
		var out struct{ Result task }
		if err := json.Unmarshal(doc, &out); err != nil || status != http.StatusOK || out.Result.ResultType == "" {
			t.Fatalf("%s: %d %s", method, status, doc)
		}
		return out.Result
	}
	begun := request(w.replicas[0], "tools/call", "script", `"name":"script","arguments":{"message":"buy"}`)
	if begun.ResultType != "task" || begun.TaskID == "" {
		t.Fatalf("the call is not a task: %+v", begun)
	}
	get := func() task {
		t.Helper()
		return request(w.replicas[1], "tasks/get", begun.TaskID, fmt.Sprintf(`"taskId":%q`, begun.TaskID))
	}
	<-asked // the result of the tool is stored
	w.replicas[0].kill()
	if got := get(); got.Status != "working" {
		t.Fatalf("the task is %s", got.Status)
	}
	close(killed)
	var last task
	testkit.Eventually(t, "the task ends", func() bool {
		last = get()
		return last.Status != "working"
	})
	if last.Status != "completed" || len(last.Result.Content) == 0 || last.Result.Content[0].Text != "Bought: 1" {
		t.Errorf("the task is %+v", last)
	}
	if n := bought.Load(); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

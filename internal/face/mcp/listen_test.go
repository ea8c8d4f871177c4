package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	_ "github.com/parley-run/parley/session/sqlite" // keeps the keys
)

// subscribe subscribes to tasks, and returns the messages that arrive.
func subscribe(t *testing.T, web *httptest.Server, user string, ids ...string) (next func() map[string]any) {
	t.Helper()
	list, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	message := request("subscriptions/listen", `"notifications":{"taskIds":`+string(list)+`}`, tasks)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/apps/weather/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "text/event-stream", "MCP-Protocol-Version": modern, "Mcp-Method": "subscriptions/listen", "X-User-Id": user,
	} {
		req.Header.Set(name, value)
	}
	resp, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() (got map[string]any) {
		t.Helper()
		for lines.Scan() {
			if doc, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(doc), &got); err != nil {
					t.Fatal(err)
				}
				return got
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return nil
	}
}

// A client that subscribes to its tasks learns what becomes of them, and nothing of the
// tasks of others.
func TestListen(t *testing.T) {
	t.Parallel()
	fixture := testkit.NewFixture()
	web := serve(t, parley.Config{Agents: fixture.Apps()})
	sendAs := func(user string) func(method, params string) any {
		return func(method, params string) any {
			t.Helper()
			_, got := post(t, web, modern, map[string]string{"X-User-Id": user}, request(method, params, tasks))
			return got["result"]
		}
	}
	defer fixture.Open("gate")
	alice := sendAs("alice")
	slow, asks := begin(t, alice, "slow gate"), begin(t, alice, "danger one")
	other := begin(t, sendAs("bob"), "hello")
	next := subscribe(t, web, "alice", slow, asks, other, "unknown")
	if got := next(); got["method"] != "notifications/subscriptions/acknowledged" || fmt.Sprint(at(got, "params", "notifications", "taskIds")) != fmt.Sprint([]any{slow, asks}) ||
		at(got, "params", "_meta", "io.modelcontextprotocol/subscriptionId") != float64(7) {
		t.Fatal(got)
	}
	// until reads until a task has a status, and returns the notification.
	until := func(id, status string) any {
		t.Helper()
		for {
			got := next()
			params := at(got, "params")
			if got["method"] != "notifications/tasks" || at(params, "_meta", "io.modelcontextprotocol/subscriptionId") != float64(7) || at(params, "taskId") == other {
				t.Fatal(got)
			}
			if at(params, "taskId") == id && at(params, "status") == status {
				return params
			}
		}
	}
	question := until(asks, "input_required")
	requests, _ := at(question, "inputRequests").(map[string]any)
	for key := range requests {
		alice("tasks/update", `"taskId":"`+asks+`","inputResponses":{"`+key+`":{"action":"decline"}}`)
	}
	if got := until(asks, "completed"); len(requests) != 1 || at(got, "result", "content", "0", "text") == nil {
		t.Error(requests, got)
	}
	fixture.Open("gate")
	if got := until(slow, "completed"); at(got, "result", "content", "0", "text") == nil {
		t.Error(got)
	}
}

// A subscription that cannot be is refused.
func TestListenRefused(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{})
	many := strings.TrimSuffix(strings.Repeat(`"x",`, 51), ",")
	for name, tt := range map[string]struct {
		params, can, accept string
		code                float64
	}{
		"too many":      {`"notifications":{"taskIds":[` + many + `]}`, tasks, "*/*", -32602},
		"no capability": {`"notifications":{"taskIds":["x"]}`, "{}", "*/*", -32021},
		"no stream":     {`"notifications":{}`, tasks, "application/json", -32602},
	} {
		_, got := post(t, web, modern, map[string]string{"Accept": tt.accept}, request("subscriptions/listen", tt.params, tt.can))
		if at(got, "error", "code") != tt.code {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A task that waits for its user can be cancelled: it ends without the tool.
func TestCancelWaitingTask(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{})
	send := func(method, params string) any {
		t.Helper()
		_, got := post(t, web, modern, nil, request(method, params, tasks))
		if got["error"] != nil {
			t.Fatal(got)
		}
		return got["result"]
	}
	id := begin(t, send, "danger one")
	var got any
	testkit.Eventually(t, "the question", func() bool {
		got = send("tasks/get", `"taskId":"`+id+`"`)
		return at(got, "status") == "input_required"
	})
	requests, _ := at(got, "inputRequests").(map[string]any)
	for range 2 { // the second time changes nothing
		if got := send("tasks/cancel", `"taskId":"`+id+`"`); at(got, "resultType") != "complete" {
			t.Error(got)
		}
		if got := send("tasks/get", `"taskId":"`+id+`"`); at(got, "status") != "cancelled" {
			t.Error(got)
		}
	}
	for key := range requests { // it is too late for an answer
		send("tasks/update", `"taskId":"`+id+`","inputResponses":{"`+key+`":{"action":"accept","content":{"approved":true}}}`)
	}
	if got := send("tasks/get", `"taskId":"`+id+`"`); at(got, "status") != "cancelled" {
		t.Error(got)
	}
	_, run := post(t, web, modern, nil, request("tools/call", call(`{"message":"hello"}`), "{}"))
	if at(run, "result", "content", "0", "text") != "You said: hello" {
		t.Error(run)
	}
}

// The files of many sessions come in pages, and each once.
func TestPagesOfResources(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{})
	const sessions = 45
	want := map[string]bool{}
	for i := range sessions {
		_, got := post(t, web, modern, nil, request("tools/call", call(fmt.Sprintf(`{"message":"art f%d.txt hello"}`, i)), "{}"))
		id, _ := at(got, "result", "structuredContent", "session").(string)
		want[fmt.Sprintf("artifact:///%s/f%d.txt", id, i)] = true
	}
	pages, params := 0, ""
	for {
		_, got := post(t, web, modern, nil, request("resources/list", params, "{}"))
		list, _ := at(got, "result", "resources").([]any)
		for _, one := range list {
			uri, _ := at(one, "uri").(string)
			if !want[uri] {
				t.Errorf("%s is listed twice, or is unknown", uri)
			}
			delete(want, uri)
		}
		pages++
		cursor, _ := at(got, "result", "nextCursor").(string)
		if cursor == "" || pages > sessions {
			break
		}
		params = fmt.Sprintf(`"cursor":%q`, cursor)
	}
	if pages != 3 || len(want) > 0 {
		t.Errorf("there are %d pages, and %v are missing", pages, want)
	}
}

// A caller acts as itself, whatever user it names. One that may act for users acts for
// the user that it names.
func TestCallers(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "keys.db")
	keys, err := parley.OpenAPIKeys(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	create := func(user string, scopes ...string) string {
		t.Helper()
		text, _, err := keys.Create(t.Context(), parley.NewAPIKey{User: user, Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	web := serve(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessKeys, KeysURL: url}})
	assistant, backend := create("assistant"), create("", "run", "users")
	say := func(key, user, arguments string) (int, any) {
		t.Helper()
		header := map[string]string{"Authorization": "Bearer " + key}
		if user != "" {
			header["X-User-Id"] = user
		}
		status, got := post(t, web, modern, header, request("tools/call", call(arguments), "{}"))
		return status, got["result"]
	}
	begin := func(key, user string) string {
		t.Helper()
		status, got := say(key, user, `{"message":"hello"}`)
		id, _ := at(got, "structuredContent", "session").(string)
		if status != http.StatusOK || id == "" {
			t.Fatal(status, got)
		}
		return id
	}
	sees := func(key, user, id string) bool {
		t.Helper()
		_, got := say(key, user, `{"message":"hello","session":"`+id+`"}`)
		return at(got, "isError") != true
	}
	other := create("", "run", "users")
	own, bobs, backends := begin(assistant, "bob"), begin(backend, "bob"), begin(backend, "")
	for _, tt := range []struct {
		key, user, id string
		sees          bool
	}{
		{assistant, "", own, true},
		{assistant, "bob", own, true},
		{assistant, "bob", bobs, false},
		{assistant, "", bobs, false},
		{backend, "bob", bobs, true},
		{backend, "alice", bobs, false},
		{backend, "bob", own, false},
		{backend, "assistant", own, true},
		{backend, "", bobs, false},
		{backend, "", backends, true},
		{backend, "user", backends, false},
		{other, "", backends, false},
	} {
		if sees(tt.key, tt.user, tt.id) != tt.sees {
			t.Errorf("as %q: sees the session: %v", tt.user, !tt.sees)
		}
	}
	if status, _ := post(t, web, modern, nil, request("tools/list", "", "{}")); status != http.StatusUnauthorized {
		t.Errorf("no key: %d", status)
	}
}

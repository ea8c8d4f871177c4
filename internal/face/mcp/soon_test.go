package mcp_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// A client with tasks gets a short answer, and a first question, without a task.
func TestSoon(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{})
	send := func(params string) any {
		t.Helper()
		_, got := post(t, web, modern, map[string]string{patienceHeader: ""}, request("tools/call", params, tasks))
		return got["result"]
	}
	if got := send(call(`{"message":"hello"}`)); at(got, "resultType") != "complete" || at(got, "content", "0", "text") != "You said: hello" {
		t.Error(got)
	}
	got := send(call(`{"message":"danger one"}`))
	requests, _ := at(got, "inputRequests").(map[string]any)
	state, _ := at(got, "requestState").(string)
	if at(got, "resultType") != "input_required" || len(requests) != 1 || state == "" {
		t.Fatal(got)
	}
	for key := range requests {
		got = send(call(`{}`) + `,"requestState":"` + state + `","inputResponses":{"` + key + `":{"action":"accept","content":{"approved":true}}}`)
	}
	if text, _ := at(got, "content", "0", "text").(string); at(got, "resultType") != "complete" || !strings.Contains(text, "delete_table returned") {
		t.Error(got)
	}
}

// A client whose stream was cut continues it, with its own streams only.
func TestResumedStream(t *testing.T) {
	t.Parallel()
	fixture := testkit.NewFixture()
	web := serve(t, parley.Config{Agents: fixture.Apps()})
	send := func(method, user, last, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL+"/apps/weather/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "text/event-stream", "MCP-Protocol-Version": older, "X-User-Id": user,
			"Mcp-Session-Id": "ni-x", "Last-Event-ID": last,
		} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		resp, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	first := send(http.MethodPost, "alice", "", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{`+call(`{"message":"slow gate"}`)+`}}`)
	var id string
	for lines := bufio.NewScanner(first.Body); id == "" && lines.Scan(); {
		id, _ = strings.CutPrefix(lines.Text(), "id: ")
	}
	if id == "" {
		t.Fatal("the stream does not begin with an id")
	}
	_ = first.Body.Close()
	for name, tt := range map[string]struct {
		user, last string
		status     int
	}{
		"another user": {"bob", id, http.StatusNotFound},
		"no id":        {"alice", "", http.StatusMethodNotAllowed},
		"another id":   {"alice", "x", http.StatusMethodNotAllowed},
	} {
		if got := send(http.MethodGet, tt.user, tt.last, ""); got.StatusCode != tt.status {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
	}
	rest := send(http.MethodGet, "alice", id, "")
	fixture.Open("gate")
	text, err := io.ReadAll(rest.Body)
	if err != nil || !strings.HasPrefix(string(text), "id: "+id+"\n") || !strings.Contains(string(text), `{"jsonrpc":"2.0","id":"a","result":{"content":`) {
		t.Errorf("%v: %s", err, text)
	}
}

// An agent that needs something of a client of a version before 2026-07-28 that it
// cannot do fails with a text.
func TestMissingCapability(t *testing.T) {
	t.Parallel()
	base := listen(t, kitApps(t, newGate(t)))
	resp, err := http.Post(base+"/apps/test_sampling/mcp", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_sampling"}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), `"isError":true`) || !strings.Contains(string(text), "capability: sampling") {
		t.Errorf("%d %v: %s", resp.StatusCode, err, text)
	}
}

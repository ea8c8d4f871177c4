package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// begin starts a task and returns its id.
func begin(t *testing.T, send func(method, params string) any, message string) string {
	t.Helper()
	got := send("tools/call", call(`{"message":"`+message+`"}`))
	id, _ := at(got, "taskId").(string)
	if at(got, "resultType") != "task" || at(got, "status") != "working" || id == "" {
		t.Fatal(got)
	}
	return id
}

// A task is a run: it can be read, answered and cancelled, by its user alone.
func TestTasks(t *testing.T) {
	t.Parallel()
	fixture := testkit.NewFixture()
	web := serve(t, parley.Config{Agents: fixture.Apps()})
	sendAs := func(user, method, params string) any {
		t.Helper()
		_, got := post(t, web, modern, map[string]string{"X-User-Id": user}, request(method, params, tasks))
		if got["error"] != nil {
			return got
		}
		return got["result"]
	}
	send := func(method, params string) any { t.Helper(); return sendAs("alice", method, params) }
	until := func(id, status string) any {
		t.Helper()
		for t.Context().Err() == nil {
			if got := send("tasks/get", `"taskId":"`+id+`"`); at(got, "status") != "working" {
				if at(got, "status") != status || at(got, "resultType") != "complete" {
					t.Fatal(got)
				}
				return got
			}
		}
		return nil
	}

	id := begin(t, send, "hello")
	if got := until(id, "completed"); at(got, "result", "content", "0", "text") != "You said: hello" {
		t.Error(got)
	}
	if got := sendAs("bob", "tasks/get", `"taskId":"`+id+`"`); at(got, "error", "code") != float64(-32602) {
		t.Error("another user reads the task: ", got)
	}

	id = begin(t, send, "danger one")
	got := until(id, "input_required")
	requests, _ := at(got, "inputRequests").(map[string]any)
	for key, one := range requests {
		if !strings.Contains(at(one, "params", "message").(string), "delete_table") {
			t.Error(one)
		}
		for range 2 { // an answer that is repeated changes nothing
			if got := send("tasks/update", `"taskId":"`+id+`","inputResponses":{"unknown":{},"`+key+`":{"action":"accept","content":{"approved":true}}}`); at(got, "resultType") != "complete" {
				t.Error(got)
			}
		}
	}
	if got := until(id, "completed"); len(requests) != 1 || !strings.Contains(at(got, "result", "content", "0", "text").(string), "delete_table returned") {
		t.Error(got)
	}

	id = begin(t, send, "slow never")
	if got := send("tasks/cancel", `"taskId":"`+id+`"`); at(got, "resultType") != "complete" {
		t.Error(got)
	}
	until(id, "cancelled")

	id = begin(t, send, "fail")
	if got := until(id, "completed"); at(got, "result", "isError") != true {
		t.Error("the failure of an agent is a result: ", got)
	}
}

// A client that shows nothing to its user gets a text, and answers with arguments. The
// session of another user does not exist.
func TestAnswersAsArguments(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{})
	say := func(user, arguments string) any {
		t.Helper()
		_, got := post(t, web, modern, map[string]string{"X-User-Id": user}, request("tools/call", call(arguments), "{}"))
		return got["result"]
	}
	got := say("alice", `{"message":"ask"}`)
	id, _ := at(got, "structuredContent", "session").(string)
	question, _ := at(got, "structuredContent", "questions", "0", "id").(string)
	if at(got, "resultType") != "complete" || question == "" || !strings.Contains(at(got, "content", "0", "text").(string), question) {
		t.Fatal(got)
	}
	if got := say("bob", `{"message":"","session":"`+id+`","answers":{"`+question+`":{"n":4}}}`); at(got, "isError") != true {
		t.Error("another user answers: ", got)
	}
	for range 2 {
		got = say("alice", `{"message":"","session":"`+id+`","answers":{"`+question+`":{"n":4}}}`)
		if at(got, "isError") == true || !strings.Contains(at(got, "content", "0", "text").(string), "4") {
			t.Error(got)
		}
	}
}

// The model of a client cannot approve a call by itself, whatever the client can do: it
// can refuse it, and a human approves it where humans are asked.
func TestArgumentsDoNotApprove(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{})
	for _, version := range []string{modern, older} {
		say := func(arguments string) any {
			t.Helper()
			message := request("tools/call", call(arguments), "{}")
			if version == older {
				message = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{` + call(arguments) + `}}`
			}
			_, got := post(t, web, version, nil, message)
			return got["result"]
		}
		ask := func() (id, question string) {
			t.Helper()
			got := say(`{"message":"danger one"}`)
			id, _ = at(got, "structuredContent", "session").(string)
			question, _ = at(got, "structuredContent", "questions", "0", "id").(string)
			if how, _ := at(got, "content", "0", "text").(string); question == "" || !strings.Contains(how, "has to approve it") || strings.Contains(how, "true") {
				t.Fatal(got)
			}
			return id, question
		}
		id, question := ask()
		for _, answer := range []string{`true`, `{"approved":true}`, `{"confirmed":true,"payload":1}`, `"yes"`, `{}`} {
			got := say(`{"message":"","session":"` + id + `","answers":{"other":1,"` + question + `":` + answer + `}}`)
			if why, _ := at(got, "content", "0", "text").(string); at(got, "isError") != true || !strings.Contains(why, "cannot approve") {
				t.Errorf("%s: %v", answer, got)
			}
		}
		approve := `{"appName":"weather","userId":"user","sessionId":"` + id + `","newMessage":{"parts":[{"functionResponse":{"id":"` + question + `","name":"adk_request_confirmation","response":{"confirmed":true}}}]}}`
		resp, err := web.Client().Post(web.URL+"/run", "application/json", strings.NewReader(approve))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := say(`{"message":"","session":"` + id + `"}`); !strings.Contains(at(got, "content", "0", "text").(string), "delete_table returned") {
			t.Error("the call that a human has approved: ", got)
		}
		id, question = ask()
		if got := say(`{"message":"","session":"` + id + `","answers":{"` + question + `":false}}`); at(got, "isError") == true || strings.Contains(at(got, "content", "0", "text").(string), `"deleted"`) {
			t.Error("the call that the model has refused: ", got)
		}
	}
}

// A request that is repeated with the same key is made once.
func TestRepeatedRequest(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{})
	var first any
	for range 2 {
		_, got := post(t, web, modern, map[string]string{"Idempotency-Key": "k"}, request("tools/call", call(`{"message":"hello"}`), "{}"))
		run := at(got, "result", "structuredContent", "run")
		if first == nil {
			first = run
		}
		if run == nil || run != first {
			t.Error(got)
		}
	}
}

// The same key in another session is another request, also while the first one runs.
func TestRepeatedKeyInAnotherSession(t *testing.T) {
	t.Parallel()
	fixture := testkit.NewFixture()
	web := serve(t, parley.Config{Agents: fixture.Apps()})
	send := func(key, params, can string) any {
		t.Helper()
		_, got := post(t, web, modern, map[string]string{"Idempotency-Key": key}, request("tools/call", params, can))
		return got["result"]
	}
	one := at(send("1", call(`{"message":"hello"}`), "{}"), "structuredContent", "session")
	two := at(send("2", call(`{"message":"hello"}`), "{}"), "structuredContent", "session")
	defer fixture.Open("gate")
	if got := send("k", call(fmt.Sprintf(`{"message":"slow gate","session":%q}`, one)), tasks); at(got, "status") != "working" {
		t.Fatal(got)
	}
	got := send("k", call(fmt.Sprintf(`{"message":"hi","session":%q}`, two)), "{}")
	if at(got, "structuredContent", "text") != "You said: hi" {
		t.Error(got)
	}
}

package a2a_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// Version 0.3 over HTTP+JSON has the messages of gRPC, in JSON.
func TestOldREST(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, parley.Config{Agents: testkit.NewFixture().Apps()}), app: "weather"}
	card := c.read(c.do("GET", "/a2a/weather/.well-known/agent-card.json", ""))
	if card.at("additionalInterfaces.1.transport") != "HTTP+JSON" || card.at("preferredTransport") != "JSONRPC" || card.at("supportedInterfaces.3.protocolVersion") != "0.3" {
		t.Error(card)
	}
	const send = "/a2a/weather/v1/message:send"
	for _, body := range []string{
		`{"message":{"messageId":"a","role":"ROLE_USER","content":[{"text":"hello"}]}}`,
		`{"request":{"message_id":"b","role":"ROLE_USER","content":[{"text":"hello"}]},"configuration":{"blocking":true,"accepted_output_modes":["text/plain"]}}`,
	} {
		d := c.read(c.do("POST", send, body))
		if d.at("task.status.state") != "TASK_STATE_COMPLETED" || d.at("task.artifacts.0.parts.0.text") != "You said: hello" || d.at("task.history.0.content.0.text") != "hello" || d.at("task.kind") != "" {
			t.Error(d)
		}
	}
	d := c.read(c.do("POST", send, `{"message":{"messageId":"f","role":"ROLE_USER","content":[{"text":"hello"},{"data":{"data":{"n":1}}},{"file":{"fileWithBytes":"YWJj","mimeType":"text/plain","name":"a.txt"}},{"file":{"fileWithUri":"https://example.com/a.png","mimeType":"image/png"}}]}}`))
	if d.at("task.history.0.content.1.text") != `{"n":1}` || d.at("task.history.0.content.2.file.fileWithBytes") != "YWJj" || d.at("task.history.0.content.2.file.name") != "a.txt" || d.at("task.history.0.content.3.file.fileWithUri") != "https://example.com/a.png" {
		t.Error(d)
	}
	frames := c.frames(c.do("POST", "/a2a/weather/v1/message:stream", `{"message":{"messageId":"s","role":"ROLE_USER","content":[{"text":"danger one"}]}}`), nil)
	first, last := frames[0], frames[len(frames)-1]
	if first.at("task.id") == "" || last.at("statusUpdate.final") != "true" || last.at("statusUpdate.status.state") != "TASK_STATE_INPUT_REQUIRED" || last.at("statusUpdate.status.message.content.0.text") == "" {
		t.Error(frames)
	}
	task := "/a2a/weather/v1/tasks/" + first.at("task.id")
	if d := c.read(c.do("GET", task+"?historyLength=1", "")); d.at("status.state") != "TASK_STATE_INPUT_REQUIRED" || d.at("kind") != "" {
		t.Error(d)
	}
	for _, method := range []string{"GET", "POST"} {
		if frames := c.frames(c.do(method, task+":subscribe", ""), func(doc) bool { return true }); frames[0].at("task.id") != first.at("task.id") {
			t.Error(method, frames)
		}
	}
	if d := c.read(c.do("POST", task+":cancel", "")); d.at("status.state") != "TASK_STATE_CANCELLED" {
		t.Error(d)
	}

	c.header = http.Header{"A2a-Version": {"1.0"}}
	if d := c.read(c.do("GET", task, "")); d.at("code") != "-32009" {
		t.Error(d)
	}
	c.header = http.Header{"A2a-Version": {"0.3"}}
	for path, want := range map[string]string{
		"/v1/tasks/none": "-32001 404 TASK_NOT_FOUND",
		"/v1/card":       "-32007 400 EXTENDED_AGENT_CARD_NOT_CONFIGURED",
	} {
		resp := c.do("GET", "/a2a/weather"+path, "")
		d := c.read(resp)
		if got := d.at("code") + " " + d.at("error.code") + " " + d.at("error.details.0.reason"); got != want || d.at("message") == "" {
			t.Errorf("%s: %s: %v", path, got, d)
		}
	}
	for body, want := range map[string]string{
		`{}`: "message is missing",
		`{"message":{"messageId":"x","role":"ROLE_USER"}}`:                              "missing",
		`{"message":{"messageId":"x","role":"ROLE_USER","content":[{"data":{"n":1}}]}}`: "data part",
	} {
		if d := c.read(c.do("POST", send, body)); d.at("code") == "" || !strings.Contains(d.at("message"), want) {
			t.Errorf("%s: %v", body, d)
		}
	}
}

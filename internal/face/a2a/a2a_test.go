package a2a_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/faceclient"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func serve(t *testing.T, cfg parley.Config) *httptest.Server {
	t.Helper()
	return faceclient.Serve(t, cfg)
}

// client is a client of one agent.
type client struct {
	*testing.T
	web *httptest.Server
	app string
	// header is added to requests.
	header http.Header
}

// do sends a request, and returns the status and the body.
func (c *client) do(method, path, body string) *http.Response {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, c.web.URL+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	maps.Copy(req.Header, c.header)
	if body != "" && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.web.Client().Do(req)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// rpc calls a method of JSON-RPC.
func (c *client) rpc(method, params string) *http.Response {
	c.Helper()
	return c.do("POST", "/a2a/"+c.app, fmt.Sprintf(`{"jsonrpc":"2.0","id":"q","method":%q,"params":%s}`, method, params))
}

// doc is a JSON document.
type doc map[string]any

// at returns the value at a path of members and indices, as text.
func (d doc) at(path string) string {
	var v any = map[string]any(d)
	for name := range strings.SplitSeq(path, ".") {
		switch value := v.(type) {
		case map[string]any:
			v = value[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(value) {
				return ""
			}
			v = value[i]
		default:
			return ""
		}
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func (c *client) read(resp *http.Response) doc {
	c.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	d := doc{}
	if err := json.Unmarshal(body, &d); err != nil {
		c.Fatalf("%v: %s", err, body)
	}
	return d
}

// frames reads the events of a stream until one of them satisfies until, or to the end.
func (c *client) frames(resp *http.Response, until func(doc) bool) []doc {
	c.Helper()
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		body, _ := io.ReadAll(resp.Body)
		c.Fatalf("the stream is %s: %s", kind, body)
	}
	var list []doc
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		d := doc{}
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			c.Fatal(err, text)
		}
		list = append(list, d)
		if until != nil && until(d) {
			break
		}
	}
	return list
}

func say(id, text, more string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]%s}}`, id, text, more)
}

// A task is the run of a message, with its answer as an artifact.
func TestSend(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, parley.Config{Agents: testkit.NewFixture().Apps()}), app: "weather"}
	first := c.read(c.rpc("SendMessage", say("m1", "weather in Oslo", "")))
	id, context := first.at("result.task.id"), first.at("result.task.contextId")
	if first.at("id") != "q" || first.at("result.task.status.state") != "TASK_STATE_COMPLETED" || id == "" || context == "" {
		t.Fatal(first)
	}
	if text := first.at("result.task.artifacts.0.parts.0.text"); !strings.Contains(text, "Oslo") {
		t.Error(first)
	}
	if first.at("result.task.history.0.messageId") != "m1" || first.at("result.task.history.0.role") != "ROLE_USER" {
		t.Error(first)
	}
	// Again is the same task, in the other binding too.
	for _, resp := range []*http.Response{c.rpc("SendMessage", say("m1", "weather in Oslo", "")), c.do("POST", "/a2a/weather/message:send", say("m1", "weather in Oslo", ""))} {
		again := c.read(resp)
		if again.at("result.task.id")+again.at("task.id") != id {
			t.Error(again)
		}
	}
	got := c.read(c.do("GET", "/a2a/weather/tasks/"+id+"?historyLength=0", ""))
	if got.at("id") != id || got.at("history") != "" || got.at("artifacts.0.parts.0.text") != first.at("result.task.artifacts.0.parts.0.text") {
		t.Error(got)
	}
	// Another message of the context.
	second := c.read(c.rpc("SendMessage", say("m2", "hello", `,"contextId":"`+context+`"`)))
	if second.at("result.task.contextId") != context || second.at("result.task.id") == id || second.at("result.task.artifacts.0.parts.0.text") != "You said: hello" {
		t.Error(second)
	}
	if reused := c.read(c.rpc("SendMessage", say("m2", "other", `,"contextId":"`+context+`"`))); reused.at("result.task.artifacts.0.parts.0.text") != "You said: other" {
		t.Error(reused)
	}
	old := c.read(c.rpc("message/send", `{"message":{"kind":"message","messageId":"m3","role":"user","contextId":"`+context+`","parts":[{"kind":"text","text":"old"}]}}`))
	if old.at("result.kind") != "task" || old.at("result.status.state") != "completed" || old.at("result.artifacts.0.parts.0.kind") != "text" || old.at("result.history.0.role") != "user" {
		t.Error(old)
	}
}

// A stream begins with the task, has pieces of the answer, and ends with its state.
func TestStream(t *testing.T) {
	t.Parallel()
	fixture := testkit.NewFixture()
	c := &client{T: t, web: serve(t, parley.Config{Agents: fixture.Apps()}), app: "weather"}
	resp := c.rpc("SendStreamingMessage", say("m1", "story g", ""))
	begin := c.frames(resp, func(d doc) bool { return strings.Contains(d.at("result.artifactUpdate.artifact.parts.0.text"), "Once") })
	id := begin[0].at("result.task.id")
	if id == "" || begin[0].at("result.task.status.state") != "TASK_STATE_WORKING" {
		t.Fatal(begin)
	}
	// Another one joins.
	other := c.do("GET", "/a2a/weather/tasks/"+id+":subscribe", "")
	joined := c.frames(other, func(d doc) bool { return d.at("artifactUpdate") != "" })
	if joined[0].at("task.id") != id {
		t.Fatal(joined)
	}
	fixture.Open("g")
	for name, frames := range map[string][]doc{"first": c.frames(resp, nil), "other": c.frames(other, nil)} {
		last, whole := frames[len(frames)-1], frames[len(frames)-2]
		for i := range frames {
			if frames[i]["result"] == nil {
				frames[i]["result"] = map[string]any(frames[i])
			}
		}
		if last.at("result.statusUpdate.status.state") != "TASK_STATE_COMPLETED" || last.at("result.statusUpdate.status.timestamp") == "" {
			t.Error(name, last)
		}
		if whole.at("result.artifactUpdate.artifact.parts.0.text") != testkit.Story || whole.at("result.artifactUpdate.lastChunk") != "true" || whole.at("result.artifactUpdate.append") != "" {
			t.Error(name, whole)
		}
	}
	if over := c.read(c.rpc("SubscribeToTask", `{"id":"`+id+`"}`)); over.at("error.code") != "-32004" {
		t.Error(over)
	}
}

// A task that asks keeps its id when it is answered, by a text or by the result of the
// call, and can be cancelled while it waits.
func TestWaits(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, parley.Config{Agents: testkit.NewFixture().Apps()}), app: "weather"}
	ask := func(id, text string) doc {
		d := c.read(c.rpc("SendMessage", say(id, text, "")))
		if d.at("result.task.status.state") != "TASK_STATE_INPUT_REQUIRED" || d.at("result.task.status.message.parts") == "" {
			t.Fatal(d)
		}
		return d
	}
	for name, tt := range map[string]struct{ ask, answer, want string }{
		"yes":  {"danger one", `{"text":"yes"}`, "deleted"},
		"no":   {"danger two", `{"text":"No."}`, "rejected"},
		"data": {"danger three", `{"data":{"confirmed":true}}`, "deleted"},
	} {
		asked := ask(name, tt.ask)
		id := asked.at("result.task.id")
		vague := c.read(c.rpc("SendMessage", say(name+"-v", "perhaps", `,"taskId":"`+id+`"`)))
		if vague.at("error.code") != "-32602" {
			t.Error(name, vague)
		}
		if other := c.read(c.rpc("SendMessage", say(name+"-o", "yes", `,"contextId":"other","taskId":"`+id+`"`))); other.at("error.code") != "-32602" {
			t.Error(name, other)
		}
		params := fmt.Sprintf(`{"message":{"messageId":"%s-a","role":"ROLE_USER","taskId":%q,"parts":[%s]}}`, name, id, tt.answer)
		done := c.read(c.rpc("SendMessage", params))
		if done.at("result.task.id") != id || done.at("result.task.status.state") != "TASK_STATE_COMPLETED" {
			t.Error(name, done)
		}
		if again := c.read(c.rpc("SendMessage", params)); again.at("result.task.id") != id {
			t.Error(name, again)
		}
		got := c.read(c.rpc("GetTask", `{"id":"`+id+`"}`))
		if history := got.at("result.history"); !strings.Contains(history, tt.ask) || !strings.Contains(history, name+"-a") {
			t.Error(name, history)
		}
		if over := c.read(c.rpc("SendMessage", say(name+"-x", "more", `,"taskId":"`+id+`"`))); over.at("error.code") != "-32004" || !strings.Contains(over.at("error.data"), "UNSUPPORTED_OPERATION") {
			t.Error(name, over)
		}
	}
	id := ask("c", "danger four").at("result.task.id")
	stream := c.rpc("SubscribeToTask", `{"id":"`+id+`"}`)
	first := c.frames(stream, func(doc) bool { return true })
	if first[0].at("result.task.status.state") != "TASK_STATE_INPUT_REQUIRED" {
		t.Error(first)
	}
	if d := c.read(c.rpc("CancelTask", `{"id":"`+id+`"}`)); d.at("result.status.state") != "TASK_STATE_CANCELED" {
		t.Error(d)
	}
	rest := c.frames(stream, nil)
	if len(rest) == 0 || rest[len(rest)-1].at("result.statusUpdate.status.state") != "TASK_STATE_CANCELED" {
		t.Error(rest)
	}
	if d := c.read(c.do("POST", "/a2a/weather/tasks/"+id+":cancel", "")); d.at("error.code") != "409" || !strings.Contains(d.at("error.details"), "TASK_NOT_CANCELABLE") {
		t.Error(d)
	}
}

// A stream of a subscriber goes on over questions.
func TestSubscribeOverQuestions(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, parley.Config{Agents: testkit.NewFixture().Apps()}), app: "weather"}
	asked := c.frames(c.rpc("SendStreamingMessage", say("m", "danger one", "")), nil)
	id := asked[0].at("result.task.id")
	if last := asked[len(asked)-1]; last.at("result.statusUpdate.status.state") != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatal(asked)
	}
	stream := c.rpc("SubscribeToTask", `{"id":"`+id+`"}`)
	c.frames(stream, func(doc) bool { return true })
	answered := c.frames(c.rpc("SendStreamingMessage", say("a", "yes", `,"taskId":"`+id+`"`)), nil)
	for name, frames := range map[string][]doc{"subscriber": c.frames(stream, nil), "answer": answered} {
		last := frames[len(frames)-1]
		if last.at("result.statusUpdate.taskId") != id || last.at("result.statusUpdate.status.state") != "TASK_STATE_COMPLETED" {
			t.Error(name, frames)
		}
	}
}

// Lists have pages, filters and the newest first.
func TestList(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, parley.Config{Agents: testkit.NewFixture().Apps()}), app: "weather"}
	for i, text := range []string{"one", "two", "danger x"} {
		c.read(c.rpc("SendMessage", say(fmt.Sprint("m", i), text, fmt.Sprintf(`,"contextId":"c%d"`, i%2))))
	}
	var seen []string
	token := ""
	for range 3 {
		page := c.read(c.do("GET", "/a2a/weather/tasks?pageSize=1&includeArtifacts=true&historyLength=1&pageToken="+token, ""))
		if page.at("totalSize") != "3" || page.at("pageSize") != "1" {
			t.Error(page)
		}
		seen = append(seen, page.at("tasks.0.history.0.messageId"))
		token = page.at("nextPageToken")
	}
	if fmt.Sprint(seen) != "[m2 m1 m0]" || token != "" {
		t.Error(seen, token)
	}
	for params, want := range map[string]string{
		`{"contextId":"c1"}`: "1", `{"context_id":"c1"}`: "1", `{"contextId":"none"}`: "0", `{"status":"TASK_STATE_INPUT_REQUIRED"}`: "1",
		`{"statusTimestampAfter":"2100-01-01T00:00:00Z"}`: "0", `{}`: "3",
	} {
		d := c.read(c.rpc("ListTasks", params))
		if d.at("result.totalSize") != want || strings.Contains(d.at("result.tasks"), "artifacts") {
			t.Error(params, d)
		}
	}
	if d := c.read(c.rpc("ListTasks", `{"pageSize":0}`)); d.at("error.code") != "-32602" {
		t.Error(d)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{Agents: testkit.NewFixture().Apps()})
	for name, tt := range map[string]struct {
		method, params string
		header         http.Header
		code, reason   string
	}{
		"unknown task":    {method: "GetTask", params: `{"id":"x"}`, code: "-32001", reason: "TASK_NOT_FOUND"},
		"task of message": {method: "SendMessage", params: say("m", "x", `,"taskId":"x"`), code: "-32001", reason: "TASK_NOT_FOUND"},
		"subscribe":       {method: "SubscribeToTask", params: `{"id":"x"}`, code: "-32001", reason: "TASK_NOT_FOUND"},
		"version":         {method: "GetTask", params: `{"id":"x"}`, header: http.Header{"A2a-Version": {"99.0"}}, code: "-32009", reason: "VERSION_NOT_SUPPORTED"},
		"content type":    {method: "GetTask", params: `{"id":"x"}`, header: http.Header{"Content-Type": {"text/plain"}}, code: "-32005", reason: "CONTENT_TYPE_NOT_SUPPORTED"},
		"media":           {method: "SendMessage", params: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"eA==","mediaType":"nothing"}]}}`, code: "-32005", reason: "CONTENT_TYPE_NOT_SUPPORTED"},
		"method":          {method: "Sing", params: `{}`, code: "-32601"},
		"old method":      {method: "tasks/get", params: `{"id":"x"}`, header: http.Header{"A2a-Version": {"1.0"}}, code: "-32601"},
		"no message":      {method: "SendMessage", params: `{}`, code: "-32602", reason: "fieldViolations"},
		"type":            {method: "SendMessage", params: `{"message":{"messageId":1}}`, code: "-32602", reason: "messageId"},
		"push":            {method: "CreateTaskPushNotificationConfig", params: `{"taskId":"x","url":"https://8.8.8.8/"}`, code: "-32001", reason: "TASK_NOT_FOUND"},
		"card":            {method: "GetExtendedAgentCard", params: `{}`, code: "-32004", reason: "UNSUPPORTED_OPERATION"},
	} {
		c := &client{T: t, web: web, app: "weather", header: tt.header}
		d := c.read(c.rpc(tt.method, tt.params))
		if d.at("error.code") != tt.code || !strings.Contains(d.at("error.data"), tt.reason) {
			t.Error(name, d)
		}
	}
	whole := &client{T: t, web: web, app: "weather"}
	if d := whole.read(whole.do("POST", "/a2a/weather", `[]`)); d.at("error.message") != "The request must not be of the type array" {
		t.Error(d)
	}
	c := &client{T: t, web: web, app: "none"}
	if resp := c.rpc("GetTask", `{"id":"x"}`); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
	failed := &client{T: t, web: web, app: "weather"}
	if d := failed.read(failed.rpc("SendMessage", say("f", "fail", ""))); d.at("result.task.status.state") != "TASK_STATE_FAILED" || d.at("result.task.status.message.parts.0.text") == "" {
		t.Error(d)
	}
}

// The card tells where and how to call, and is cached.
func TestCard(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, parley.Config{Agents: testkit.NewFixture().Apps(), Network: parley.NetworkConfig{A2AApp: "weather", PublicURL: "https://agents.example.com"}})}
	if main := c.read(c.do("GET", "/.well-known/agent-card.json", "")); main.at("name") != "weather_agent" || main.at("url") != "" || main.at("protocolVersion") != "" {
		t.Error(main)
	}
	resp := c.do("GET", "/a2a/weather/.well-known/agent-card.json", "")
	card := c.read(resp)
	if card.at("supportedInterfaces.0.url") != "https://agents.example.com/a2a/weather" || card.at("url") != card.at("supportedInterfaces.0.url") ||
		card.at("protocolVersion") != "0.3.0" || card.at("capabilities.streaming") != "true" || card.at("name") != "weather_agent" {
		t.Error(card)
	}
	for _, name := range []string{"Etag", "Last-Modified", "Cache-Control"} {
		if resp.Header.Get(name) == "" {
			t.Error("no " + name)
		}
	}
	c.header = http.Header{"If-None-Match": {resp.Header.Get("Etag")}}
	if resp := c.do("GET", "/a2a/weather/.well-known/agent-card.json", ""); resp.StatusCode != http.StatusNotModified {
		t.Error(resp.Status)
	}
	// A cache must not answer with addresses that another client has chosen.
	plain := &client{T: t, web: serve(t, parley.Config{Agents: testkit.NewFixture().Apps()}), header: http.Header{"X-Forwarded-Proto": {"https"}}}
	resp = plain.do("GET", "/a2a/weather/.well-known/agent-card.json", "")
	if address := plain.read(resp).at("url"); !strings.HasPrefix(address, "https://") || !strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "X-Forwarded-Proto") {
		t.Errorf("the address %s depends on %q", address, resp.Header.Values("Vary"))
	}
	if resp := c.do("GET", "/a2a/none/.well-known/agent-card.json", ""); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}

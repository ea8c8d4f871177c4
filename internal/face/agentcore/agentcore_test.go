package agentcore_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/faceclient"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	sessionHeader = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"
	userHeader    = "X-Amzn-Bedrock-AgentCore-Runtime-User-Id"
	// address is that of the runtime for clients.
	address  = "https://bedrock-agentcore.us-east-1.amazonaws.com/runtimes/arn%3Aaws%3Aexample/invocations/"
	session1 = "0123456789-0123456789-0123456789-1" // the runtime wants 33 characters
)

type site struct {
	t   *testing.T
	web *httptest.Server
	*testkit.Fixture
}

func serve(t *testing.T, app string) *site {
	t.Helper()
	fixture := testkit.NewFixture()
	web := faceclient.Serve(t, parley.Config{
		Agents:  fixture.Apps(),
		Network: parley.NetworkConfig{Platforms: []parley.Platform{parley.PlatformAgentCore}, A2AApp: app, A2AURL: address},
	})
	return &site{t, web, fixture}
}

// do sends a request. Headers are pairs of names and values.
func (s *site) do(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.web.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.web.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func (s *site) want(status int, resp *http.Response) string {
	s.t.Helper()
	doc, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %s %v", resp.Request.Method, resp.Request.URL.Path, resp.StatusCode, status, doc, err)
	}
	return string(doc)
}

type result struct {
	Response, Status, SessionID, RunID string
	Questions                          []struct{ ID, Name, Kind, Message string }
}

func (s *site) invoke(body string, headers ...string) (r result) {
	s.t.Helper()
	doc := s.want(200, s.do("POST", "/invocations", body, headers...))
	if err := json.Unmarshal([]byte(doc), &r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// events returns the number of events of a session.
func (s *site) events(user, id string) int {
	s.t.Helper()
	var doc struct{ Events []json.RawMessage }
	if err := json.Unmarshal([]byte(s.want(200, s.do("GET", "/apps/weather/users/"+user+"/sessions/"+id, ""))), &doc); err != nil {
		s.t.Fatal(err)
	}
	return len(doc.Events)
}

// The headers of the runtime name the session and the user.
func TestInvocations(t *testing.T) {
	t.Parallel()
	s := serve(t, "weather")
	for i, body := range []string{
		`{"prompt":"hello"}`, `{"input":"hello"}`, `{"input":{"prompt":"hello"}}`, `{"newMessage":{"parts":[{"text":"hello"}]}}`, `{"new_message":{"parts":[{"text":"hello"}]},"other":[1]}`,
	} {
		resp := s.do("POST", "/invocations", body, sessionHeader, session1, userHeader, "ann", "X-User-Id", "eve")
		if got := resp.Header.Get(sessionHeader); got != session1 {
			t.Errorf("the session is %q", got)
		}
		if doc := s.want(200, resp); !strings.HasPrefix(doc, `{"response":"You said: hello","status":"success","sessionId":"`+session1+`","runId":"`) {
			t.Errorf("%s: %s", body, doc)
		}
		if got := s.events("ann", session1); got != 2*(i+1) {
			t.Errorf("%s: there are %d events", body, got)
		}
	}
	if r := s.invoke(`{"prompt":"hello"}`, "Content-Type", "application/octet-stream"); r.Response != "You said: hello" {
		t.Errorf("without a content type: %+v", r)
	}
	if r := s.invoke(`{"prompt":"weather Paris"}`); r.SessionID == "" || r.SessionID == session1 || !strings.Contains(r.Response, "sunny") || s.events("user", r.SessionID) < 4 {
		t.Errorf("without a session: %+v", r)
	}
}

func TestInvocationsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, "weather")
	for body, want := range map[string]string{
		`{}`: "prompt", `[1]`: "", `{"prompt":""}`: "prompt", `{"prompt":1}`: "prompt", ``: "",
	} {
		if doc := s.want(422, s.do("POST", "/invocations", body)); !strings.Contains(doc, want) {
			t.Errorf("%s: %s", body, doc)
		}
	}
	s.want(400, s.do("POST", "/invocations", `{"prompt":"x"}`, sessionHeader, strings.Repeat("x", 257)))
	s.want(400, s.do("POST", "/invocations", `{"prompt":"x"}`, userHeader, strings.Repeat("x", 257)))
	s.want(405, s.do("GET", "/invocations", ""))
	s.want(415, s.do("POST", "/invocations", `{"prompt":"x"}`, "Content-Type", "text/plain")) // pages of other sites can send it
	if doc := s.want(500, s.do("POST", "/invocations", `{"prompt":"fail"}`)); !strings.Contains(doc, `"error"`) {
		t.Error(doc)
	}
	several := serve(t, "")
	if doc := several.want(404, several.do("POST", "/invocations", `{"prompt":"x"}`)); !strings.Contains(doc, "--a2a_app") {
		t.Error(doc)
	}
}

// A request that is repeated runs once, with or without a session.
func TestInvocationsIdempotent(t *testing.T) {
	t.Parallel()
	s := serve(t, "weather")
	for _, headers := range [][]string{{"Idempotency-Key", "k1"}, {"Idempotency-Key", "k1", sessionHeader, session1}} {
		first, again := s.invoke(`{"prompt":"one"}`, headers...), s.invoke(`{"prompt":"one"}`, headers...)
		if first.RunID != again.RunID || first.SessionID != again.SessionID || s.events("user", first.SessionID) != 2 {
			t.Errorf("%+v and %+v", first, again)
		}
		s.want(409, s.do("POST", "/invocations", `{"prompt":"two"}`, headers...))
	}
}

// What a run waits for is answered with another invocation.
func TestInvocationsQuestion(t *testing.T) {
	t.Parallel()
	s := serve(t, "weather")
	r := s.invoke(`{"prompt":"danger users"}`, sessionHeader, session1)
	if r.Status != "input_required" || len(r.Questions) != 1 || r.Questions[0].Kind != "confirmation" {
		t.Fatalf("%+v", r)
	}
	q := r.Questions[0]
	r = s.invoke(`{"newMessage":{"parts":[{"functionResponse":{"id":"`+q.ID+`","name":"`+q.Name+`","response":{"confirmed":true}}}]}}`, sessionHeader, session1)
	if r.Status != "success" || r.Response == "" {
		t.Errorf("%+v", r)
	}
}

// A client that reads streams gets the events of the run.
func TestInvocationsStream(t *testing.T) {
	t.Parallel()
	s := serve(t, "weather")
	for name, send := range map[string]func() *http.Response{
		"accept": func() *http.Response {
			return s.do("POST", "/invocations", `{"prompt":"hello"}`, "Accept", "application/json, text/event-stream")
		},
		"body": func() *http.Response { return s.do("POST", "/invocations", `{"prompt":"hello","stream":true}`) },
	} {
		resp := send()
		doc := s.want(200, resp)
		if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") || !strings.Contains(doc, `"partial":true`) || !strings.Contains(doc, `"text":"You said: hello"`) {
			t.Errorf("%s: %s %s", name, kind, doc)
		}
	}
	if doc := s.want(200, s.do("POST", "/invocations", `{"prompt":"fail","stream":true}`)); !strings.Contains(doc, `"error`) {
		t.Error(doc)
	}
}

// The same endpoint takes the input of AG-UI, and /mcp the messages of MCP.
func TestOtherProtocols(t *testing.T) {
	t.Parallel()
	s := serve(t, "weather")
	doc := s.want(200, s.do("POST", "/invocations", `{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"hello"}]}`, userHeader, "ann", "Accept", "text/event-stream"))
	if !strings.Contains(doc, `"type":"RUN_FINISHED"`) || s.events("ann", "t1") != 2 {
		t.Error(doc)
	}
	doc = s.want(200, s.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","arguments":{"session":"t1","message":"again"}}}`,
		userHeader, "ann", "Mcp-Session-Id", "made-by-the-runtime", "Accept", "application/json, text/event-stream"))
	if !strings.Contains(doc, "You said: again") || s.events("ann", "t1") != 4 {
		t.Error(doc)
	}
	for _, method := range []string{"SendMessage", "message/send"} {
		doc = s.want(200, s.do("POST", "/", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"message":{"messageId":"m-`+method+`","contextId":"t2","role":"ROLE_USER","parts":[{"text":"hello"}]}}}`, userHeader, "ann"))
		if !strings.Contains(doc, "You said: hello") {
			t.Error(doc)
		}
	}
	if s.events("ann", "t2") != 4 {
		t.Error("the messages are not in one session")
	}
	doc = s.want(200, s.do("GET", "/.well-known/agent-card.json", ""))
	if !strings.Contains(doc, `"supportedInterfaces":[{"url":"`+address+`","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"`+address+`","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]`) ||
		!strings.Contains(doc, `"url":"`+address+`","protocolVersion":"0.3.0","preferredTransport":"JSONRPC"`) || strings.Contains(doc, "/a2a/") {
		t.Error(doc)
	}
}

// What --faces leaves out is not there for the runtime either.
func TestFacesRestrict(t *testing.T) {
	t.Parallel()
	s := &site{t: t, web: faceclient.Serve(t, parley.Config{
		Agents:  testkit.NewFixture().Apps(),
		Network: parley.NetworkConfig{Platforms: []parley.Platform{parley.PlatformAgentCore}, A2AApp: "weather", Faces: []parley.Face{}},
	})}
	s.want(404, s.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	s.want(405, s.do("POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`))
	s.want(422, s.do("POST", "/invocations", `{"threadId":"t1","runId":"r1","messages":[]}`))
	s.invoke(`{"prompt":"hello"}`)
}

// The runtime does not stop a server that works on a run, whether or not a client waits for it.
func TestPing(t *testing.T) {
	t.Parallel()
	s := serve(t, "weather")
	ping := func() (status string, since int64) {
		var doc struct {
			Status string `json:"status"`
			Since  int64  `json:"time_of_last_update"`
		}
		if err := json.Unmarshal([]byte(s.want(200, s.do("GET", "/ping", ""))), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Status, doc.Since
	}
	status, began := ping()
	if age := time.Since(time.Unix(began, 0)); status != "Healthy" || age < 0 || age > time.Hour {
		t.Errorf("%s since %d", status, began)
	}
	s.want(200, s.do("POST", "/apps/weather/users/u/sessions/s", "{}"))
	s.want(202, s.do("POST", "/apps/weather/users/u/sessions/s/runs", `{"newMessage":{"parts":[{"text":"story gate"}]}}`))
	testkit.Eventually(t, "the server is busy", func() bool { status, since := ping(); return status == "HealthyBusy" && since >= began })
	s.Open("gate")
	testkit.Eventually(t, "the server is idle", func() bool { status, _ := ping(); return status == "Healthy" })
}

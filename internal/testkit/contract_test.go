package testkit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// failureRecorder is a test that records why it fails.
type failureRecorder struct {
	testing.TB
	said []string
}

func (c *failureRecorder) Helper() {}
func (c *failureRecorder) Errorf(format string, args ...any) {
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

// A check that never complains would be worth nothing.
func TestChecked(t *testing.T) {
	t.Parallel()
	const (
		good  = `{"error":"e","detail":"e"}`
		event = `{"id":"i","invocationId":"e-1","author":"a","timestamp":1,"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{}}}`
		run   = `{"appName":"a","userId":"u","sessionId":"s","newMessage":{"parts":[{"text":"t"}]}}`
		other = `{"app_name":"a"}`
		piece = `{"id":"i","invocationId":"e-1","author":"a","timestamp":1,"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{}},"partial":true}`
		ended = `{"id":"e-1","appName":"a","userId":"u","sessionId":"s","status":"completed","createTime":1}`
		head  = `{"parley":1,"appName":"a","userId":"u","sessionId":"s","state":{},"createTime":1}`

		follow = "GET /apps/a/users/u/sessions/s/runs/e-1/events"
		export = "GET /apps/a/users/u/sessions/s/export"
	)
	for name, tt := range map[string]struct {
		operation, sent, id string
		status              int
		kind, body          string
		complaint           string // part of it, empty for none
	}{
		"good":              {"GET /health", "", "r", 200, "application/json", `{"status":"ok"}`, ""},
		"no request id":     {"GET /health", "", "", 200, "application/json", `{"status":"ok"}`, "X-Request-Id"},
		"wrong body":        {"GET /health", "", "r", 200, "application/json", `{"status":"up"}`, "status"},
		"wrong status":      {"GET /health", "", "r", 201, "application/json", `{"status":"ok"}`, "status is not supported"},
		"wrong kind":        {"GET /health", "", "r", 200, "text/plain", `ok`, "Content-Type"},
		"no operation":      {"GET /nope", "", "r", 404, "application/json", good, ""},
		"no method":         {"GET /run", "", "r", 405, "application/json", good, ""},
		"private member":    {"GET /nope", "", "r", 404, "application/json", `{"error":"e","detail":"e","stack":""}`, "stack"},
		"text error":        {"GET /nope", "", "r", 404, "text/plain", "not found", "no JSON error"},
		"unknown success":   {"GET /nope", "", "r", 200, "application/json", "{}", "no such operation"},
		"preflight":         {"OPTIONS /run", "", "r", 204, "", "", ""},
		"stream":            {"POST /run_sse", run, "r", 200, "text/event-stream", "data: " + event + "\n\n", ""},
		"wrong frame":       {"POST /run_sse", run, "r", 200, "text/event-stream", "data: {\"id\":1}\n\n", "StreamFrame"},
		"followed":          {follow, "", "r", 200, "text/event-stream", ": x\n\ndata: " + piece + "\n\nid: i\ndata: " + event + "\n\nevent: end\ndata: " + ended + "\n\n", ""},
		"follow on":         {follow, "", "r", 200, "text/event-stream", "event: resume\ndata: {\"url\":\"/x\"}\n\n", ""},
		"wrong end":         {follow, "", "r", 200, "text/event-stream", "event: end\ndata: {}\n\n", "Run"},
		"wrong id":          {follow, "", "r", 200, "text/event-stream", "id: j\ndata: " + event + "\n\n", "the id of a frame"},
		"piece with an id":  {follow, "", "r", 200, "text/event-stream", "id: i\ndata: " + piece + "\n\n", "the id of a frame"},
		"after the end":     {follow, "", "r", 200, "text/event-stream", "event: end\ndata: " + ended + "\n\ndata: " + event + "\n\n", "pattern"},
		"export":            {export, "", "r", 200, "application/jsonl", head + "\n" + event + "\n", ""},
		"wrong export":      {export, "", "r", 200, "application/jsonl", event + "\n", "ExportHead"},
		"half a frame":      {"POST /run_sse", run, "r", 200, "text/event-stream", "data: " + event, "pattern"},
		"good request":      {"POST /run", run, "r", 200, "application/json", "[]", ""},
		"undocumented":      {"POST /run", other, "r", 200, "application/json", "[]", "appName"},
		"refused, whatever": {"POST /run", other, "r", 422, "application/json", good, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-Id", tt.id)
				w.Header().Set("X-Parley-Run", "e-1")
				w.Header().Set("Content-Type", tt.kind)
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer srv.Close()
			method, path, _ := strings.Cut(tt.operation, " ")
			got := &failureRecorder{TB: t}
			c := &http.Client{Transport: testkit.Checked(got, srv.Client().Transport)}
			req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(tt.sent))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if body, err := io.ReadAll(resp.Body); err != nil || string(body) != tt.body {
				t.Errorf("the body came as %q, %v", body, err)
			}
			if said := strings.Join(got.said, "\n"); (said != "") != (tt.complaint != "") || !strings.Contains(said, tt.complaint) {
				t.Errorf("complaints: %q, want %q", said, tt.complaint)
			}
		})
	}
}

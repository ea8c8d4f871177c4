package parley_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prom "github.com/prometheus/common/model"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/collector"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// measured are the metrics of a server, as Prometheus reads them.
type measured map[string]*dto.MetricFamily

func parseMetrics(t *testing.T, text io.Reader) measured {
	t.Helper()
	parser := expfmt.NewTextParser(prom.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value is that of the one series with these labels; of a histogram, how much was
// observed. It is -1 if there is none.
func (m measured) value(name string, labels map[string]string) float64 {
	for _, one := range m[name].GetMetric() {
		has := map[string]string{}
		for _, l := range one.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		fits := true
		for k, v := range labels {
			fits = fits && has[k] == v
		}
		switch {
		case !fits:
		case one.GetHistogram() != nil:
			return float64(one.GetHistogram().GetSampleCount())
		default:
			return one.GetCounter().GetValue() + one.GetGauge().GetValue()
		}
	}
	return -1
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	srv, _, _ := travels(t, parley.Config{})
	do := caller(t, srv)
	look := func() measured {
		rec := do("GET", "/metrics", "")
		if got := rec.Header().Get("Content-Type"); rec.Code != http.StatusOK || !strings.HasPrefix(got, "text/plain; version=0.0.4") {
			t.Fatalf("%d, %s", rec.Code, got)
		}
		return parseMetrics(t, rec.Body)
	}
	do("POST", "/apps/app/users/someuser/sessions/something", "")
	do("GET", "/nothing/someuser/made/up", "")
	do("FETCH", "/run", "")
	body := strings.NewReplacer(`"u"`, `"someuser"`, `"s"`, `"something"`).Replace(message)
	for range 2 {
		if rec := do("POST", "/run", body); rec.Code != http.StatusOK {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	do("POST", "/run_sse", body)
	m := look()
	asked := map[string]string{"gen_ai_request_model": "gpt-x", "gen_ai_provider_name": "openai", "gen_ai_operation_name": "generate_content"}
	for _, want := range []struct {
		name   string
		labels map[string]string
		value  float64
	}{
		{"parley_runs_total", map[string]string{"app": "app", "status": "completed"}, 3},
		{"parley_runs_running", nil, 0},
		{"parley_runs_queued", nil, 0},
		{"parley_runs_followed", nil, 0},
		{"parley_schedule_slots_free", nil, 16},
		{"parley_run_follow_failures_total", nil, 0},
		{"parley_streams_open", nil, 0},
		{"http_server_active_requests", nil, 1}, // this one
		{"http_server_request_duration_seconds", map[string]string{"http_route": "/run", "http_request_method": "POST", "http_response_status_code": "200"}, 2},
		{"http_server_request_duration_seconds", map[string]string{"http_route": "_OTHER", "http_response_status_code": "404"}, 1},
		{"http_server_request_duration_seconds", map[string]string{"http_request_method": "_OTHER"}, 1},
		{"gen_ai_client_operation_duration_seconds", asked, 4}, // the model says the last thing again
		{"gen_ai_client_token_usage", map[string]string{"gen_ai_token_type": "input"}, 4},
		{"gen_ai_client_token_usage", map[string]string{"gen_ai_token_type": "output"}, 4},
		{"parley_tool_call_duration_seconds", map[string]string{"app": "app", "error_type": ""}, 1},
	} {
		if got := m.value(want.name, want.labels); got != want.value {
			t.Errorf("%s%v is %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	if got := m.value("parley_store_append_duration_seconds", map[string]string{"outcome": "stored"}); got < 3 {
		t.Errorf("%v appends", got)
	}
	for name, family := range m {
		if strings.Contains(family.String(), "someuser") || strings.Contains(family.String(), "something") {
			t.Errorf("%s tells users or sessions apart: %s", name, family)
		}
	}
}

// The time that a run is queued is measured when the work on it begins.
func TestMetricsOfTheQueue(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	waits := agent.Must(agent.New(agent.Config{Name: "waits"}, func(ctx *agent.Context, emit agent.Emit) error {
		<-release
		return emit(&event.Event{Content: event.Text(event.RoleModel, "done")})
	}))
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": waits}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	do := caller(t, srv)
	do("POST", "/apps/app/users/u/sessions/s", "")
	var runs []*parley.Run
	for range 3 {
		run, err := srv.Start(t.Context(), parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, "go")})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	look := func() measured { return parseMetrics(t, do("GET", "/metrics", "").Body) }
	if m := look(); m.value("parley_runs_queued", nil) != 2 || m.value("parley_runs_running", nil) != 1 || m.value("parley_run_queue_duration_seconds", nil) != 0 {
		t.Errorf("%v queued, %v running, %v measured", m.value("parley_runs_queued", nil), m.value("parley_runs_running", nil), m.value("parley_run_queue_duration_seconds", nil))
	}
	close(release)
	for _, run := range runs {
		if _, err := run.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := look().value("parley_run_queue_duration_seconds", nil); got != 2 {
		t.Errorf("%v runs were queued", got)
	}
}

// The table in the documentation has all metrics, with their labels, and no
// others.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/index.ts", []byte(`
		import { LlmAgent } from '@google/adk';
		export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted' });`), 0o600); err != nil {
		t.Fatal(err)
	}
	said := model.Text("Hello.")
	said.Usage = &event.Usage{Prompt: 3, Candidates: 2, Total: 5}
	counted := agents(scripted.New(scripted.Respond(said)))
	srv, err := parley.Open(t.Context(), parley.Config{
		Scripts: parley.ScriptConfig{Dir: dir, AppName: "ts"}, Models: map[string]model.Model{"scripted": scripted.New()}, Log: slog.New(slog.DiscardHandler),
		Agents: map[string]*agent.Agent{"weather": testkit.WeatherApp(), "app": counted["app"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	do := caller(t, srv)
	do("POST", "/apps/weather/users/u/sessions/s", "")
	do("POST", "/apps/app/users/u/sessions/s", "")
	do("POST", "/run", message)
	do("POST", "/run", strings.NewReplacer(`"app"`, `"weather"`, "How is Lisbon", "How is the weather in Lisbon").Replace(message))
	do("POST", "/apps/weather/triggers/none", "{}")
	has := map[string]string{}
	for name, family := range parseMetrics(t, do("GET", "/metrics", "").Body) {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue // of the client library, which documents them
		}
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		has[name] = strings.ToLower(family.GetType().String()) + " " + strings.Join(labels, ", ")
	}
	doc, err := os.ReadFile("docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\w+) \\| ([^|]*) \\|").FindAllStringSubmatch(string(doc), -1) {
		labels := strings.Split(strings.ReplaceAll(strings.TrimSpace(row[3]), "`", ""), ", ")
		slices.Sort(labels)
		told[row[1]] = row[2] + " " + strings.Join(labels, ", ")
	}
	for name, what := range has {
		if told[name] != what {
			t.Errorf("%s is %q, and the documentation says %q", name, what, told[name])
		}
	}
	for name := range told {
		none := slices.Contains([]string{"parley_logins_total", "parley_schedule_firings_total", "parley_notifications_total", "parley_inbox_entries_total"}, name) ||
			strings.HasPrefix(name, "parley_cost_") // which there are none of here
		if !none && has[name] == "" {
			t.Errorf("%s is documented, and not there", name)
		}
	}
}

// Log lines lead to the request, the run and the trace that they are about.
func TestLogLinesHaveTraceIDs(t *testing.T) {
	t.Parallel()
	backend := collector.Start(t)
	logged := &testkit.Buffer{}
	root, err := agent.NewLLM(agent.LLMConfig{Name: "echo", Model: scripted.New(scripted.Fail(fmt.Errorf("out of words")))})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := parley.Open(t.Context(), parley.Config{
		Agents: map[string]*agent.Agent{"app": root}, Log: slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}.ExportTo(backend.URL))
	if err != nil {
		t.Fatal(err)
	}
	handler := srv.Handler()
	do := func(path, body string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		req.Header.Set("Traceparent", callersParent)
		req.Header.Set("X-Request-Id", "request-1")
		handler.ServeHTTP(httptest.NewRecorder(), req)
	}
	do("/apps/app/users/u/sessions/s", "")
	do("/run", message)
	srv.Close(t.Context())
	lines := map[string]map[string]any{}
	for line := range bytes.Lines(logged.Bytes()) {
		var one map[string]any
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(line, []byte(`"request_id"`)) + bytes.Count(line, []byte(`"run_id"`)); n > 2 {
			t.Errorf("an id is there twice: %s", line)
		}
		msg, _ := one["msg"].(string)
		lines[msg] = one
	}
	invocation, request := backend.Named(t, "invocation"), backend.Named(t, "POST /run")
	run := invocation.Attributes["gcp.vertex.agent.invocation_id"]
	for msg, want := range map[string]map[string]any{
		"the run failed": {"request_id": "request-1", "trace_id": callersTrace, "span_id": invocation.ID, "run_id": run, "session_id": "s"},
		"request":        {"request_id": "request-1", "trace_id": callersTrace, "span_id": request.ID, "run_id": run, "path": "/run"},
	} {
		for name, value := range want {
			if lines[msg][name] != value {
				t.Errorf("%q: %s is %v, want %v", msg, name, lines[msg][name], value)
			}
		}
	}
}

func TestAdminListener(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"x:y:z": "AdminAddr", "127.0.0.1:": "AdminAddr"} {
		if _, err := parley.Open(t.Context(), parley.Config{Agents: agents(scripted.New()), Network: parley.NetworkConfig{AdminAddr: address}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	out := &testkit.Buffer{}
	srv, err := parley.Open(t.Context(), parley.Config{Agents: agents(scripted.New()), Network: parley.NetworkConfig{AdminAddr: "0"}, Access: parley.AccessConfig{Mode: parley.AccessPublic}, Stdout: out, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- srv.Serve(ctx, listener) }()
	var admin string
	testkit.Eventually(t, "the admin listener", func() bool {
		_, rest, found := strings.Cut(out.String(), "Metrics and profiles: ")
		admin, _, _ = strings.Cut(rest, "\n")
		return found
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(base, path, host string, headers ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if !strings.HasPrefix(admin, "http://127.0.0.1:") {
		t.Fatalf("it listens at %s", admin)
	}
	for path, want := range map[string]string{
		"/metrics": "parley_runs_running", "/healthz": `{"status":"ok"}`, "/health": `{"status":"ok"}`, "/readyz": `{"status":"ok"}`,
		"/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile", "/debug/pprof/profile?seconds=0.01": "", "/debug/pprof/trace?seconds=0.01": "",
	} {
		if status, body := get(admin, path, ""); status != http.StatusOK || !strings.Contains(body, want) || body == "" {
			t.Errorf("%s: %d %.100s", path, status, body)
		}
		if status, _ := get(admin, path, "evil.example"); status != http.StatusForbidden {
			t.Errorf("%s under another name: %d", path, status)
		}
		for _, said := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "http://evil.example"}, {"Origin", "null"}} {
			if status, _ := get(admin, path, "", said...); status != http.StatusForbidden {
				t.Errorf("%s for a page of others (%v): %d", path, said, status)
			}
		}
	}
	for _, said := range [][]string{{"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "same-origin"}, {"Origin", admin}} {
		if status, _ := get(admin, "/metrics", "", said...); status != http.StatusOK {
			t.Errorf("a page of its own (%v): %d", said, status)
		}
	}
	for path, want := range map[string]int{"/list-apps": 404, "/debug/pprof/cmdline": 404, "/debug/pprof/nothing": 404, "/debug/pprof/profile?seconds=x": 400} {
		if status, body := get(admin, path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	// On a public server, no caller is an operator.
	public := "http://" + listener.Addr().String()
	for path, want := range map[string]int{"/metrics": http.StatusForbidden, "/debug/pprof/": http.StatusNotFound} {
		if status, body := get(public, path, ""); status != want {
			t.Errorf("%s for everyone: %d %s", path, status, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

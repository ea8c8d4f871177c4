package parley_test

import (
	"bytes"
	"context"
	"iter"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/collector"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// slowly is an agent whose tool works until the gate is open.
func slowly(t *testing.T, started chan<- struct{}, gate <-chan struct{}) map[string]*agent.Agent {
	t.Helper()
	work := tool.Must(tool.New(tool.Declaration{Name: "work", Effect: tool.Pure}, func(ctx *tool.Context, _ struct{}) (any, error) {
		started <- struct{}{}
		select {
		case <-gate:
			return "done", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}))
	model := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if len(scripted.LastResponses(req)) > 0 {
			return scripted.Say("done")(ctx, req)
		}
		return scripted.Call("work", nil)(ctx, req)
	})
	root, err := agent.NewLLM(agent.LLMConfig{Name: "worker", Tools: []tool.Tool{work}, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*agent.Agent{"app": root}
}

// A run that was queued, and one that another process has taken over, stay in the
// traces of the requests that started them.
func TestTraceOfRunsThatWait(t *testing.T) {
	t.Parallel()
	backend := collector.Start(t)
	started, gate := make(chan struct{}, 10), make(chan struct{})
	db := "sqlite://" + filepath.Join(t.TempDir(), "parley.db")
	open := func() *parley.Server {
		srv, err := parley.Open(t.Context(), parley.Config{Agents: slowly(t, started, gate), Sessions: parley.SessionConfig{URL: db, RunLease: time.Minute}}.ExportTo(backend.URL))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { srv.Close(t.Context()) })
		return srv
	}
	first := open()
	send := func(srv *parley.Server, trace, method, path, body string) *httptest.ResponseRecorder {
		rec := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		if trace != "" {
			req.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		}
		srv.Handler().ServeHTTP(rec, req)
		return rec
	}
	const sess = "/apps/app/users/u/sessions/s"
	traces := []string{strings.Repeat("a1", 16), strings.Repeat("b2", 16)}
	send(first, "", "POST", sess, "")
	for _, trace := range traces {
		if rec := send(first, trace, "POST", sess+"/runs", `{"newMessage":{"parts":[{"text":"work"}]}}`); rec.Code != 202 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	<-started
	// The first process leaves what it has begun, and what is queued.
	now, cancel := context.WithCancel(t.Context())
	cancel()
	first.Close(now)
	second := open()
	<-started // again, by the other one
	close(gate)
	testkit.Eventually(t, "the end of both runs", func() bool {
		return strings.Count(send(second, "", "GET", sess+"/runs", "").Body.String(), `"completed"`) == 2
	})
	second.Close(t.Context())

	found := map[string][]string{}
	for _, s := range backend.Spans() {
		if s.Name == "invocation" {
			status, _ := s.Attributes["parley.run.status"].(string)
			if attempt, ok := s.Attributes["parley.run.attempt"]; ok && attempt != int64(2) {
				t.Errorf("attempt %v", attempt)
			} else if ok {
				status += " by another one"
			}
			found[s.TraceID] = append(found[s.TraceID], status)
		}
	}
	if got := strings.Join(found[traces[0]], ", "); got != "handed_over, completed by another one" {
		t.Errorf("the run that was taken over: %q", got)
	}
	if got := strings.Join(found[traces[1]], ", "); got != "completed" {
		t.Errorf("the queued run: %q", got)
	}
}

// A run that continues after a login is linked to the one that asked for it.
func TestTraceAfterLogin(t *testing.T) {
	t.Parallel()
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
	backend := collector.Start(t)
	srv, err := parley.Open(t.Context(), parley.Config{
		Agents: map[string]*agent.Agent{"calendar": documented(t, p)}, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
	}.ExportTo(backend.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	v.do("POST", "/apps/calendar/users/u/sessions/s", "")
	v.run(v.login(p, v.run(`{"text":"What is up?"}`)))
	srv.Close(t.Context())
	var asked, resumed *collector.Span
	for _, s := range backend.Spans() {
		if s.Name != "invocation" {
			continue
		}
		if s.Attributes["parley.run.status"] == "waiting" {
			asked = s
		} else {
			resumed = s
		}
	}
	if asked == nil || resumed == nil || resumed.TraceID == asked.TraceID {
		t.Fatalf("the runs: %v, %v", asked, resumed)
	}
	if len(resumed.Links) != 1 || resumed.Links[0] != asked.TraceID || resumed.Attributes["parley.run.resumes"] != asked.Attributes["gcp.vertex.agent.invocation_id"] {
		t.Errorf("linked to %v, resumes %v", resumed.Links, resumed.Attributes["parley.run.resumes"])
	}
}

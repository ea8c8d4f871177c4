package parley_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/collector"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// Receivers learn what a run waits for, why one has failed, and that one was cancelled.
func TestWebhookEvents(t *testing.T) {
	t.Parallel()
	s := newHookServer(t, hookConfig(filepath.Join(t.TempDir(), "s.db"), newKey()))
	h := newHooks(t, always)
	s.send("POST", "/apps/weather/webhooks", fmt.Sprintf(`{"url":%q}`, h.URL), 201)
	own := newHooks(t, always)
	for _, id := range []string{"waits", "fails", "stops"} {
		s.session(id)
	}
	s.say("waits", "danger users", fmt.Sprintf(`,"webhook":{"url":%q}`, own.URL))
	s.send("POST", "/run", `{"appName":"weather","userId":"ann","sessionId":"fails","newMessage":{"parts":[{"text":"fail"}]}}`, 500)
	const runs = "/apps/weather/users/ann/sessions/stops/runs"
	started := s.send("POST", runs, `{"newMessage":{"parts":[{"text":"slow gate"}]}}`, 202)
	s.send("POST", runs+"/"+fmt.Sprint(started["id"])+"/cancel", "", 200)
	testkit.Eventually(t, "all events", func() bool {
		return h.types("waits") == "run.waiting" && h.types("fails") == "run.failed" && h.types("stops") == "run.cancelled" && own.types("waits") == "run.waiting"
	})
	for _, one := range h.list() {
		data := one.body.Data
		switch one.body.SessionID {
		case "waits":
			open, _ := data["waitingFor"].([]any)
			if len(open) != 1 {
				t.Fatalf("the event is %s", one.doc)
			}
			if q, _ := open[0].(map[string]any); q["kind"] != "confirmation" || q["tool"] == nil || q["id"] == "" {
				t.Errorf("the run waits for %v", q)
			}
		case "fails":
			if failure, _ := data["error"].(map[string]any); failure["type"] == "" || failure["message"] == "" {
				t.Errorf("the event is %s", one.doc)
			}
		}
	}
}

// A budget that a user has reached is told once.
func TestWebhookBudget(t *testing.T) {
	t.Parallel()
	eats := scripted.Func(func(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			yield(&model.Response{Content: event.Text(event.RoleModel, "Hello."), Usage: &event.Usage{Prompt: 7, Candidates: 3, Total: 10}}, nil)
		}
	})
	root, err := agent.NewLLM(agent.LLMConfig{Name: "eater", Model: eats})
	if err != nil {
		t.Fatal(err)
	}
	cfg := hookConfig(filepath.Join(t.TempDir(), "s.db"), newKey())
	cfg.Agents, cfg.Limits = map[string]*agent.Agent{"weather": root}, parley.Limits{DayTokens: 5}
	s := newHookServer(t, cfg)
	h := newHooks(t, always)
	s.send("POST", "/apps/weather/webhooks", fmt.Sprintf(`{"url":%q,"events":["budget.reached"]}`, h.URL), 201)
	s.session("s1")
	s.say("s1", "hi", "")
	for range 3 {
		s.send("POST", "/run", `{"appName":"weather","userId":"ann","sessionId":"s1","newMessage":{"parts":[{"text":"hi"}]}}`, 429)
	}
	testkit.Eventually(t, "the event", func() bool { return len(h.list()) > 0 })
	for _, one := range h.list() {
		if b := one.body; b.Type != "budget.reached" || b.UserID != "ann" || b.Data["budget"] != "MAX_DAY_TOKENS" || b.ID != h.list()[0].body.ID {
			t.Errorf("the event is %s", one.doc)
		}
	}
}

// A request continues the trace of its run. Attempts are counted.
func TestWebhookTelemetry(t *testing.T) {
	t.Parallel()
	backend := collector.Start(t)
	s := newHookServer(t, hookConfig(filepath.Join(t.TempDir(), "s.db"), newKey()).ExportTo(backend.URL))
	h := newHooks(t, always)
	s.session("s1")
	body := fmt.Sprintf(`{"appName":"weather","userId":"ann","sessionId":"s1","newMessage":{"parts":[{"text":"weather in Oslo"}]},"webhook":{"url":%q}}`, h.URL)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/run", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-"+traceID+"-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	testkit.Eventually(t, "the event", func() bool { return len(h.list()) > 0 })
	if got := h.list()[0].Get("Traceparent"); !strings.Contains(got, traceID) || strings.Contains(got, "b7ad6b7169203331") {
		t.Errorf("the request has the traceparent %q", got)
	}
	testkit.Eventually(t, "the metrics", func() bool {
		resp, err := http.Get(s.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		doc, err := io.ReadAll(resp.Body)
		return err == nil && strings.Contains(string(doc), `parley_notifications_total{kind="webhook-run",outcome="sent"} `) &&
			strings.Contains(string(doc), "parley_notifications_pending 0") && strings.Contains(string(doc), "parley_notifications_failed 0")
	})
}

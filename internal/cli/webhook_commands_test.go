package cli

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// hooking has a server send webhooks to this machine.
func hooking(c *parley.Config) {
	c.Logins.Key = base64.StdEncoding.EncodeToString(make([]byte, 32))
	c.Network.AllowPrivateWebhooks = []string{"127.0.0.0/8", "::1/128"}
}

func TestWebhookCommands(t *testing.T) {
	s := newService(t, hooking)
	do, contains := s.command(t, []string{"PARLEY_SERVER=" + s.url}, "webhooks")
	got := make(chan struct{}, 10)
	var requests atomic.Int64
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) <= 2 {
			w.WriteHeader(http.StatusGone)
		}
		got <- struct{}{}
	}))
	t.Cleanup(r.Close)
	contains(do(ExitUsage, "create"), "--url")
	contains(do(ExitFailure, "create", "--url", "http://10.0.0.1"), "private network")
	contains(do(ExitOK, "create", "alerts", "--url", r.URL, "--events", "run.failed,run.waiting", "--description", "for the operators"),
		"alerts", r.URL, "run.failed run.waiting", "whsec_", "for the operators")
	contains(do(ExitFailure, "create", "alerts", "--url", r.URL), "there is a webhook with this id")
	contains(do(ExitOK, "list"), "alerts", "run.failed")
	contains(do(ExitUsage, "update", "alerts"), "nothing to change")
	contains(do(ExitFailure, "update", "none", "--description", "x"), "not found")
	contains(do(ExitFailure, "update", "alerts", "--events", "run.eaten"), "events")
	changed := do(ExitOK, "update", "alerts", "--events", "", "--description", "for all")
	contains(changed, r.URL, "run.completed", "budget.reached", "for all")
	if strings.Contains(changed, "whsec_") {
		t.Error(changed)
	}
	contains(do(ExitOK, "update", "alerts", "--url", r.URL+"/hook", "--description", "", "--json"), `/hook"`, `"run.cancelled"`)
	contains(do(ExitOK, "update", "alerts", "--url", r.URL), r.URL)
	contains(do(ExitOK, "rotate", "alerts"), "whsec_", "also signs until")
	do(ExitOK, "test", "alerts")
	<-got
	testkit.Eventually(t, "the delivery is given up", func() bool { return strings.Contains(do(ExitOK, "show", "alerts"), "410") })
	contains(do(ExitOK, "show", "alerts"), "webhook.test", "410")
	contains(do(ExitOK, "dead"), "webhook.test", "alerts", r.URL, "410")
	if text := do(ExitOK, "dead", "--json"); !strings.Contains(text, `"kind": "webhook"`) && !strings.Contains(text, `"kind":"webhook"`) {
		t.Errorf("as JSON: %s", text)
	}
	contains(do(ExitUsage, "dead", "--limit", "0"), "--limit")
	contains(do(ExitUsage, "replay"), "the webhook is missing")
	contains(do(ExitUsage, "replay", "--dead", "alerts", "1"), "--dead")
	contains(do(ExitFailure, "replay", "--dead", "12345"), "delivery not found")
	contains(do(ExitOK, "replay", "--dead"), "1 deliveries")
	<-got
	testkit.Eventually(t, "it is given up again", func() bool { return strings.Contains(do(ExitOK, "dead"), "410") })
	contains(do(ExitOK, "replay", "alerts"), "1 deliveries")
	<-got
	testkit.Eventually(t, "it is accepted", func() bool { return !strings.Contains(do(ExitOK, "show", "alerts"), "webhook.test") })
	contains(do(ExitFailure, "replay", "alerts", "12345"), "delivery not found")
	do(ExitOK, "delete", "alerts")
	contains(do(ExitFailure, "show", "alerts"), "not found")
	code, _, stderr := s.do(t, nil, "webhooks", "list", "--session_db_url", s.database, "--app_name", "assistant")
	if code != ExitUsage {
		t.Errorf("in a database: exit code %d: %s", code, stderr)
	}
	contains(stderr, "need a server")
}

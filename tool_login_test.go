package parley_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// A call of a single tool that needs a login waits. When the user has logged in, it goes on
// with the user's credentials, and asks no model; the credentials are not those of others.
func TestToolCallLogin(t *testing.T) {
	t.Parallel()
	m := newManaged(t, func(cfg *parley.Config) { cfg.UI.Enabled, cfg.Logins.PerUser = true, true })
	p := m.provider

	// call calls the tool, and returns its session when the run has ended or waits.
	call := func(user string) (session string) {
		t.Helper()
		var run struct{ ID, SessionID string }
		rec := m.do("POST", "/dev/apps/calendar/users/"+user+"/tools/call", `{"agent":"calendar","tool":"list_events"}`)
		if rec.Code != http.StatusAccepted || json.Unmarshal(rec.Body.Bytes(), &run) != nil {
			t.Fatalf("the call gets %d %s", rec.Code, rec.Body)
		}
		m.do("GET", "/apps/calendar/users/"+user+"/sessions/"+run.SessionID+"/runs/"+run.ID+"/events", "")
		return run.SessionID
	}
	statuses := func(user, session string) (all []string) {
		t.Helper()
		var runs []struct{ Status, ResumedBy string }
		if err := json.Unmarshal(m.do("GET", "/apps/calendar/users/"+user+"/sessions/"+session+"/runs", "").Body.Bytes(), &runs); err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			if run.ResumedBy != "" {
				run.Status += " and resumed"
			}
			all = append(all, run.Status)
		}
		return all
	}
	log := func(user, session string) string {
		t.Helper()
		return m.do("GET", "/apps/calendar/users/"+user+"/sessions/"+session, "").Body.String()
	}

	first := call("u")
	if got := strings.Join(statuses("u", first), ", "); got != "waiting" {
		t.Fatalf("the runs are %s: %s", got, log("u", first))
	}
	if n := len(p.Requests(provider.APIPath)); n != 0 {
		t.Fatalf("the tool has asked for events %d times", n)
	}
	var doc struct{ Events []*event.Event }
	if err := json.Unmarshal([]byte(log("u", first)), &doc); err != nil {
		t.Fatal(err)
	}
	_, address, _ := m.request(doc.Events)

	m.logIn(address)
	testkit.Eventually(t, "the call to go on", func() bool {
		return strings.Join(statuses("u", first), ", ") == "completed, completed and resumed"
	})
	if got := log("u", first); !strings.Contains(got, `"code":200`) || strings.Contains(got, "That is all.") {
		t.Errorf("the session is %s", got)
	}
	if got := p.Requests(provider.APIPath); len(got) != 1 {
		t.Errorf("the tool has asked for events %d times", len(got))
	}

	// The next call needs no login. Another user's does.
	second := call("u")
	if got := strings.Join(statuses("u", second), ", "); got != "completed" || !strings.Contains(log("u", second), `"code":200`) {
		t.Errorf("the second call: %s: %s", got, log("u", second))
	}
	other := call("v")
	if got := strings.Join(statuses("v", other), ", "); got != "waiting" || strings.Contains(log("v", other), `"code":200`) {
		t.Errorf("the call of another user: %s: %s", got, log("v", other))
	}
	for _, secret := range p.Tokens() {
		if strings.Contains(m.seen.String(), secret) {
			t.Error("a token was sent to a client")
		}
	}
}

package parley_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/calendar"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// A call of a single tool that needs a login waits. When the user has logged in, it goes on
// with the user's credentials, and asks no model; the credentials are not those of others.
func TestToolCallLogin(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(nil)
	public := "http://" + web.Listener.Addr().String()
	p := provider.Start(t, provider.Options{RequirePKCE: true, RedirectURIs: []string{public + "/oauth/callback"}})
	srv, err := parley.Open(t.Context(), parley.Config{
		Agents: map[string]*agent.Agent{"calendar": calendar.Agent(p)}, UI: parley.UIConfig{Enabled: true},
		Logins: parley.LoginConfig{PerUser: true, AllowPrivate: []string{"127.0.0.0/8", "::1/128"}}, Network: parley.NetworkConfig{PublicURL: public},
	})
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = srv.Handler()
	web.Start()
	t.Cleanup(func() { web.Close(); srv.Close(t.Context()) })
	m := &managed{&visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}, p, public}

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

	b := newBrowser(t)
	back, err := p.Login(t.Context(), m.begin(b, address), "ann", true)
	if err != nil {
		t.Fatal(err)
	}
	if page := b.get(back); page.StatusCode != http.StatusOK || !strings.Contains(page.text, "Thank you") {
		t.Fatalf("after the login: %d %s", page.StatusCode, page.text)
	}
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

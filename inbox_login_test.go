package parley_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// The run of a schedule whose login has expired waits in the inbox; when the user has
// logged in from there, it goes on.
func TestScheduleWithExpiredLogin(t *testing.T) {
	t.Parallel()
	m := newManaged(t, func(cfg *parley.Config) { cfg.Logins.PerUser = true })
	inbox := func() (list []inboxEntry) {
		t.Helper()
		if err := json.Unmarshal(m.do("GET", "/inbox?userId=u", "").Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	schedule := func(id string) (session string) {
		t.Helper()
		body := `{"id":"` + id + `","at":"` + time.Now().Add(time.Second).UTC().Format(time.RFC3339) + `","missedAfterSeconds":3600,"newMessage":{"parts":[{"text":"What is on?"}]}}`
		if rec := m.do("POST", "/apps/calendar/users/u/schedules", body); rec.Code != 201 {
			t.Fatalf("a schedule gets %d %s", rec.Code, rec.Body)
		}
		testkit.Eventually(t, "the schedule to fire", func() bool {
			var fired []struct{ SessionID string }
			if err := json.Unmarshal(m.do("GET", "/apps/calendar/users/u/schedules/"+id+"/firings", "").Body.Bytes(), &fired); err != nil {
				t.Fatal(err)
			}
			if len(fired) > 0 {
				session = fired[0].SessionID
			}
			return session != ""
		})
		return session
	}
	completed := func(session string) bool {
		t.Helper()
		var runs []struct{ Status string }
		if err := json.Unmarshal(m.do("GET", "/apps/calendar/users/u/sessions/"+session+"/runs", "").Body.Bytes(), &runs); err != nil {
			t.Fatal(err)
		}
		return len(runs) > 0 && runs[0].Status == "completed"
	}

	// The user logs in once, and the first schedule uses that.
	_, address, _ := m.request(m.run(`{"text":"What is on?"}`))
	m.logIn(address)
	testkit.Eventually(t, "the first run to go on", func() bool { return completed("s") })
	first := schedule("first")
	testkit.Eventually(t, "the run of the first schedule", func() bool { return completed(first) })
	if list := inbox(); len(list) != 0 {
		t.Fatalf("the inbox has %+v", list)
	}

	// The provider no longer accepts the login.
	m.provider.RevokeAll()
	second := schedule("second")
	testkit.Eventually(t, "the login in the inbox", func() bool { return len(inbox()) == 1 })
	e := inbox()[0]
	if e.Kind != "login" || e.SessionID != second || e.Tool != "list_events" || !e.MayAnswer || e.LoginURL == "" {
		t.Fatalf("the entry is %+v", e)
	}
	var where struct{ LoginURL string }
	if rec := m.do("POST", "/inbox/"+e.ID+"/answer", "{}"); rec.Code != 200 || json.Unmarshal(rec.Body.Bytes(), &where) != nil {
		t.Fatalf("the answer gets %d %s", rec.Code, rec.Body)
	}
	m.logIn(where.LoginURL)
	testkit.Eventually(t, "the run of the second schedule", func() bool { return completed(second) && len(inbox()) == 0 })
	log := m.do("GET", "/apps/calendar/users/u/sessions/"+second, "").Body.String()
	if !strings.Contains(log, `"parley:schedule":{"id":"second"`) || !strings.Contains(log, `"code":200`) {
		t.Errorf("the session is %s", log)
	}
}

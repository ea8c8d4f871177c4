package parley_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/sqlite"
)

// A schedule has no caller whose role could be checked, so it cannot answer what waits
// for others.
func TestSchedulesDoNotAnswer(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley"})
	path := filepath.Join(t.TempDir(), "s.db")
	o := newOffice(t, parley.Config{
		Sessions: parley.SessionConfig{URL: "sqlite://" + path},
		Access:   parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, Audiences: []string{"parley"}}},
		Inbox:    parley.InboxConfig{Rules: []parley.InboxRule{{Tool: "refund", Answer: "role:managers"}}},
	})
	ann := issuer.IDToken(t, "ann")
	o.ask(ann, "ann", "s")
	e := o.inbox(ann, "")[0]
	answer := fmt.Sprintf(`{"parts":[{"functionResponse":{"id":%q,"name":"adk_request_confirmation","response":{"confirmed":true}}}]}`, e.Call.ID)
	const schedules = "/apps/office/users/ann/schedules"
	refused := o.send(ann, http.MethodPost, schedules, `{"id":"new","cron":"@daily","sessionId":"s","newMessage":`+answer+`}`, 422)
	if !strings.Contains(string(refused), "must not answer") {
		t.Errorf("the refusal is %s", refused)
	}

	// Nor one that was stored before.
	store, err := sqlite.Open(t.Context(), path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	now := time.Now().UTC()
	doc := fmt.Sprintf(`{"at":%q,"created":%q,"session":"s","message":%s}`, now.Format(time.RFC3339), now.Format(time.RFC3339), answer)
	if err := store.Schedules.PutSchedule(t.Context(), &session.Schedule{App: "office", User: "ann", ID: "old", JSON: []byte(doc), Next: now}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the schedule is due", func() bool {
		var firings []struct{ Outcome, Error string }
		if err := json.Unmarshal(o.send(ann, http.MethodGet, schedules+"/old/firings", "", 200), &firings); err != nil {
			t.Fatal(err)
		}
		if len(firings) == 1 && (firings[0].Outcome != "failed" || !strings.Contains(firings[0].Error, "must not answer")) {
			t.Errorf("the firing is %+v", firings[0])
		}
		return len(firings) == 1
	})
	if left := o.inbox(ann, ""); len(left) != 1 {
		t.Errorf("the inbox has %+v", left)
	}
	o.notRefunded()
}

package logins

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// A login that fails ends its run with an event that says so, and can be tried
// again.
func TestC62_Failures(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		for _, test := range []struct {
			name  string
			says  string
			deny  bool
			fault provider.Fault
		}{
			{name: "denied", says: "the user did not allow access", deny: true},
			{name: "refused", says: "the provider answered invalid_grant", fault: provider.OAuthError("invalid_grant", "the secret is: sesame")},
			{name: "broken", says: "status 500", fault: provider.Fault{Status: http.StatusInternalServerError, Body: `{"trace":"sesame"}`}},
			{name: "nonsense", says: "could not be understood", fault: provider.Fault{Status: http.StatusOK, Body: `sesame`}},
			{name: "redirect", says: "redirect", fault: provider.Fault{Status: http.StatusFound, Body: `sesame`}},
			{name: "hanging", says: "did not answer in time", fault: provider.Fault{Hang: true}},
		} {
			t.Run(test.name, func(t *testing.T) {
				for _, way := range []string{"run", "run_sse"} {
					c := w.talk(t, custom, test.name+"-"+way)
					if way == "run_sse" {
						c.send = c.streamed
					}
					a := c.asked(c.say("call list_events"))
					answer := a.answer(c.visit(a, !test.deny))
					broken := w.provider.Break(provider.TokenPath, test.fault)
					t.Cleanup(broken.Repair)
					seen := w.exchanges()
					events := c.send(answer)
					if len(events) != 1 || events[0].ErrorCode != "CREDENTIAL_EXCHANGE_FAILED" || events[0].Author != custom ||
						!strings.Contains(events[0].ErrorMessage, test.says) || strings.Contains(texts(events)[0], "sesame") {
						t.Errorf("the run ends with %q", texts(events))
					}
					if got := w.exchanges() - seen; got > 1 || test.deny != (got == 0) {
						t.Errorf("%d calls of the token endpoint", got)
					}
					broken.Repair()
					// An answer counts once, also when nothing came of it.
					c.post(answer).Want(t, http.StatusConflict)
					b := c.asked(c.say("call list_events"))
					if b.uri == a.uri {
						t.Error("the address is the one that has failed")
					}
					c.login(b, 1)
				}
			})
		}
		// Long enough for the logins between the failures on a busy machine.
	}, func(_ *provider.Options, cfg *parley.Config) { cfg.Logins.Timeout = 4 * time.Second })
}

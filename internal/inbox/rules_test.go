package inbox

import (
	"testing"

	"github.com/parley-run/parley/internal/access"
)

// Who may only read does not answer, whatever a rule says, and so does not see where a
// user logs in.
func TestRulesAllow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		scopes            []access.Scope
		user              string
		own, role, anyone bool
	}{
		"user":           {[]access.Scope{access.Run}, "ann", true, false, true},
		"another user":   {[]access.Scope{access.Run}, "eve", false, false, true},
		"inbox":          {[]access.Scope{access.Inbox}, "ann", true, false, true},
		"all users":      {[]access.Scope{access.Run, access.Users}, "backend", true, false, true},
		"administrator":  {[]access.Scope{access.Admin}, "root", true, true, true},
		"reader":         {[]access.Scope{access.Read}, "ann", false, false, false},
		"reviewer":       {[]access.Scope{access.Review}, "ann", false, false, false},
		"reader of all":  {[]access.Scope{access.Read, access.Users}, "viewer", false, false, false},
		"schedules only": {[]access.Scope{access.Schedules}, "ann", false, false, false},
	} {
		c, err := access.RecallUsers(t.Context(), access.Holder{ID: "user:" + tt.user, User: tt.user, Scopes: tt.scopes})
		if err != nil {
			t.Fatal(err)
		}
		for answer, want := range map[string]bool{User: tt.own, RolePrefix + "managers": tt.role, Anyone: tt.anyone} {
			r := &Rule{Tool: "*", Answer: answer}
			if got := r.allows(c, "ann"); got != want {
				t.Errorf("%s: a rule for %s allows it: %v, want %v", name, answer, got, want)
			}
		}
		c.Roles = []string{"managers"}
		r := &Rule{Tool: "*", Answer: RolePrefix + "managers"}
		if got, want := r.allows(c, "ann"), c.May(access.Inbox); got != want {
			t.Errorf("%s with the role: %v, want %v", name, got, want)
		}
	}
}

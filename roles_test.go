package parley_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// feedbackRoute is the only route that changes something and is open to reviewers.
const feedbackRoute = "POST /apps/{app}/users/{user}/sessions/{session}/runs/{run}/feedback"

// checkRole sends a request to every route with the token of a caller who may read what every user has, and give
// feedback if it is a reviewer.
func (g *gated) checkRole(run, token string, reviewer bool) {
	g.t.Helper()
	all := routeTable(run)
	for _, route := range slices.Sorted(maps.Keys(all)) {
		d := all[route]
		method, _, _ := strings.Cut(route, " ")
		rec := g.call(token, method, d.path, d.body)
		open := d.anonymous != closed || d.own == closed // the same for every caller: pages for signing in, health, triggers
		switch {
		case open && rec.Code != d.anonymous && !g.issuers:
			g.t.Errorf("%s: %d, want %d as for every caller", route, rec.Code, d.anonymous)
		case open:
		case route == feedbackRoute && reviewer:
			if rec.Code != d.own {
				g.t.Errorf("%s: a reviewer gets %d, want %d: %s", route, rec.Code, d.own, rec.Body)
			}
		case method != http.MethodGet || d.own == denied || route == "GET /apps/{app}/mcp": // which is a stream of a client that calls tools
			if rec.Code != denied {
				g.t.Errorf("%s: %d, want %d: %s", route, rec.Code, denied, rec.Body)
			}
		case strings.Contains(d.path, "/users/bob/") || strings.Contains(d.path, "=bob"):
			if rec.Code != d.own {
				g.t.Errorf("%s: %d, want %d as for the owner: %s", route, rec.Code, d.own, rec.Body)
			}
		case rec.Code == denied || rec.Code == closed || rec.Code >= 500:
			g.t.Errorf("%s: %d: %s", route, rec.Code, rec.Body)
		}
	}
}

// scopesOf returns the scopes that the developer UI is told of.
func (g *gated) scopesOf(token string) string {
	g.t.Helper()
	var about struct {
		Caller struct {
			Scopes []string `json:"scopes"`
			Author string   `json:"author"`
		} `json:"caller"`
	}
	if err := json.Unmarshal(g.want(200, token, "GET", "/dev-ui/caller", "").Body.Bytes(), &about); err != nil {
		g.t.Fatal(err)
	}
	if about.Caller.Author == "" {
		g.t.Error("feedback has no author")
	}
	return strings.Join(about.Caller.Scopes, " ")
}

// A reader changes nothing, a reviewer gives feedback and changes nothing else; on every route, with keys and with
// identity tokens.
func TestRoles(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "keys.db")
	keys, err := parley.OpenAPIKeys(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	create := func(user string, scopes ...string) string {
		t.Helper()
		text, _, err := keys.Create(t.Context(), parley.NewAPIKey{User: user, Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	withKeys := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessKeys, KeysURL: url}, UI: parley.UIConfig{Enabled: true}})
	issuer := provider.Start(t, provider.Options{ClientID: "parley"})
	withTokens := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{
		Issuers: []string{issuer.Issuer()}, Audiences: []string{"parley"}, Delegates: []string{"email=both@example.com"},
		Readers: []string{"email=auditor@example.com", "email=both@example.com"}, Reviewers: []string{"email=critic@example.com", "email=both@example.com"},
	}}, UI: parley.UIConfig{Enabled: true}})
	for _, tt := range []struct {
		g                        *gated
		bob, reader, critic, own string
	}{
		{withKeys, create("bob"), create("", "read", "users"), create("", "review", "users"), create("bob", "review")},
		{withTokens, issuer.IDToken(t, "bob"), issuer.IDToken(t, "auditor"), issuer.IDToken(t, "critic"), ""},
	} {
		run := tt.g.prepare(tt.bob)
		before := tt.g.everything(tt.bob)
		tt.g.checkRole(run, tt.reader, false)
		if after := tt.g.everything(tt.bob); after != before {
			t.Errorf("a reader has changed\n%s\nto\n%s", before, after)
		}
		tt.g.checkRole(run, tt.critic, true)
		list := tt.g.want(200, tt.bob, "GET", ofBob+"/s1/feedback", "").Body.String()
		if strings.Count(list, `"runId"`) != 1 || strings.Contains(list, `"author":"bob"`) {
			t.Errorf("the feedback is %s", list)
		}
		// What others have written stays theirs.
		feedback := ofBob + "/s1/runs/" + run + "/feedback"
		tt.g.want(200, tt.bob, "POST", feedback, `{"rating":"up"}`)
		tt.g.want(403, tt.critic, "POST", feedback, `{"rating":"down","author":"bob"}`)
		// Those who read the sessions of all users find their feedback, and users find what is in their own sessions.
		for token, status := range map[string]int{tt.reader: 200, tt.critic: 200, tt.bob: 404} {
			tt.g.want(status, token, "GET", "/apps/weather/feedback?userId=alice", "")
		}
		testkit.Eventually(t, "both opinions are listed", func() bool {
			for _, token := range []string{tt.reader, tt.critic, tt.bob} {
				if list := tt.g.want(200, token, "GET", "/apps/weather/feedback", "").Body.String(); strings.Count(list, `"userId":"bob"`) != 2 {
					return false
				}
			}
			return true
		})
		if got := tt.g.scopesOf(tt.reader); got != "read users" {
			t.Errorf("a reader has %s", got)
		}
		if got := tt.g.scopesOf(tt.critic); got != "read review users" {
			t.Errorf("a reviewer has %s", got)
		}
		if tt.own != "" { // of one user
			tt.g.want(200, tt.own, "POST", feedback, `{"rating":"up"}`)
			tt.g.want(404, tt.own, "POST", strings.Replace(feedback, "/bob/", "/alice/", 1), `{"rating":"up"}`)
			tt.g.want(403, tt.own, "POST", "/run", bobRuns)
		}
	}
	// The role that allows more counts.
	withTokens.want(200, issuer.IDToken(t, "both"), "POST", "/run", bobRuns)
}

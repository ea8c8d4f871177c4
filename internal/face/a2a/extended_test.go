package a2a_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	_ "github.com/parley-run/parley/session/sqlite" // keeps the keys
)

// Callers who are authenticated see the skills of tools and agents, and others do not.
func TestExtendedCard(t *testing.T) {
	t.Parallel()
	db := "sqlite://" + filepath.ToSlash(filepath.Join(t.TempDir(), "keys.db"))
	keys, err := parley.OpenAPIKeys(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := keys.Create(t.Context(), parley.NewAPIKey{User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := parley.Config{Agents: testkit.NewFixture().Apps(), Access: parley.AccessConfig{Mode: parley.AccessKeys, KeysURL: db}}
	c := &client{T: t, web: serve(t, cfg), app: "relay"}
	public := c.read(c.do("GET", "/a2a/relay/.well-known/agent-card.json", ""))
	if public.at("capabilities.extendedAgentCard") != "true" || public.at("supportsAuthenticatedExtendedCard") != "true" || strings.Contains(public.at("skills"), "reviewer") {
		t.Error(public)
	}
	for _, resp := range []*http.Response{c.do("GET", "/a2a/relay/extendedAgentCard", ""), c.rpc("GetExtendedAgentCard", "{}")} {
		if resp.StatusCode != http.StatusUnauthorized {
			t.Error(resp.Status)
		}
	}
	c.header = http.Header{"Authorization": {"Bearer " + key}}
	for name, d := range map[string]doc{
		"HTTP+JSON":    c.read(c.do("GET", "/a2a/relay/extendedAgentCard", "")),
		"JSON-RPC":     c.read(c.rpc("GetExtendedAgentCard", "{}")),
		"JSON-RPC 0.3": c.read(c.rpc("agent/getAuthenticatedExtendedCard", "{}")),
	} {
		at := ""
		if name != "HTTP+JSON" {
			at = "result."
		}
		skills := d.at(at + "skills")
		for _, id := range []string{`"relay"`, `"reviewer"`, `"reporter"`, `"reporter-get_weather"`} {
			if strings.Count(skills, `"id":`+id) != 1 {
				t.Errorf("%s: %s is not there once: %s", name, id, skills)
			}
		}
		if d.at(at+"name") != "relay_agent" || (d.at(at+"protocolVersion") == "0.3.0") != (name == "JSON-RPC 0.3") || strings.Contains(skills, "never guess") {
			t.Error(name, d)
		}
	}

	open := &client{T: t, web: serve(t, parley.Config{Agents: testkit.NewFixture().Apps()}), app: "relay"}
	if d := open.read(open.do("GET", "/a2a/relay/.well-known/agent-card.json", "")); d.at("capabilities.extendedAgentCard") != "false" || d.at("supportsAuthenticatedExtendedCard") != "" {
		t.Error(d)
	}
	if d := open.read(open.rpc("agent/getAuthenticatedExtendedCard", "{}")); d.at("error.code") != "-32007" {
		t.Error(d)
	}
}

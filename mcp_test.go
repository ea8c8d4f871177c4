package parley_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// A client of MCP whose user has to log in gets the address, and the call goes on by
// itself when the provider has sent the user back to the server.
func TestLoginOverMCP(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			m := newManaged(t)
			b := newBrowser(t)
			asked := 0
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
				Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}},
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked++
					if r.Params.Mode != "url" {
						t.Errorf("the mode is %q", r.Params.Mode)
					}
					back, err := m.provider.Login(t.Context(), m.begin(b, r.Params.URL), "ann", true)
					if err != nil {
						return nil, err
					}
					b.get(back)
					return &sdk.ElicitResult{Action: "accept"}, nil
				},
			})
			session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: m.public + "/apps/calendar/mcp", DisableStandaloneSSE: true},
				&sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "calendar", Arguments: map[string]any{"message": "What is on?"}})
			if err != nil || got.IsError || asked != 1 {
				t.Fatal(got, err, asked)
			}
			if one, ok := got.Content[0].(*sdk.TextContent); !ok || one.Text != "That is all." {
				t.Error(got.Content[0])
			}
		})
	}
}

// Clients of MCP find where their users log in.
func TestMetadataForMCP(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{})
	g := serveGated(t, parley.Config{
		Access:  parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, Audiences: []string{"parley"}}},
		Network: parley.NetworkConfig{PublicURL: "https://agents.example.com"},
	})
	const path = "/apps/weather/mcp"
	rec := g.call("", http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if got := rec.Header().Get("WWW-Authenticate"); rec.Code != http.StatusUnauthorized ||
		!strings.HasSuffix(got, `, resource_metadata="https://agents.example.com/.well-known/oauth-protected-resource/apps/weather/mcp"`) {
		t.Error(rec.Code, got)
	}
	rec = g.call("", http.MethodGet, "/.well-known/oauth-protected-resource"+path, "")
	for _, want := range []string{`"resource":"https://agents.example.com/apps/weather/mcp"`, `"authorization_servers":["` + issuer.Issuer() + `"]`} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Error(rec.Code, rec.Body)
		}
	}
	rec = g.call(issuer.IDToken(t, "bob"), http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"name":"weather"`) {
		t.Error(rec.Code, rec.Body)
	}
}

package openid_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	_ "github.com/parley-run/parley/credential/openid" // verifies identity tokens
	"github.com/parley-run/parley/model/scripted"
)

// Callers have to send an identity token of the issuer, which was made for this
// server.
func Example() {
	issuer := httptest.NewServer(http.NotFoundHandler()) // the one of your organization
	defer issuer.Close()
	ctx := context.Background()
	greeter := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(scripted.Say("Hello."))}))
	srv, err := parley.Open(ctx, parley.Config{
		Agents: map[string]*agent.Agent{"app": greeter},
		Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{
			Issuers: []string{issuer.URL}, Audiences: []string{"https://agents.example.com"},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)
	rec := httptest.NewRecorder()
	srv.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "/list-apps", nil))
	fmt.Println(rec.Code, rec.Header().Get("WWW-Authenticate"))
	// Output: 401 Bearer realm="parley"
}

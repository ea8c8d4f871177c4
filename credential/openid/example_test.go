package openid_test

import (
	"context"
	"log"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	_ "github.com/parley-run/parley/credential/openid" // verifies identity tokens
	"github.com/parley-run/parley/model/scripted"
)

// Callers have to send an identity token of the issuer, which was made for this
// server.
func Example() {
	greeter := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(scripted.Say("Hello."))}))
	srv, err := parley.Open(context.Background(), parley.Config{
		Agents: map[string]*agent.Agent{"app": greeter},
		Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{
			Issuers: []string{"https://accounts.example.com"}, Audiences: []string{"https://agents.example.com"},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(srv.Run(context.Background()))
}

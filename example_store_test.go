package parley_test

import (
	"context"
	"fmt"
	"log"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// A scheme is registered once, so a package does it in its init function.
func init() {
	session.Register("mystore", session.Driver{
		Open: func(ctx context.Context, url string, o session.Options) (session.Store, error) {
			return session.NewStore(memstore.NewBackend(o.Lease)), nil
		},
	})
}

// A store of an author's own implements session.Backend, and passes the tests of
// package session/storetest.
func Example_ownStore() {
	root, err := agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(scripted.Say("Hello."))})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	srv, err := parley.Open(ctx, parley.Config{
		Agents:   map[string]*agent.Agent{"app": root},
		Sessions: parley.SessionConfig{URL: "mystore://here"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)
	fmt.Println(srv.Ask(ctx, "app", "ann", "first", "Hi"))
	// Output: Hello. <nil>
}

package all_test

import (
	"context"
	"log"

	"github.com/parley-run/parley"
	_ "github.com/parley-run/parley/all" // everything that the command has
)

// A program with everything serves the agents in a directory as the command does.
func Example() {
	ctx := context.Background()
	srv, err := parley.Open(ctx, parley.Config{
		Scripts:  parley.ScriptConfig{Dir: "agents"},
		Sessions: parley.SessionConfig{URL: "sqlite:///var/lib/agents.db"},
		UI:       parley.UIConfig{Enabled: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(srv.Run(ctx))
}

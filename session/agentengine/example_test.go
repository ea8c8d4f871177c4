package agentengine_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/agentengine"
)

// The project and the location are those of the environment: GOOGLE_CLOUD_PROJECT
// and GOOGLE_CLOUD_LOCATION.
func ExampleOpen() {
	ctx := context.Background()
	store, err := agentengine.Open(ctx, agentengine.Options{URL: "agentengine://1234567890", Getenv: os.Getenv, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	list, _, err := store.List(ctx, "travel", "ann", session.Page{Size: 20})
	fmt.Println(len(list), "sessions", err)
}

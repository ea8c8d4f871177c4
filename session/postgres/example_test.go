package postgres_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
)

// Servers that share a database have different owners and the same lease. A server
// opens the database that parley.Config.Sessions.URL names.
func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://agents@db.example.com/agents", session.Options{Owner: "server-1", Lease: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	queued, err := store.CountQueued(ctx)
	fmt.Println(queued, "runs are queued", err)
}

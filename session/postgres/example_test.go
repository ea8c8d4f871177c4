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

// A URL that cannot be used is an error at once, without the password that is in it.
func ExampleOpen_wrong() {
	_, err := postgres.Open(context.Background(), "postgres://agents:secret@db.example.com/agents?pool_max_conns=many", session.Options{Owner: "server-1"})
	fmt.Println(err)
	// Output: the URL of the database cannot be read: it should be like postgres://user:password@host:5432/database
}

package memstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// A server whose parley.Config.Sessions.URL is empty opens such a store. A test can
// open one, too.
func ExampleNew() {
	ctx := context.Background()
	store := memstore.New(0)
	defer store.Close()
	key := session.Key{App: "travel", User: "ann", ID: "rome"}
	if _, err := store.Create(ctx, session.NewSession{Key: key}); err != nil {
		log.Fatal(err)
	}
	_, err := store.Create(ctx, session.NewSession{Key: key})
	fmt.Println(err)
	list, _, err := store.List(ctx, "travel", "ann", session.Page{})
	fmt.Println(len(list), "session", err)
	// Output:
	// session already exists
	// 1 session <nil>
}

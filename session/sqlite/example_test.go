package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/sqlite"
)

// A server opens the file that parley.Config.Sessions.URL names, such as
// sqlite:///var/lib/agents.db. A program can open it, too.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "agents.db"), session.Options{Owner: "report"})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	for _, id := range []string{"rome", "oslo"} {
		if _, err := store.Create(ctx, session.NewSession{Key: session.Key{App: "travel", User: "ann", ID: id}}); err != nil {
			log.Fatal(err)
		}
	}
	list, _, err := store.List(ctx, "travel", "ann", session.Page{})
	fmt.Println(len(list), "sessions", err)
	// Output: 2 sessions <nil>
}

package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// A run begins with the message of the user, appends events under its epoch, and
// ends. Package parley does that for agents; a store is tested like this.
func Example() {
	ctx := context.Background()
	store := memstore.New(0)
	defer store.Close()
	key := session.Key{App: "travel", User: "ann", ID: "rome"}
	if _, err := store.Create(ctx, session.NewSession{Key: key, State: session.State{"city": json.RawMessage(`"Rome"`)}}); err != nil {
		log.Fatal(err)
	}
	message, err := session.NewEntry(&event.Event{Author: event.User, Content: event.Text(event.RoleUser, "What is there to see?")})
	if err != nil {
		log.Fatal(err)
	}
	begun, err := store.Begin(ctx, session.NewRun{ID: "run-1", Key: key, Request: func() ([]byte, error) { return nil, nil }, Message: message})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := session.NewEntry(&event.Event{Author: "guide", Content: event.Text(event.RoleModel, "The Forum.")})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := store.End(ctx, key, begun.Run.Epoch, session.End{Status: session.Completed, Entries: []*session.Entry{answer}}); err != nil {
		log.Fatal(err)
	}
	found, err := store.Get(ctx, key, session.Read{})
	if err != nil {
		log.Fatal(err)
	}
	for _, entry := range found.Entries {
		ev, err := entry.Decode()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Seq, ev.Author, ev.Content.Text())
	}
	// A late writer is refused: the epoch is over.
	fmt.Println(store.Append(ctx, key, begun.Run.Epoch, nil, answer))
	// Output:
	// 1 user What is there to see?
	// 2 guide The Forum.
	// session is owned by another run
}

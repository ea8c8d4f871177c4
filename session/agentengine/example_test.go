package agentengine_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/agentengine"
)

// Without an endpoint, the URL may be agentengine://1234567890: the project and the
// location are then those of the environment, GOOGLE_CLOUD_PROJECT and
// GOOGLE_CLOUD_LOCATION. Here an emulator has an engine without sessions.
func ExampleOpen() {
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	}))
	defer emulator.Close()
	ctx := context.Background()
	store, err := agentengine.Open(ctx, agentengine.Options{
		URL:    "agentengine://projects/p/locations/us-central1/reasoningEngines/1234567890?endpoint=" + emulator.URL,
		Getenv: os.Getenv, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	list, _, err := store.List(ctx, "travel", "ann", session.Page{Size: 20})
	fmt.Println(len(list), "sessions", err)
	// Output: 0 sessions <nil>
}

// A number stands for an engine of the project and the location.
func ExampleResource() {
	fmt.Println(agentengine.Resource("1234567890", "my-project", "us-central1"))
	// Output: projects/my-project/locations/us-central1/reasoningEngines/1234567890 <nil>
}

package gcs_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/parley-run/parley/artifact"
	_ "github.com/parley-run/parley/artifact/gcs" // opens gs://
)

// A server opens what parley.Config.Artifacts.URL names. A program can open it, too.
// Without an endpoint, it is gs://agents/files, with the application default
// credentials. Here an emulator has an empty bucket.
func Example() {
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items": []}`)
	}))
	defer emulator.Close()

	store, err := artifact.Open("gs://agents/files?endpoint=" + emulator.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	names, err := store.In(artifact.Place{App: "travel", User: "ann", Session: "rome"}).List(context.Background())
	fmt.Println(len(names), "files", err)
	// Output: 0 files <nil>
}

package gcs_test

import (
	"log"

	"github.com/parley-run/parley/artifact"
	_ "github.com/parley-run/parley/artifact/gcs" // opens gs://
)

// A server opens what parley.Config.Artifacts.URL names. A program can open it, too.
func Example() {
	store, err := artifact.Open("gs://agents/files")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
}

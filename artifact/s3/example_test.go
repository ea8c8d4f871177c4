package s3_test

import (
	"log"

	"github.com/parley-run/parley/artifact"
	_ "github.com/parley-run/parley/artifact/s3" // opens s3://
)

// A server opens what parley.Config.Artifacts.URL names. A program can open it, too.
func Example() {
	store, err := artifact.Open("s3://agents/files")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
}

package s3_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/parley-run/parley/artifact"
	_ "github.com/parley-run/parley/artifact/s3" // opens s3://
)

// A server opens what parley.Config.Artifacts.URL names. A program can open it, too.
// Here the bucket is empty, and on a server other than Amazon's.
func Example() {
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<ListBucketResult><Name>agents</Name></ListBucketResult>`)
	}))
	defer bucket.Close()
	// Credentials come from where the tools of AWS look for them.
	os.Setenv("AWS_ACCESS_KEY_ID", "key")
	os.Setenv("AWS_SECRET_ACCESS_KEY", "secret")

	store, err := artifact.Open("s3://agents/files?region=eu-central-1&endpoint=" + bucket.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	names, err := store.In(artifact.Place{App: "travel", User: "ann", Session: "rome"}).List(context.Background())
	fmt.Println(len(names), "files", err)
	// Output: 0 files <nil>
}

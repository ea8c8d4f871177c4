package differential

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/parley-run/parley"
	_ "github.com/parley-run/parley/faces" // A2A
	"github.com/parley-run/parley/internal/testkit"
)

// remoteServer starts the server that the remote agents of the scenarios are on, for
// both runtimes. Its address is in the variable REMOTE.
func remoteServer(t *testing.T) {
	t.Helper()
	srv, err := parley.Open(t.Context(), parley.Config{Agents: testkit.NewFixture().Apps()})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.Close()
		srv.Close(context.Background())
	})
	t.Setenv("REMOTE", web.URL)
}

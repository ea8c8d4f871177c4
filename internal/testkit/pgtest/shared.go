package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit/leak"
)

// shared is a server that the tests of a package have in common.
type shared struct {
	options Options
	once    sync.Once
	server  *Server
	err     error
}

var (
	durable = &shared{}
	quick   = &shared{options: Options{NoSync: true}}
)

// Start returns a server that all tests of the package share. Their TestMain
// has to call Main, or Cleanup. It skips the test with -short.
func Start(tb testing.TB) *Server {
	tb.Helper()
	return durable.get(tb)
}

// Quick is Start with a server that does not wait for the disk; see
// Options.NoSync.
func Quick(tb testing.TB) *Server {
	tb.Helper()
	return quick.get(tb)
}

func (s *shared) get(tb testing.TB) *Server {
	tb.Helper()
	if testing.Short() {
		tb.Skip("it starts a Postgres server")
	}
	s.once.Do(func() {
		// It outlives the test that happens to be the first.
		s.server, s.err = New(context.Background(), s.options)
	})
	if s.err != nil {
		tb.Fatalf("postgres: %v", s.err)
	}
	return s.server
}

// Database makes an empty database for a test and returns its URL.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	url, err := s.CreateDatabase(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 10*time.Second)
		defer cancel()
		if err := s.DropDatabase(ctx, url); err != nil {
			tb.Log(err) // the test may have left the server stopped
		}
	})
	return url
}

// Cleanup ends the servers that the tests have shared.
func Cleanup() {
	for _, s := range []*shared{durable, quick} {
		if s.server == nil {
			continue
		}
		if err := s.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err) //nolint:forbidigo // no test is there to be told
		}
	}
}

// Main runs the tests of a package, ends the servers that they have shared, and
// makes sure that no goroutine is left behind.
func Main(m *testing.M) {
	code := m.Run()
	Cleanup()
	if code == 0 { // tests that have failed may have left some
		if err := leak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err) //nolint:forbidigo // no test is there to be told
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // as a TestMain does
}

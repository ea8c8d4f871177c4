package agentengine

import (
	"log/slog"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/internal/testkit/sessionservice"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/storetest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// hasty is a client that does not let tests wait.
var hasty = pace{attempts: 3, wait: time.Millisecond, poll: time.Millisecond, timeout: time.Minute}

// open connects a store to a service, as a process does.
func open(t *testing.T, service *sessionservice.Service, lease time.Duration) *backend {
	t.Helper()
	c, err := newClient(&Options{URL: service.StoreURL(), Getenv: func(string) string { return "" }, pace: &hasty})
	if err != nil {
		t.Fatal(err)
	}
	s := newBackend(c, slog.New(slog.DiscardHandler), lease)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Within one process, the service and the memory in front of it are a store like
// any other.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, lease time.Duration) session.Store {
		t.Helper()
		service := sessionservice.New(t)
		service.Polls = 0
		s := open(t, service, lease)
		s.client.http.Transport = service // tens of thousands of calls need no network
		return session.NewStore(s)
	})
}

// What is to be sent is kept with the runs, in the memory of the process.
func TestOutbox(t *testing.T) {
	storetest.RunOutbox(t, func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		store := session.NewStore(open(t, sessionservice.New(t), 0))
		return func(session.Options) session.Store { return store }
	})
}

// Processes share the sessions, and nothing of their runs.
func TestShared(t *testing.T) {
	storetest.RunSharedSessions(t, func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		service := sessionservice.New(t)
		service.PageSize = 2
		return func(o session.Options) session.Store { return session.NewStore(open(t, service, o.Lease)) }
	})
}

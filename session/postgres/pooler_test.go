package postgres_test

import (
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
	"github.com/parley-run/parley/session/storetest"
)

// pooled returns a function that makes an empty schema, and returns its URL, through a
// pooler for all but the connection that listens.
func pooled(t *testing.T, server *pgtest.Server) func(t *testing.T) string {
	t.Helper()
	pooler, database := server.Pooler(t), server.Database(t)
	return func(t *testing.T) string {
		t.Helper()
		url := server.Schema(t, database, fmt.Sprint("schema_", schemas.Add(1)))
		return with(t, pgtest.Hosts(url, pooler.Addr()), "listen_hosts", server.Addr())
	}
}

var long = flag.Bool("postgres.long", false, "also run the whole suite through a pooler; see make test/postgres")

// A transaction pooler is between all servers and the database.
func TestPooler(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts a Postgres server")
	}
	empty := pooled(t, private(t, pgtest.Options{NoSync: true, Settings: map[string]string{"max_connections": "400"}}))
	several := func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		url := empty(t)
		return func(o session.Options) session.Store {
			t.Helper()
			return session.NewStore(open(t, url, o))
		}
	}
	t.Run("Outbox", func(t *testing.T) {
		t.Parallel()
		storetest.RunOutbox(t, several)
	})
	if !*long {
		return
	}
	t.Run("Store", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T, lease time.Duration) session.Store {
			t.Helper()
			s := open(t, empty(t), session.Options{Lease: lease})
			if lease%2 == 0 {
				s.AlwaysTogether()
			}
			return session.NewStore(s)
		})
	})
	t.Run("Shared", func(t *testing.T) {
		t.Parallel()
		storetest.RunShared(t, several)
	})
}

// A pooler is noticed, also if the URL does not tell, and statements are executed in
// a way that it can handle.
func TestPoolerIsNoticed(t *testing.T) {
	t.Parallel()
	server := pgtest.Quick(t)
	database := pgtest.Hosts(server.Database(t), server.Pooler(t, "default_pool_size = 2").Addr())
	log := &testkit.Buffer{}
	s := open(t, database, session.Options{Lease: time.Minute, Log: slog.New(slog.NewTextHandler(log, nil))})
	if !strings.Contains(log.String(), "listen_hosts in the URL") {
		t.Errorf("the log is %s", log)
	}
	other := open(t, with(t, database, "listen_hosts", server.Addr()), session.Options{})
	heard := make(chan struct{}, 1)
	go other.Watch(t.Context(), func(hint uint64) {
		if hint != 0 {
			select {
			case heard <- struct{}{}:
			default:
			}
		}
	})
	underway(t, s, func() { <-heard })
	direct := &testkit.Buffer{}
	open(t, server.Database(t), session.Options{Log: slog.New(slog.NewTextHandler(direct, nil))})
	if direct.String() != "" {
		t.Errorf("without a pooler the log is %s", direct)
	}
}

func TestListenHosts(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://u:p@pool:6432/db?listen_hosts=one:5433,two&pool_max_conns=3&search_path=x%20y": "one:5433 two:5432 read-write",
		"host=pool port=6432 user=u dbname=db listen_hosts='[::1]:5433'":                           "::1:5433",
		"postgres://u:p@pool:6432/db?listen_hosts=one,two&target_session_attrs=any":                "one:5432 two:5432",
		"postgres://one,two/db":                     "none",
		"postgres://u@h/db?listen_hosts=":           "error",
		"postgres://u@h/db?listen_hosts=one%27,two": "error",
	} {
		if got := postgres.ListensAt(url); got != want {
			t.Errorf("%s listens at %s, want %s", url, got, want)
		}
	}
}

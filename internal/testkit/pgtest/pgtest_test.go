package pgtest_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// ask runs one query on a new connection.
func ask(t *testing.T, url, sql string) (answer string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

// tell runs one statement on a new connection.
func tell(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// What a server has confirmed is there after each way of ending it, at the same
// address.
func TestServer(t *testing.T) {
	s := pgtest.Start(t)
	if s != pgtest.Start(t) {
		t.Error("tests do not share their server")
	}
	if got := ask(t, s.URL(), "show fsync"); got != "on" {
		t.Errorf("fsync is %s", got)
	}
	url := s.Database(t)
	tell(t, url, "create table kept (n text)")
	for name, end := range map[string]func(){
		"stop":      func() { s.Stop(pgtest.Fast) },
		"immediate": func() { s.Stop(pgtest.Immediate) },
		"kill":      s.Kill,
		"nothing":   func() {},
	} {
		ask(t, url, "insert into kept values ('"+name+"') returning n")
		end()
		start := time.Now()
		if err := s.Start(t.Context()); err != nil {
			t.Fatalf("Start after %s: %v", name, err)
		}
		t.Logf("%s: up again after %v", name, time.Since(start))
		if got := ask(t, url, "select n from kept where n = '"+name+"'"); got != name {
			t.Errorf("after %s there is %q", name, got)
		}
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, url, "select count(*)::text from kept"); got != "4" {
		t.Errorf("%s rows, want 4", got)
	}
}

// Another process may have the port of a server while it is down.
func TestPortInUse(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a Postgres server")
	}
	s, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.Stop(pgtest.Fast)
	other, err := net.Listen("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() { started <- s.Start(t.Context()) }()
	for !strings.Contains(s.Tail(), "Address already in use") {
		select {
		case err := <-started:
			t.Fatalf("it started, or failed, while another process had its port: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s.URL(), "select 'yes'"); got != "yes" {
		t.Errorf("it says %s", got)
	}
}

func TestQuick(t *testing.T) {
	s := pgtest.Quick(t)
	if got := ask(t, s.Database(t), "show fsync"); got != "off" {
		t.Errorf("fsync is %s", got)
	}
}

// A standby that was synchronized has what its primary has confirmed, and the old
// primary can follow it.
func TestStandby(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts Postgres servers")
	}
	one, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = one.Close() })
	two, err := one.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = two.Close() })
	both := pgtest.Hosts(one.URL(), one.Addr(), two.Addr()) + "&target_session_attrs=read-write"
	for i, primary := range []*pgtest.Server{one, two} {
		standby := []*pgtest.Server{two, one}[i]
		if err := primary.Synchronize(t.Context()); err != nil {
			t.Fatal(err)
		}
		table := fmt.Sprint("kept", i)
		tell(t, both, "create table "+table+" as select 1 as n")
		primary.Kill()
		if err := standby.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		ask(t, both, "select n::text from "+table)
		if err := primary.Follow(t.Context(), standby); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, primary.URL(), "select pg_is_in_recovery()::text"); got != "true" {
			t.Errorf("the old primary is in recovery: %s", got)
		}
	}
}

func TestVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a Postgres server")
	}
	newest := pgtest.Newest(t)
	s, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true, Version: newest})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if got := ask(t, s.URL(), "show server_version"); !strings.HasPrefix(got, newest+".") {
		t.Errorf("the version is %s, want %s", got, newest)
	}
}

// A pooler that ends by itself is there again soon.
func TestPoolerRestarts(t *testing.T) {
	t.Parallel()
	server := pgtest.Quick(t)
	pooler := server.Pooler(t, "admin_users = postgres")
	url := pgtest.Hosts(server.URL(), pooler.Addr())
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Database, cfg.DefaultQueryExecMode = "pgbouncer", pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Exec(t.Context(), "SHUTDOWN") // the connection may be closed before the answer
	_ = conn.Close(t.Context())
	testkit.Eventually(t, "the pooler to answer again", func() bool {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close(t.Context()) }()
		var one int
		return conn.QueryRow(t.Context(), "SELECT 1", pgx.QueryExecModeSimpleProtocol).Scan(&one) == nil
	})
}

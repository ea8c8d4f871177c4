package pgtest_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "create table kept (n text)"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
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

func TestQuick(t *testing.T) {
	s := pgtest.Quick(t)
	if got := ask(t, s.Database(t), "show fsync"); got != "off" {
		t.Errorf("fsync is %s", got)
	}
}

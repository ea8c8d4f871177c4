package pgtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/internal/testkit"
)

// Pooler is a PgBouncer in front of a server: each transaction of a client has any
// of a few connections. It can be stopped and started again.
type Pooler struct {
	program string
	dir     string
	user    *account
	port    int
	server  *Server

	mu   sync.Mutex
	proc *process
}

// Pooler starts a PgBouncer in front of the server, for all of its databases and
// roles, with more settings. It ends with the test.
func (s *Server) Pooler(tb testing.TB, settings ...string) *Pooler {
	tb.Helper()
	p := &Pooler{program: testkit.Program(tb, "PgBouncer", "pgbouncer", "pgbouncer", "/usr/sbin/pgbouncer"), user: s.user, server: s}
	dir, lock, err := makeDir()
	if err != nil {
		tb.Fatal(err)
	}
	p.dir = dir
	tb.Cleanup(func() {
		if tb.Failed() {
			text, _ := os.ReadFile(filepath.Join(dir, "log")) //nolint:gosec // in our own directory
			tb.Logf("the log of PgBouncer ends with:\n%s", text[max(0, len(text)-4000):])
		}
		p.Stop()
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
		_ = lock.Close()
	})
	if p.port, err = freePort(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	conf := append([]string{
		"[databases]", fmt.Sprintf("* = host=127.0.0.1 port=%d", s.port),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(p.port), "unix_socket_dir =",
		"pool_mode = transaction", "max_client_conn = 2000", "default_pool_size = 10", "max_db_connections = 100",
		"server_idle_timeout = 5", "server_login_retry = 1",
		"auth_type = scram-sha-256", "auth_file = " + filepath.Join(dir, "users"), "auth_user = postgres",
		"auth_query = SELECT usename, passwd FROM pg_shadow WHERE usename = $1",
	}, settings...)
	for name, content := range map[string]string{
		"conf": strings.Join(conf, "\n") + "\n", "users": fmt.Sprintf("%q %q\n", "postgres", s.password),
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
		if err := s.user.own(file); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.user.own(dir); err != nil {
		tb.Fatal(err)
	}
	if err := p.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return p
}

// Addr is the host and the port of the pooler.
func (p *Pooler) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// Start starts the pooler if it is down, and waits until it answers for a server
// that does. If it ends by itself, it is started again, as by a service manager.
func (p *Pooler) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.start(ctx)
}

// start is Start; p.mu must be held.
func (p *Pooler) start(ctx context.Context) error {
	if p.proc != nil {
		return nil
	}
	log := filepath.Join(p.dir, "log")
	proc, err := launch(p.dir, log, p.user.attributes(), p.program, filepath.Join(p.dir, "conf"))
	if err != nil {
		return fmt.Errorf("starting pgbouncer: %w", err)
	}
	for end := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", p.Addr()) //nolint:noctx // of this machine
		if err == nil {
			p.proc = proc
			go p.restart(proc) //nolint:gosec,contextcheck // it outlives the call, until Stop
			return conn.Close()
		}
		select {
		case <-proc.ended:
		default:
			if time.Now().Before(end) && ctx.Err() == nil {
				continue
			}
			proc.end(sigKill)
		}
		text, _ := os.ReadFile(log) //nolint:gosec // in our own directory
		return fmt.Errorf("starting pgbouncer: %w\n%s", err, text[max(0, len(text)-2000):])
	}
}

// restart starts the pooler again when its process has ended, unless Stop has ended it.
func (p *Pooler) restart(proc *process) {
	<-proc.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc != proc {
		return
	}
	p.proc = nil
	_ = p.start(context.Background()) // the log says why it does not start
}

// Stop kills the pooler, with all connections.
func (p *Pooler) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc != nil {
		p.proc.end(sigKill)
		p.proc = nil
	}
}

// Schema makes an empty schema in a database, and a role that finds it: PgBouncer
// does not pass a search_path on. It returns the URL for the role.
func (s *Server) Schema(tb testing.TB, database, name string) string {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), database)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(tb.Context())) }()
	hashed, err := verifier(s.password)
	if err != nil {
		tb.Fatal(err)
	}
	role := pgx.Identifier{conn.Config().Database + "_" + name}
	for _, sql := range []string{
		"CREATE SCHEMA " + pgx.Identifier{name}.Sanitize(),
		"CREATE ROLE " + role.Sanitize() + " LOGIN SUPERUSER PASSWORD '" + hashed + "'",
		"ALTER ROLE " + role.Sanitize() + " SET search_path = " + pgx.Identifier{name}.Sanitize(),
	} {
		if _, err := conn.Exec(tb.Context(), sql); err != nil {
			tb.Fatalf("%s: %v", sql, err)
		}
	}
	return strings.Replace(database, "//postgres:", "//"+role[0]+":", 1)
}

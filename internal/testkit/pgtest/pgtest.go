// Package pgtest starts private Postgres servers from the server binaries that
// are installed, for tests and benchmarks. A server lives in a temporary
// directory, listens on 127.0.0.1 with a password of its own, and goes when the
// process that started it does, whatever way that ends.
package pgtest

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options of a server. The zero value is one that does not lose what it has
// confirmed.
type Options struct {
	// NoSync leaves it to the operating system when to write to the disk. That
	// is faster, and as safe for everything but a crash of the machine: what a
	// killed server has confirmed is still there.
	NoSync bool
	// Settings are added to postgresql.conf, like "max_connections" and "200".
	Settings map[string]string
	// Version is that of the server, one of Versions; empty for the one that is
	// installed.
	Version string
	// Disk is the directory for the data; empty for a temporary one.
	Disk string
}

// Server is a Postgres server that can be stopped, killed and started again. It
// keeps its data and its address until Close.
type Server struct {
	dir      string
	disk     string // where the data is
	lock     *os.File
	bin      string
	user     *account
	port     int
	password string

	mu     sync.Mutex
	proc   *process // nil while it is down
	served bool     // it has had connections, so that others know its address
}

// Mode is a way to stop a server.
type Mode int

// The ways to stop: Fast rolls back what is in progress and writes everything
// down, Immediate leaves that to the recovery at the next start.
const (
	Fast Mode = iota
	Immediate
)

const startTimeout = 60 * time.Second

// New creates and starts a server. The caller must close it.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{password: rand.Text()}
	err := s.prepare()
	if err == nil {
		s.disk = cmp.Or(o.Disk, s.dir)
		s.bin, err = s.programs(ctx, o.Version)
	}
	if err == nil {
		err = s.initialize(ctx, o)
	}
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare makes the directory of a server.
func (s *Server) prepare() (err error) {
	sweep()
	if s.user, err = unprivileged(); err != nil {
		return err
	}
	if s.dir, s.lock, err = makeDir(); err != nil {
		return fmt.Errorf("making a directory for postgres: %w", err)
	}
	s.disk = s.dir
	if err := s.user.own(s.dir); err != nil {
		return fmt.Errorf("giving the directory to an unprivileged user: %w", err)
	}
	return nil
}

// initialize makes the cluster.
func (s *Server) initialize(ctx context.Context, o Options) error {
	secret := filepath.Join(s.dir, "password")
	hashed, err := verifier(s.password)
	if err != nil {
		return fmt.Errorf("hashing the password: %w", err)
	}
	if err := os.WriteFile(secret, []byte(hashed), 0o600); err != nil {
		return fmt.Errorf("writing the password: %w", err)
	}
	if err := s.user.own(secret); err != nil {
		return fmt.Errorf("giving the password to an unprivileged user: %w", err)
	}
	init := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "--pwfile", secret, //nolint:gosec // a program that is part of Postgres
		"-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	init.Dir = s.dir
	init.SysProcAttr = s.user.attributes()
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.configure(o)
}

// verifier is the form in which Postgres keeps a password for SCRAM. It has one
// iteration instead of 4096, which clients compute for every connection, and which
// add nothing to a random password. Tests open thousands of connections.
func verifier(password string) (string, error) {
	const iterations = 1
	salt := []byte(rand.Text()[:16])
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	key := func(name string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(name))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(key("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, encode(salt), encode(stored[:]), encode(key("Server Key"))), nil
}

func (s *Server) configure(o Options) error {
	var b strings.Builder
	set := func(name, value string) {
		fmt.Fprintf(&b, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	set("listen_addresses", "127.0.0.1")
	set("unix_socket_directories", "") // paths of temporary directories can be too long for one
	set("max_connections", "300")
	set("shared_buffers", "128MB")
	set("max_wal_size", "2GB")
	if o.NoSync {
		set("fsync", "off")
		set("full_page_writes", "off")
	}
	for name, value := range o.Settings {
		set(name, value)
	}
	return s.appendTo("postgresql.conf", b.String())
}

// override appends settings to those that take precedence over the configuration. Of equal
// ones, the last counts.
func (s *Server) override(lines string) error { return s.appendTo("postgresql.auto.conf", lines) }

func (s *Server) appendTo(file, lines string) error {
	conf, err := os.OpenFile(filepath.Join(s.data(), file), os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // in our own directory
	if err != nil {
		return fmt.Errorf("opening the configuration of postgres: %w", err)
	}
	_, err = conf.WriteString(lines)
	if err = errors.Join(err, conf.Close()); err != nil {
		return fmt.Errorf("writing the configuration of postgres: %w", err)
	}
	return nil
}

// setPort sets the port of the server, which is a new one as long as others do not know it.
func (s *Server) setPort(ctx context.Context) (err error) {
	if !s.served {
		if s.port, err = freePort(ctx); err != nil {
			return err
		}
	}
	return s.override(fmt.Sprintf("port = '%d'\n", s.port))
}

func (s *Server) data() string    { return filepath.Join(s.disk, "data") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// URL is where the server is, with its first database.
func (s *Server) URL() string { return s.url("postgres") }

// Addr is the host and the port of the server, for those who put something in
// front of it.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

func (s *Server) url(database string) string {
	// On a busy machine a connection may take longer than the store waits by default.
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", s.password), Host: s.Addr(), Path: "/" + database, RawQuery: "sslmode=disable&connect_timeout=60"}
	return u.String()
}

// CreateDatabase makes an empty database and returns its URL.
func (s *Server) CreateDatabase(ctx context.Context) (string, error) {
	name := "test_" + strings.ToLower(rand.Text()[:12])
	if err := s.exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", fmt.Errorf("making a database: %w", err)
	}
	return s.url(name), nil
}

// DatabaseAt makes an empty database whose tables are in a directory, and returns its
// URL.
func (s *Server) DatabaseAt(ctx context.Context, dir string) (string, error) {
	if err := s.user.own(dir); err != nil {
		return "", fmt.Errorf("giving the directory to an unprivileged user: %w", err)
	}
	name := "test_" + strings.ToLower(rand.Text()[:12])
	for _, sql := range []string{
		"CREATE TABLESPACE " + name + " LOCATION '" + dir + "'", "CREATE DATABASE " + name + " TABLESPACE " + name,
	} {
		if err := s.exec(ctx, sql); err != nil {
			return "", fmt.Errorf("making a database: %w", err)
		}
	}
	return s.url(name), nil
}

// DropDatabase removes a database that CreateDatabase has made, with the
// connections that are left.
func (s *Server) DropDatabase(ctx context.Context, database string) error {
	u, err := url.Parse(database)
	if err != nil {
		return errors.New("that is not the URL of a database")
	}
	name := pgx.Identifier{strings.TrimPrefix(u.Path, "/")}.Sanitize()
	if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("removing the database %s: %w", name, err)
	}
	return nil
}

func (s *Server) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// Start starts the server if it is down, and waits until it answers.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if err := s.setPort(ctx); err != nil {
			return err
		}
		p, err := launch(s.dir, s.logFile(), s.user.attributes(), filepath.Join(s.bin, "postgres"), "-D", s.data())
		if err != nil {
			return fmt.Errorf("starting postgres: %w", err)
		}
		if err = s.ready(ctx, p); err == nil {
			s.proc, s.served = p, true
			return nil
		}
		p.end(sigQuit)
		if tail := s.tail(); ctx.Err() != nil || !slices.ContainsFunc(passing, func(says string) bool { return strings.Contains(tail, says) }) {
			return fmt.Errorf("starting postgres: %w\n%s", err, tail)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// passing is what the log says of failures to start that pass. The processes of a killed
// server need a moment to see that it is gone, and until then the next one is refused; and
// another process may have the port.
var passing = []string{"shared memory block", "lock file", "Address already in use"}

// ready waits until the server accepts connections.
func (s *Server) ready(ctx context.Context, p *process) error {
	for {
		conn, err := pgx.Connect(ctx, s.URL())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-p.ended:
			return fmt.Errorf("it ended at once: %v", p.err) //nolint:errorlint // callers do not inspect the cause
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tail is the end of the server's log.
func (s *Server) tail() string {
	b, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2000):])
}

// Stop stops the server and waits until it has ended.
func (s *Server) Stop(how Mode) {
	if how == Immediate {
		s.signal(sigQuit)
		return
	}
	s.signal(sigInt)
}

// Kill is a crash: the server's first process is killed, and the others follow
// when they see it.
func (s *Server) Kill() { s.signal(sigKill) }

func (s *Server) signal(sig signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.end(sig)
		s.proc = nil
	}
}

// Restart is a Stop, Fast, and a Start.
func (s *Server) Restart(ctx context.Context) error {
	s.Stop(Fast)
	return s.Start(ctx)
}

// Close ends the server and removes what it has stored.
func (s *Server) Close() error {
	s.Stop(Immediate)
	if s.lock == nil {
		return nil
	}
	err := os.RemoveAll(s.dir)
	return errors.Join(err, s.lock.Close())
}

// freePort finds a free port. It is outside of the range for outgoing connections, so that it is still free after a
// restart.
func freePort(ctx context.Context) (int, error) {
	const first, count = 15_000, 15_000
	for range 100 {
		n, err := rand.Int(rand.Reader, big.NewInt(count))
		if err != nil {
			return 0, fmt.Errorf("choosing a port: %w", err)
		}
		port := first + int(n.Int64())
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("choosing a port: %w", err)
		}
		return port, nil
	}
	return 0, errors.New("no free port for postgres")
}

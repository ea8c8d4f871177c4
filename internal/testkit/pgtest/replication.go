package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby starts a server that follows this one. The caller must close it.
func (s *Server) Standby(ctx context.Context) (*Server, error) {
	t := &Server{bin: s.bin, password: s.password}
	err := t.prepare()
	if err == nil {
		err = t.Follow(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Follow replaces the data of a server with a copy of another one's, and starts it
// as a standby of that.
func (s *Server) Follow(ctx context.Context, primary *Server) error {
	s.Stop(Immediate)
	if err := os.RemoveAll(s.data()); err != nil {
		return fmt.Errorf("removing what the server has stored: %w", err)
	}
	program := filepath.Join(s.bin, "pg_basebackup")
	if !executable(program) {
		return fmt.Errorf("%s is not there: replication is tested with the installed version", program)
	}
	cmd := exec.CommandContext(ctx, program, "-D", s.data(), "-d", primary.URL(), "-R", "-X", "stream", "-c", "fast", "--no-sync") //nolint:gosec // a program that is part of Postgres
	cmd.Dir, cmd.SysProcAttr = s.dir, s.user.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	if err := s.override("synchronous_standby_names = ''\n"); err != nil {
		return err
	}
	return s.Start(ctx)
}

// Synchronize has the server confirm only what a standby has stored, too, from when
// it returns. It waits for a standby.
func (s *Server) Synchronize(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.until(ctx, caught); err != nil {
		return err
	}
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()", "CHECKPOINT"} { // the checkpointer puts the setting into effect
		if err := s.exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return s.until(ctx, caught+` AND sync_state = 'sync'`)
}

// Replicate waits until a standby has stored what the server has.
func (s *Server) Replicate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return s.until(ctx, caught)
}

const caught = `SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn >= $1::pg_lsn`

// until waits until a condition is true, whose parameter is the end of the log of
// changes when the function is called.
func (s *Server) until(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var end string
	if err := conn.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&end); err != nil {
		return fmt.Errorf("reading the end of the log: %w", err)
	}
	for {
		var yes bool
		if err := conn.QueryRow(ctx, sql, end).Scan(&yes); err != nil {
			return fmt.Errorf("waiting for a standby: %w", err)
		}
		if yes {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Promote makes a standby a primary.
func (s *Server) Promote(ctx context.Context) error {
	if err := s.exec(ctx, "SELECT pg_promote(true, 60)"); err != nil {
		return fmt.Errorf("promoting a standby: %w", err)
	}
	return nil
}

// Hosts is the URL of a database with the addresses of several servers in place of
// its own, in this order.
func Hosts(database string, addresses ...string) string {
	u, err := url.Parse(database)
	if err != nil {
		panic(err)
	}
	u.Host = strings.Join(addresses, ",")
	return u.String()
}

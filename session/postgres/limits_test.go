package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
)

// limits are the settings of a role that end what takes long.
var limits = []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"}

// The role has limits that are too short for some calls. They are repeated, and fail
// with an error that says so if that is of no use.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	server := pgtest.Quick(t)
	url := server.Schema(t, server.Database(t), "limited")
	role, _, _ := strings.Cut(strings.TrimPrefix(url, "postgres://"), ":")
	var settings []string
	for _, name := range limits {
		settings = append(settings, "ALTER ROLE "+role+" SET "+name+" = 250")
	}
	sql(t, url, settings...) // on one connection, which has no limits yet
	// A process that changes the schema may take longer.
	time.AfterFunc(600*time.Millisecond, hold(t, url, fmt.Sprint("SELECT pg_advisory_xact_lock(", int64(postgres.MigrationLock), ")")))
	s := open(t, url, session.Options{Lease: time.Minute})
	s.SetPatience(5 * time.Minute) // the machine may be busy
	underway(t, s, func() {
		for i := range 3 {
			release := hold(t, url, fmt.Sprintf("SELECT FROM parley_sessions WHERE id = 's%d' FOR UPDATE", i))
			time.Sleep(600 * time.Millisecond) // longer than each of the limits
			release()
		}
	})
	release := hold(t, url, "SELECT FROM parley_sessions WHERE id = 's0' FOR UPDATE")
	// Without the limits of idle connections: an attempt after a pause would fail with them, and not tell of the lock.
	busy := open(t, with(t, with(t, url, "idle_session_timeout", "0"), "idle_in_transaction_session_timeout", "0"), session.Options{Lease: time.Minute})
	busy.SetPatience(5 * time.Second) // an attempt that takes longer is in doubt
	err := busy.Patch(t.Context(), key("s0"), say("never"))
	if e, ok := errors.AsType[*session.UnavailableError](err); !ok || e.Doubt || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("Patch of a locked session: error %v", err)
	}
	eventually(t, func() error { return s.Ready(t.Context()) })
	release()
	if err := s.Patch(t.Context(), key("s0"), say("later")); err != nil {
		t.Errorf("Patch: %v", err)
	}
}

// There are fewer connections than the servers would like to have, and all of them
// come back at once after a restart of the database.
func TestCrowded(t *testing.T) {
	t.Parallel()
	const servers = 4
	server := private(t, pgtest.Options{NoSync: true, Settings: map[string]string{"max_connections": "14", "superuser_reserved_connections": "0", "max_wal_senders": "0"}})
	var stores []*postgres.Backend
	for range servers {
		database, err := server.CreateDatabase(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, database+"&pool_max_conn_idle_time=3s&pool_health_check_period=500ms", session.Options{Lease: time.Minute})
		s.SetPatience(5 * time.Minute) // the machine may be busy
		go s.Watch(t.Context(), func(uint64) {})
		stores = append(stores, s)
	}
	for _, restarts := range []bool{false, true} {
		var restart sync.Once
		var wg sync.WaitGroup
		for _, s := range stores {
			wg.Go(func() {
				talks(t, s, fmt.Sprint(restarts), func() {
					// A server that has connections is ready, although it gets no more.
					if err := s.Ready(t.Context()); err != nil && !restarts {
						t.Errorf("Ready: %v", err)
					}
					if restarts {
						restart.Do(func() {
							if err := server.Restart(t.Context()); err != nil {
								t.Error(err)
							}
						})
					}
				})
			})
		}
		wg.Wait()
	}
	for _, s := range stores {
		eventually(t, func() error { return s.Ready(t.Context()) })
	}
}

// The disk of the database is full, and then it is not. No call of a run fails, others
// are told why, and nothing that was confirmed is lost.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("it mounts a small file system, which takes root on Linux")
	}
	for _, what := range []string{"tables", "everything"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			disk := t.TempDir()
			mount := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=300m,mode=777", "tmpfs", disk)
			if out, err := mount.CombinedOutput(); err != nil {
				t.Skipf("a small file system cannot be mounted here: %v: %s", err, out)
			}
			t.Cleanup(func() {
				if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "umount", disk).CombinedOutput(); err != nil {
					t.Errorf("umount: %v: %s", err, out)
				}
			})
			for parent := disk; parent != filepath.Dir(parent); parent = filepath.Dir(parent) {
				if strings.HasPrefix(parent, os.TempDir()+"/") && os.Chmod(parent, 0o777) != nil {
					t.Fatal(parent)
				}
			}
			o := pgtest.Options{NoSync: true, Settings: map[string]string{"max_wal_size": "64MB", "min_wal_size": "32MB"}}
			if what == "everything" {
				o.Disk = disk
			}
			server := private(t, o)
			database := server.URL()
			if what == "tables" {
				if err := os.Mkdir(filepath.Join(disk, "tables"), 0o777); err != nil {
					t.Fatal(err)
				}
				var err error
				if database, err = server.DatabaseAt(t.Context(), filepath.Join(disk, "tables")); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, database, session.Options{Lease: time.Minute})
			s.SetPatience(5 * time.Minute) // the machine may be busy
			full := filepath.Join(disk, "full")
			underway(t, s, func() {
				fill(t, full)
				eventually(t, func() error {
					if _, writes := s.Away(); !writes {
						return errors.New("the disk is full, and the store does not know")
					}
					return nil
				})
				if what == "tables" {
					err := s.Ready(t.Context())
					if _, ok := errors.AsType[*session.UnavailableError](err); !ok || !strings.Contains(err.Error(), "No space left on device") {
						t.Errorf("Ready: error %v", err)
					}
					wantUnavailable(t, "Patch", func() error { return s.Patch(t.Context(), key("s0"), say("never")) })
				}
				if err := os.Remove(full); err != nil {
					t.Error(err)
				}
				server.Kill() // it may have ended
				if err := server.Start(t.Context()); err != nil {
					t.Error(err)
				}
				eventually(t, func() error { return s.Ready(t.Context()) })
			})
		})
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; block = block[:len(block)/2] {
		for err = error(nil); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// hold runs a statement that locks something, without a limit, and keeps the lock.
func hold(t *testing.T, url, statement string) (release func()) {
	t.Helper()
	for _, name := range limits { // from the beginning: a busy machine may reach them before the first statement
		url = with(t, url, name, "0")
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"BEGIN", statement} {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	release = sync.OnceFunc(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	t.Cleanup(release)
	return release
}

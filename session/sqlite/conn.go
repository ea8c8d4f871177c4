package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	driver "modernc.org/sqlite" // registers the driver
	lib "modernc.org/sqlite/lib"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/session"
)

// pragmas are those of every connection, in this order.
//
// synchronous: with NORMAL, acknowledged commits survive any end of the
// process, but the last ones may be lost in a power failure.
// FULL syncs each commit, once for all waiting writes. Measured on two shared
// cores and a disk with a sync of about 70 µs: 64 concurrent writers got
// 20,700 appends per second with FULL and 22,900 with NORMAL; a single one got
// 6,400 and 15,100, but a single one does not need them. So it is FULL. (go test
// -bench Append ./session/sqlite measures it.)
var pragmas = []string{
	"busy_timeout(5000)", // first: the others need locks
	"journal_mode(WAL)",
	"synchronous(FULL)",
	"foreign_keys(ON)",
	"cache_size(-8192)", // KiB
	"temp_store(MEMORY)",
	"journal_size_limit(67108864)", // truncate a log that has grown during a long read
}

// The role of a connection.
const (
	// The writer itself waits for other processes: callers may leave in the
	// meantime, and the pauses of SQLite grow so long that a process that writes
	// all the time starves others.
	writerPragma = "PRAGMA busy_timeout = 0"
	readerPragma = "PRAGMA query_only = ON"
)

// patience is how long a call waits for other processes.
const patience = 15 * time.Second

// making guards the creation of files. Closing a file, by any descriptor, releases
// the locks that the process has on it, so only SQLite may open it while SQLite
// uses it.
var making sync.Mutex

// locate creates the file if it does not exist, readable only by its owner, and
// returns its name for SQLite.
func locate(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty")
	}
	making.Lock()
	defer making.Unlock()
	if info, err := os.Stat(path); err == nil && info.IsDir() { //nolint:gosec // the operator says where
		return "", errors.New("it is a directory")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) //nolint:gosec // as above
	switch {
	case err == nil:
		err = f.Close()
	case errors.Is(err, fs.ErrExist):
		err = nil
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("its directory does not exist")
	}
	if err != nil {
		// The message already contains the path.
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	if path = filepath.ToSlash(path); !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	// As a URI, because in a bare path a question mark would end the name.
	options := url.Values{"_pragma": pragmas, "_error_rc": {"1"}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: options.Encode()}).String(), nil
}

// explain describes errors that an operator can act on.
func explain(err error) error {
	switch code(err) {
	case lib.SQLITE_NOTADB:
		return errors.New("the file is not a SQLite database")
	case lib.SQLITE_READONLY:
		return errors.New("the file or its directory cannot be written to")
	case lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("the file cannot be opened; is it, and is its directory, readable and writable? (%w)", err)
	}
	return err
}

// code returns SQLite's code of an error; 0 for other errors.
func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code() & 0xff // the other bits are the extended code
	}
	return 0
}

// isBusy reports whether another process holds a lock.
func isBusy(err error) bool {
	c := code(err)
	return c == lib.SQLITE_BUSY || c == lib.SQLITE_PROTOCOL
}

// conn is a connection with its prepared statements. One goroutine at a time uses
// it.
type conn struct {
	sql *sql.Conn
	// ctx does not end: statements are short, and interrupting them would need a
	// goroutine for each, and would end transactions of other callers.
	ctx             context.Context
	statements      map[string]*sql.Stmt
	addedDeliveries int64           // deliveries that the writer has added
	changed         bool            // since it was reset, a statement that may change something has begun
	epoch           int64           // the last one that the transaction has given out, 0 for none
	grown           []int64         // ordinals of sessions to which the transaction has appended
	spent           []session.Usage // that the transaction stores when it is committed
}

// connect opens a connection. Processes that open a new file concurrently block
// each other when they change its journal mode, and SQLite does not wait in that
// case.
func connect(ctx context.Context, db *sql.DB, pragma string) (*conn, error) {
	var raw *sql.Conn
	err := wait(ctx, func() (err error) {
		raw, err = db.Conn(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &conn{sql: raw, ctx: context.WithoutCancel(ctx), statements: map[string]*sql.Stmt{}}
	mode := ""
	err = c.one("PRAGMA journal_mode", nil, &mode)
	if err == nil && mode != "wal" {
		err = errors.New("there can be no write-ahead log; is it a network file system?")
	}
	if err == nil {
		err = c.exec(pragma)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// wait repeats an operation while another process holds a lock.
func wait(ctx context.Context, do func() error) error {
	for start := time.Now(); ; {
		err := do()
		if !isBusy(err) || time.Since(start) > patience {
			return err
		}
		if err := retry.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

func (c *conn) close() error {
	var err error
	for _, s := range c.statements {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.sql.Close())
}

// maxStatements exceeds the number of statements, except for lists with many
// labels.
const maxStatements = 128

// prepare prepares a statement, once.
func (c *conn) prepare(query string) (*sql.Stmt, error) {
	c.changed = c.changed || !strings.HasPrefix(query, "SELECT ")
	if s := c.statements[query]; s != nil {
		return s, nil
	}
	s, err := c.sql.PrepareContext(c.ctx, query)
	if err == nil {
		for known, old := range c.statements {
			if len(c.statements) < maxStatements {
				break
			}
			_ = old.Close() // it was only kept for later
			delete(c.statements, known)
		}
		c.statements[query] = s
	}
	return s, err
}

// exec runs a statement without a result.
func (c *conn) exec(query string, args ...any) error {
	_, err := c.change(query, args...)
	return err
}

// change is like exec, and returns the result.
func (c *conn) change(query string, args ...any) (sql.Result, error) {
	s, err := c.prepare(query) //nolint:sqlclosecheck // it is kept for the next time
	if err != nil {
		return nil, err
	}
	return s.ExecContext(c.ctx, args...)
}

// one reads one row. It fails with sql.ErrNoRows if there is none.
func (c *conn) one(query string, args []any, into ...any) error {
	s, err := c.prepare(query) //nolint:sqlclosecheck // it is kept for the next time
	if err != nil {
		return err
	}
	return s.QueryRowContext(c.ctx, args...).Scan(into...)
}

// each calls do for every row.
func (c *conn) each(query string, args []any, do func(scan func(...any) error) error) error {
	s, err := c.prepare(query) //nolint:sqlclosecheck // it is kept for the next time
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(c.ctx, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err has reported it already
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// read calls do with a connection in a read transaction. It may call it more than
// once.
func (s *backend) read(ctx context.Context, do func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var c *conn
	select {
	case <-s.closed:
		return errClosed
	default:
	}
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return errClosed
	}
	defer func() { s.readers <- c }()
	return wait(ctx, func() error {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		err := do(c)
		return errors.Join(err, c.exec("ROLLBACK")) // there is nothing to commit
	})
}

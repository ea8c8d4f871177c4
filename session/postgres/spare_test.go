package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// spare has what the many tests of the suites leave to each other, because it takes
// longer to make than most of these tests do: a database, schemas with their tables,
// and connections.
var spare = &leftovers{schemas: map[string][]string{}, pools: map[string][]*pgxpool.Pool{}}

type leftovers struct {
	mu      sync.Mutex
	common  string              // the URL of the database
	schemas map[string][]string // by database, URLs that no test uses
	pairs   []string            // lists of two schemas of that database, among which the slots are divided
	pools   map[string][]*pgxpool.Pool
}

// database returns the database that the suites share.
func (l *leftovers) database(t *testing.T) string {
	t.Helper()
	server := pgtest.Quick(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.common == "" {
		url, err := server.CreateDatabase(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.common = url
	}
	return l.common
}

// empty is a schema that the test has for itself.
func empty(t *testing.T, database string) string {
	t.Helper()
	url, common := spare.schema(database)
	if url == "" {
		url = newSchema(t, database)
	}
	if common {
		spare.keep(url)
	}
	t.Cleanup(func() {
		if !t.Failed() && spare.clear(t, url, sqlClearTables) {
			spare.put(database, url)
		}
	})
	return url
}

// pair returns two schemas of the database that the suites share, and nothing for
// another. The test has them for itself, and must not move slots between them: the next
// one finds them where they are. To place all of them takes longer than most tests do.
func (l *leftovers) pair(t *testing.T, database string) (list string) {
	t.Helper()
	l.mu.Lock()
	common := database == l.common
	if n := len(l.pairs); common && n > 0 {
		list, l.pairs = l.pairs[n-1], l.pairs[:n-1]
	}
	l.mu.Unlock()
	if !common {
		return ""
	}
	if list == "" {
		one, other := newSchema(t, database), newSchema(t, database)
		l.keep(one)
		l.keep(other)
		list = one + "," + other
	}
	t.Cleanup(func() {
		for url := range strings.SplitSeq(list, ",") {
			if t.Failed() || !l.clear(t, url, sqlClearSessions) {
				return
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pairs = append(l.pairs, list)
	})
	return list
}

func newSchema(t *testing.T, database string) (url string) {
	t.Helper()
	schema := fmt.Sprint("schema_", schemas.Add(1))
	sql(t, database, "CREATE SCHEMA "+schema)
	return with(t, database, "search_path", schema)
}

func (l *leftovers) schema(database string) (url string, common bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.schemas[database]; len(list) > 0 {
		url, l.schemas[database] = list[len(list)-1], list[:len(list)-1]
	}
	return url, database == l.common
}

func (l *leftovers) put(database, url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schemas[database] = append(l.schemas[database], url)
}

// keep has the connections to a URL used again.
func (l *leftovers) keep(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.pools[url]; !known {
		l.pools[url] = nil
	}
}

// pool returns connections that no backend has.
func (l *leftovers) pool(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, func(), error) {
	url := config.ConnString()
	pool, keep := l.take(url)
	if pool == nil {
		var err error
		if pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
			return nil, nil, err
		}
	}
	if !keep {
		return pool, pool.Close, nil
	}
	return pool, sync.OnceFunc(func() { l.give(url, pool) }), nil // tests close a store more than once
}

func (l *leftovers) take(url string) (pool *pgxpool.Pool, keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, keep := l.pools[url]
	if n := len(list); n > 0 {
		pool, l.pools[url] = list[n-1], list[:n-1]
	}
	return pool, keep
}

// give takes connections back. Those that are still in use are waited for, as a backend
// does, and many are closed, so that they do not add up.
func (l *leftovers) give(url string, pool *pgxpool.Pool) {
	const most = 4
	if s := pool.Stat(); s.AcquiredConns() > 0 || s.ConstructingConns() > 0 || s.TotalConns() > most {
		pool.Close()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pools[url] = append(l.pools[url], pool)
}

func (l *leftovers) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.pools {
		for _, pool := range list {
			pool.Close()
		}
	}
}

// These delete all rows: sqlClearTables except the version of the schema, and
// sqlClearSessions except also which slots are in which database.
const sqlClear = `DO $$ DECLARE t text; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN (%s) LOOP
		EXECUTE 'DELETE FROM ' || t;
	END LOOP; END $$`

var (
	sqlClearTables   = fmt.Sprintf(sqlClear, "'parley_schema'")
	sqlClearSessions = fmt.Sprintf(sqlClear, "'parley_schema', 'parley_place', 'parley_members', 'parley_slots'")
)

// clear reports whether the tables of a schema are empty now. The server may have been
// stopped by the test.
func (l *leftovers) clear(t *testing.T, url, statement string) bool {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if pool, _ := l.take(url); pool != nil {
		defer l.give(url, pool)
		_, err := pool.Exec(ctx, statement)
		return err == nil
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err == nil
}

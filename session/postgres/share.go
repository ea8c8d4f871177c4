package postgres

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/session"
)

// The app: keys of a state are shared by users in different databases, so every
// database has them. A change is made in the database of the session, in the
// transaction that appends to its log, and copied to the others afterwards. Of two
// changes to one key, the later one wins everywhere, by the clocks of the databases.

const (
	// shareEvery is the interval at which changes are copied that were not copied when
	// they were made.
	shareEvery = 10 * time.Second
	// shareOverlap is how far back these changes are read, because transactions do not
	// end in the order of their times.
	shareOverlap = 10 * time.Minute
	shareBatch   = 1000

	// $1 an application or NULL, $2 to $4 the last row that was read, $5 limit.
	sqlChangedKeys = `SELECT owner, name, value, stamp, digest FROM parley_state
		WHERE stamp IS NOT NULL AND origin IS NULL AND ($1::bytea IS NULL OR owner = $1::bytea)
			AND (stamp, owner, digest) > ($2::timestamptz, $3::bytea, $4::bytea) ORDER BY stamp, owner, digest LIMIT $5::bigint`

	// $5 the number of the database that they come from, $6 that of this one. Rows are
	// locked in the order of putState.
	sqlCopyKeys = `INSERT INTO parley_state AS t (owner, name, value, stamp, origin)
		SELECT u.owner, u.name, u.value, u.stamp, $5::integer
		FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::timestamptz[]) AS u (owner, name, value, stamp) ORDER BY u.owner, u.name
		ON CONFLICT (owner, digest) DO UPDATE SET value = excluded.value, stamp = excluded.stamp, origin = excluded.origin
		WHERE t.stamp IS NULL OR (excluded.stamp, excluded.origin) > (t.stamp, coalesce(t.origin, $6::integer))`
)

// changedKeys are app: keys that were changed in one database, in the order of their
// times.
type changedKeys struct {
	owners, names, values, digests [][]byte
	stamps                         []time.Time
}

// changedSince returns some app: keys that were changed in this database after the last
// of the given ones; those of one application, or of all if it is nil.
func (s *backend) changedSince(ctx context.Context, app []byte, stamp time.Time, owner, digest []byte) (keys *changedKeys, err error) {
	err = s.read(ctx, "reading the state of applications", func(ctx context.Context, conn *pgxpool.Conn) error {
		keys = &changedKeys{}
		rows, err := conn.Query(ctx, sqlChangedKeys, app, stamp, owner, digest, shareBatch)
		if err != nil {
			return err
		}
		var owner, name, value, digest []byte
		var stamp time.Time
		_, err = pgx.ForEachRow(rows, []any{&owner, &name, &value, &stamp, &digest}, func() error {
			keys.owners, keys.names, keys.values = append(keys.owners, owner), append(keys.names, name), append(keys.values, value)
			keys.stamps, keys.digests = append(keys.stamps, stamp), append(keys.digests, digest)
			owner, name, value, digest = nil, nil, nil, nil
			return nil
		})
		return err
	})
	return keys, err
}

// copyKeys copies app: keys that were changed since a time from one database to
// another, and returns the time of the last one.
func copyKeys(ctx context.Context, from, to *backend, app []byte, since time.Time) (time.Time, error) {
	owner, digest := []byte{}, []byte{}
	for {
		keys, err := from.changedSince(ctx, app, since, owner, digest)
		if err != nil || len(keys.names) == 0 {
			return since, err
		}
		err = to.write(ctx, "storing the state of applications", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
			_, err := conn.Exec(ctx, sqlCopyKeys, keys.owners, keys.names, keys.values, keys.stamps, from.member.number, to.member.number)
			return err
		})
		if err != nil {
			return since, err
		}
		last := len(keys.names) - 1
		since, owner, digest = keys.stamps[last], keys.owners[last], keys.digests[last]
		if last+1 < shareBatch {
			return since, nil
		}
	}
}

// changesApp reports whether a state or entries have app: keys.
func changesApp(state session.State, entries []*session.Entry) bool {
	has := func(delta session.State) bool {
		for k := range delta {
			if session.ScopeOf(k) == session.ScopeApp {
				return true
			}
		}
		return false
	}
	if has(state) {
		return true
	}
	for _, e := range entries {
		if ev, err := e.Decode(); err == nil && has(ev.Actions.StateDelta) {
			return true
		}
	}
	return false
}

// share copies the app: keys that a call has just changed to the other databases, so
// that callers see them there. What cannot be copied now is copied later.
func (m *many) share(ctx context.Context, key session.Key, state session.State, entries []*session.Entry) {
	if !changesApp(state, entries) {
		return
	}
	from, err := m.home(slotOf(key))
	if err != nil {
		return
	}
	app := key.AppDigest()
	ask(context.WithoutCancel(ctx), m, m.wait, func(ctx context.Context, to *backend) (struct{}, error) {
		if to == from {
			return struct{}{}, nil
		}
		_, err := copyKeys(ctx, from, to, app[:], time.Time{})
		return struct{}{}, err
	})
}

// shareAlways copies all changes to app: keys, until ctx is done.
func (m *many) shareAlways(ctx context.Context) {
	type pair struct{ from, to *backend }
	copied := map[pair]time.Time{}
	for {
		for _, from := range m.members {
			for _, to := range m.members {
				if from == to || from.outage(false) != nil || to.outage(true) != nil {
					continue
				}
				since := copied[pair{from, to}]
				if !since.IsZero() {
					since = since.Add(-shareOverlap)
				}
				last, err := copyKeys(ctx, from, to, nil, since)
				if err != nil && ctx.Err() == nil {
					from.log.LogAttrs(ctx, slog.LevelWarn, "could not copy the state of applications to another database; trying again",
						slog.String("from", from.member.name), slog.String("to", to.member.name), slog.Any("err", err))
				}
				if last.After(copied[pair{from, to}]) {
					copied[pair{from, to}] = last
				}
			}
		}
		if retry.Sleep(ctx, shareEvery) != nil {
			return
		}
	}
}

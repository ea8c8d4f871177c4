package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	scheduleColumns = `x.app, x.usr, x.id, x.version, x.created, x.next, x.json`

	// $1 owner, $2 id.
	sqlSchedule = `SELECT ` + scheduleColumns + `, x.nonce FROM parley_schedules x WHERE x.owner = $1::bytea AND x.id = $2::text`

	// $3 next, $4 json, $5 nonce, $6 application, $7 user.
	sqlNewSchedule = `INSERT INTO parley_schedules (owner, id, next, due, json, nonce, app, usr, version, created)
		VALUES ($1::bytea, $2::text, $3::timestamptz, $3::timestamptz, $4::bytea, $5::bigint, $6::text, $7::text, nextval('parley_numbers'), clock_timestamp())
		ON CONFLICT DO NOTHING RETURNING version, created`

	// $6 the version to replace.
	sqlNextSchedule = `UPDATE parley_schedules SET next = $3::timestamptz, due = $3::timestamptz, json = $4::bytea, nonce = $5::bigint, attempt = 0,
			version = nextval('parley_numbers')
		WHERE owner = $1::bytea AND id = $2::text AND version = $6::bigint RETURNING version, created`

	sqlSchedules = `SELECT ` + scheduleColumns + `, x.nonce FROM parley_schedules x WHERE x.owner = $1::bytea ORDER BY x.id`

	sqlDropSchedule = `DELETE FROM parley_schedules WHERE owner = $1::bytea AND id = $2::text`

	// $1 lease, $2 limit.
	// Many may be due at the same time: no order among them, which would sort them all.
	sqlClaimSchedules = `WITH c AS (
			SELECT owner, id FROM parley_schedules WHERE due <= now() ORDER BY due LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
		UPDATE parley_schedules x SET attempt = x.attempt + 1, due = clock_timestamp() + $1::bigint * interval '1 microsecond'
		FROM c WHERE x.owner = c.owner AND x.id = c.id
		RETURNING ` + scheduleColumns + `, x.attempt, clock_timestamp()`

	// $3 version, $4 attempt, $5 next: those of the claim.
	claimedSchedule = `owner = $1::bytea AND id = $2::text AND version = $3::bigint AND attempt = $4::integer AND next = $5::timestamptz`

	// The firings that there are when another one is added: the statement does not see
	// the one that it adds. $1 owner, $2 id.
	oldFirings = `DELETE FROM parley_firings WHERE owner = $1::bytea AND schedule = $2::text AND time < (
			SELECT time FROM parley_firings WHERE owner = $1::bytea AND schedule = $2::text ORDER BY time DESC OFFSET 98 LIMIT 1)`

	// $6 the new next, $7 the time of the firing or NULL, $8 its JSON.
	sqlFire = `WITH s AS (UPDATE parley_schedules SET next = $6::timestamptz, due = $6::timestamptz, attempt = 0 WHERE ` + claimedSchedule + ` RETURNING owner, id),
		old AS (` + oldFirings + ` AND EXISTS (SELECT FROM s)),
		f AS (INSERT INTO parley_firings (owner, schedule, time, json) SELECT owner, id, $7::timestamptz, $8::bytea FROM s
			WHERE $7::timestamptz IS NOT NULL ON CONFLICT DO NOTHING)
		SELECT id FROM s`

	// Whether an earlier attempt of sqlFire has taken effect.
	sqlFired = `SELECT id FROM parley_schedules WHERE owner = $1::bytea AND id = $2::text AND version = $3::bigint AND attempt = 0 AND next IS NOT DISTINCT FROM $4::timestamptz`

	// $6 the time to wait.
	sqlRetrySchedule = `UPDATE parley_schedules SET due = clock_timestamp() + $6::bigint * interval '1 microsecond' WHERE ` + claimedSchedule

	// $3 time, $4 json.
	sqlAddFiring = `WITH s AS (SELECT owner, id FROM parley_schedules WHERE owner = $1::bytea AND id = $2::text FOR SHARE),
		old AS (` + oldFirings + ` AND EXISTS (SELECT FROM s)),
		f AS (INSERT INTO parley_firings (owner, schedule, time, json) SELECT owner, id, $3::timestamptz, $4::bytea FROM s ON CONFLICT DO NOTHING)
		SELECT id FROM s`

	sqlFirings = `SELECT time, json FROM parley_firings WHERE owner = $1::bytea AND schedule = $2::text ORDER BY time DESC LIMIT $3::bigint`
)

var _ session.Schedules = (*backend)(nil)

// scheduleArgs returns the first two parameters.
func scheduleArgs(app, user, id string) []any {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	return []any{owner[:], wellFormed(id)}
}

// instant returns a time as a parameter: NULL for the zero time.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

func scanSchedule(row pgx.CollectableRow, s *session.Schedule, more ...any) error {
	var next *time.Time
	err := row.Scan(append([]any{&s.App, &s.User, &s.ID, &s.Version, &s.Created, &next, &s.JSON}, more...)...)
	if next != nil {
		s.Next = *next
	}
	return err
}

func readSchedule(ctx context.Context, conn *pgxpool.Conn, app, user, id string) (found *session.Schedule, mark int64, err error) {
	rows, err := conn.Query(ctx, sqlSchedule, scheduleArgs(app, user, id)...)
	if err != nil {
		return nil, 0, err
	}
	found, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (*session.Schedule, error) {
		s := &session.Schedule{}
		return s, scanSchedule(row, s, &mark)
	})
	if none(err) {
		return nil, 0, session.ErrNotFound
	}
	return found, mark, err
}

// Clock implements session.Schedules.
func (s *backend) Clock(ctx context.Context, _, _ string) (now time.Time, err error) {
	err = s.read(ctx, "reading the clock", func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	})
	return now, err
}

// PutSchedule implements session.Schedules.
func (s *backend) PutSchedule(ctx context.Context, put *session.Schedule) error {
	mark := nonceOf(ctx)
	args := append(scheduleArgs(put.App, put.User, put.ID), instant(put.Next), put.JSON, mark)
	return s.write(ctx, "storing a schedule", func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		done := func() bool { // an earlier attempt has taken effect
			if !again {
				return false
			}
			there, theirs, err := readSchedule(ctx, conn, put.App, put.User, put.ID)
			if err != nil || theirs != mark {
				return false
			}
			put.Version, put.Created = there.Version, there.Created
			return true
		}
		if done() {
			return nil
		}
		err := storeSchedule(ctx, conn, put, args)
		if (errors.Is(err, session.ErrChanged) || errors.Is(err, session.ErrExists)) && done() {
			return nil // it was not over before, and the statement has waited for it
		}
		return err
	})
}

// storeSchedule stores a schedule in place of its version, or as a new one.
func storeSchedule(ctx context.Context, conn *pgxpool.Conn, put *session.Schedule, args []any) error {
	if put.Version != 0 {
		err := conn.QueryRow(ctx, sqlNextSchedule, append(args, put.Version)...).Scan(&put.Version, &put.Created)
		if none(err) {
			if _, _, err := readSchedule(ctx, conn, put.App, put.User, put.ID); err != nil {
				return err
			}
			return session.ErrChanged
		}
		return err
	}
	// Nothing else shows that the user is in this database.
	return transact(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlShareSlot, slotLock, slotOf(put.Key())); err != nil {
			return err
		}
		if err := elsewhere(ctx, tx, put.Key()); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, sqlNewSchedule, append(args, put.App, put.User)...).Scan(&put.Version, &put.Created)
		if none(err) {
			return session.ErrExists
		}
		return err
	})
}

// Schedule implements session.Schedules.
func (s *backend) Schedule(ctx context.Context, app, user, id string) (found *session.Schedule, err error) {
	err = s.read(ctx, "reading a schedule", func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		found, _, err = readSchedule(ctx, conn, app, user, id)
		return err
	})
	return found, err
}

// ListSchedules implements session.Schedules.
func (s *backend) ListSchedules(ctx context.Context, app, user string) (list []*session.Schedule, err error) {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	err = s.read(ctx, "listing schedules", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlSchedules, owner[:])
		if err != nil {
			return err
		}
		var mark int64
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.Schedule, error) {
			one := &session.Schedule{}
			return one, scanSchedule(row, one, &mark)
		})
		return err
	})
	return list, err
}

// DeleteSchedule implements session.Schedules.
func (s *backend) DeleteSchedule(ctx context.Context, app, user, id string) error {
	return s.deliver(ctx, "deleting a schedule", sqlDropSchedule, scheduleArgs(app, user, id)...)
}

// ClaimSchedules implements session.Schedules. If the response is lost, the schedules
// are claimed again when the lease has expired.
func (s *backend) ClaimSchedules(ctx context.Context, lease time.Duration, limit int) (list []*session.DueSchedule, err error) {
	err = s.write(ctx, "claiming schedules", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		rows, err := conn.Query(ctx, sqlClaimSchedules, micros(lease), int64(max(limit, 0)))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.DueSchedule, error) {
			d := &session.DueSchedule{}
			return d, scanSchedule(row, &d.Schedule, &d.Attempt, &d.Now)
		})
		return err
	})
	return list, err
}

// Fire implements session.Schedules.
func (s *backend) Fire(ctx context.Context, d *session.DueSchedule, next time.Time, f *session.Firing) error {
	args := append(scheduleArgs(d.App, d.User, d.ID), d.Version, d.Attempt, d.Next, instant(next), nil, nil)
	if f != nil {
		args[6], args[7] = f.Time, f.JSON
	}
	return s.write(ctx, "storing a firing", func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		var id string
		err := conn.QueryRow(ctx, sqlFire, args...).Scan(&id)
		if none(err) && again {
			err = conn.QueryRow(ctx, sqlFired, args[0], args[1], d.Version, args[5]).Scan(&id)
		}
		if none(err) {
			return session.ErrFenced
		}
		return err
	})
}

// RetrySchedule implements session.Schedules.
func (s *backend) RetrySchedule(ctx context.Context, d *session.DueSchedule, after time.Duration) error {
	return s.deliver(ctx, "delaying a schedule", sqlRetrySchedule,
		append(scheduleArgs(d.App, d.User, d.ID), d.Version, d.Attempt, d.Next, micros(after))...)
}

// AddFiring implements session.Schedules.
func (s *backend) AddFiring(ctx context.Context, app, user, id string, f *session.Firing) error {
	return s.write(ctx, "storing a firing", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		var there string
		err := conn.QueryRow(ctx, sqlAddFiring, append(scheduleArgs(app, user, id), f.Time, f.JSON)...).Scan(&there)
		if none(err) {
			return session.ErrNotFound
		}
		return err
	})
}

// Firings implements session.Schedules.
func (s *backend) Firings(ctx context.Context, app, user, id string) (list []*session.Firing, err error) {
	err = s.read(ctx, "listing firings", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlFirings, append(scheduleArgs(app, user, id), session.MaxFirings)...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.Firing, error) {
			f := &session.Firing{}
			return f, row.Scan(&f.Time, &f.JSON)
		})
		return err
	})
	return list, err
}

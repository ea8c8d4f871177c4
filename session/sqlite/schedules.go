package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/parley-run/parley/session"
)

var _ session.Schedules = (*backend)(nil)

const scheduleColumns = "app, user, id, version, created, next, attempt, json"

// ownerOf returns what identifies a user.
func ownerOf(app, user string) []byte {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	return owner[:]
}

// instant returns a time as it is stored: NULL for the zero time.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return nanos(t)
}

// schedules reads the schedules that the rest of a query selects.
func (c *conn) schedules(rest string, args ...any) ([]*session.DueSchedule, error) {
	list := []*session.DueSchedule{}
	err := c.each("SELECT "+scheduleColumns+" FROM schedules "+rest, args, func(scan func(...any) error) error {
		d := &session.DueSchedule{}
		var created int64
		var next sql.NullInt64
		err := scan(&d.App, &d.User, &d.ID, &d.Version, &created, &next, &d.Attempt, &d.JSON)
		d.Created = moment(created)
		if next.Valid {
			d.Next = time.Unix(0, next.Int64)
		}
		list = append(list, d)
		return err
	})
	return list, err
}

// schedule reads a schedule.
func (c *conn) schedule(app, user, id string) (*session.Schedule, error) {
	list, err := c.schedules("WHERE owner = ? AND id = ?", ownerOf(app, user), id)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, session.ErrNotFound
	}
	return &list[0].Schedule, nil
}

// Clock implements session.Schedules.
func (s *backend) Clock(context.Context, string, string) (time.Time, error) {
	return moment(now()), nil
}

// PutSchedule implements session.Schedules.
func (s *backend) PutSchedule(ctx context.Context, put *session.Schedule) error {
	stored := *put
	err := s.write(ctx, func(c *conn) error {
		stored = *put
		there, err := c.schedule(put.App, put.User, put.ID)
		switch {
		case errors.Is(err, session.ErrNotFound) && put.Version == 0:
			stored.Created = moment(now())
		case err != nil:
			return err
		case put.Version == 0:
			return session.ErrExists
		case put.Version != there.Version:
			return session.ErrChanged
		default:
			stored.Created = there.Created
		}
		// A schedule that is deleted and created again has another version.
		stored.Version = max(put.Version+1, now())
		return c.exec(`INSERT INTO schedules (owner, app, user, id, version, created, next, due, json) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8)
			ON CONFLICT (owner, id) DO UPDATE SET version = ?5, next = ?7, due = ?7, attempt = 0, json = ?8`,
			ownerOf(put.App, put.User), put.App, put.User, put.ID, stored.Version, nanos(stored.Created), instant(put.Next), put.JSON)
	})
	if err != nil {
		return fmt.Errorf("store schedule: %w", err)
	}
	*put = stored
	return nil
}

// Schedule implements session.Schedules.
func (s *backend) Schedule(ctx context.Context, app, user, id string) (found *session.Schedule, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		found, err = c.schedule(app, user, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read schedule: %w", err)
	}
	return found, nil
}

// ListSchedules implements session.Schedules.
func (s *backend) ListSchedules(ctx context.Context, app, user string) ([]*session.Schedule, error) {
	var list []*session.Schedule
	err := s.read(ctx, func(c *conn) error {
		found, err := c.schedules("WHERE owner = ? ORDER BY id", ownerOf(app, user))
		list = []*session.Schedule{}
		for _, d := range found {
			list = append(list, &d.Schedule)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	return list, nil
}

// DeleteSchedule implements session.Schedules.
func (s *backend) DeleteSchedule(ctx context.Context, app, user, id string) error {
	err := s.write(ctx, func(c *conn) error {
		return c.exec("DELETE FROM schedules WHERE owner = ? AND id = ?", ownerOf(app, user), id)
	})
	if err != nil {
		return fmt.Errorf("delete schedule: %w", err)
	}
	return nil
}

// ClaimSchedules implements session.Schedules. Most of the time there are none, which
// needs no transaction of the writer.
func (s *backend) ClaimSchedules(ctx context.Context, lease time.Duration, limit int) ([]*session.DueSchedule, error) {
	// Many may be due at the same time: no order among them, which would sort them all.
	const due = "WHERE due <= ? ORDER BY due LIMIT ?"
	var list []*session.DueSchedule
	err := s.read(ctx, func(c *conn) (err error) {
		list, err = c.schedules(due, now(), 1)
		return err
	})
	if err == nil && len(list) > 0 {
		err = s.write(ctx, func(c *conn) (err error) {
			at := now()
			if list, err = c.schedules(due, at, max(limit, 0)); err != nil {
				return err
			}
			for _, d := range list {
				d.Attempt++
				d.Now = moment(at)
				if err := c.exec("UPDATE schedules SET attempt = ?, due = ? WHERE owner = ? AND id = ?", d.Attempt, at+int64(lease), ownerOf(d.App, d.User), d.ID); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("claim schedules: %w", err)
	}
	return list, nil
}

// claimedSchedule selects the schedule of a claim that has not ended.
const claimedSchedule = " WHERE owner = ? AND id = ? AND version = ? AND attempt = ? AND next = ?"

// Fire implements session.Schedules.
func (s *backend) Fire(ctx context.Context, d *session.DueSchedule, next time.Time, f *session.Firing) error {
	err := s.write(ctx, func(c *conn) error {
		owner := ownerOf(d.App, d.User)
		n, err := c.count("UPDATE schedules SET next = ?, due = ?, attempt = 0"+claimedSchedule,
			instant(next), instant(next), owner, d.ID, d.Version, d.Attempt, nanos(d.Next))
		if err != nil {
			return err
		}
		if n == 0 {
			return session.ErrFenced
		}
		if f == nil {
			return nil
		}
		return c.addFiring(owner, d.ID, f)
	})
	if err != nil {
		return fmt.Errorf("store firing: %w", err)
	}
	return nil
}

// addFiring adds a firing, and deletes old ones.
func (c *conn) addFiring(owner []byte, id string, f *session.Firing) error {
	if err := c.exec("INSERT INTO firings (owner, schedule, time, json) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", owner, id, nanos(f.Time), f.JSON); err != nil {
		return err
	}
	return c.exec(`DELETE FROM firings WHERE owner = ?1 AND schedule = ?2 AND time < (
		SELECT time FROM firings WHERE owner = ?1 AND schedule = ?2 ORDER BY time DESC LIMIT 1 OFFSET ?3)`, owner, id, session.MaxFirings-1)
}

// RetrySchedule implements session.Schedules.
func (s *backend) RetrySchedule(ctx context.Context, d *session.DueSchedule, after time.Duration) error {
	err := s.write(ctx, func(c *conn) error {
		return c.exec("UPDATE schedules SET due = ?"+claimedSchedule, now()+int64(after), ownerOf(d.App, d.User), d.ID, d.Version, d.Attempt, nanos(d.Next))
	})
	if err != nil {
		return fmt.Errorf("delay schedule: %w", err)
	}
	return nil
}

// AddFiring implements session.Schedules.
func (s *backend) AddFiring(ctx context.Context, app, user, id string, f *session.Firing) error {
	err := s.write(ctx, func(c *conn) error {
		if _, err := c.schedule(app, user, id); err != nil {
			return err
		}
		return c.addFiring(ownerOf(app, user), id, f)
	})
	if err != nil {
		return fmt.Errorf("store firing: %w", err)
	}
	return nil
}

// Firings implements session.Schedules.
func (s *backend) Firings(ctx context.Context, app, user, id string) ([]*session.Firing, error) {
	var list []*session.Firing
	err := s.read(ctx, func(c *conn) error {
		list = []*session.Firing{}
		return c.each("SELECT time, json FROM firings WHERE owner = ? AND schedule = ? ORDER BY time DESC", []any{ownerOf(app, user), id}, func(scan func(...any) error) error {
			f := &session.Firing{}
			var at int64
			err := scan(&at, &f.JSON)
			f.Time = moment(at)
			list = append(list, f)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list firings: %w", err)
	}
	return list, nil
}

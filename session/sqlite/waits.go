package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/parley-run/parley/session"
)

// Waits implements session.Upkeep.
func (s *backend) Waits(ctx context.Context, age time.Duration, after *session.Run, limit int) ([]*session.Run, error) {
	ended, number := int64(math.MinInt64), int64(0)
	if after != nil {
		ended, number = stamp(after.Ended), after.Number
	}
	var runs []*session.Run
	err := s.read(ctx, func(c *conn) error {
		runs = nil
		var key session.Key
		return c.each("SELECT "+runColumns+`, (SELECT app FROM sessions WHERE ordinal = session), (SELECT user FROM sessions WHERE ordinal = session),
			(SELECT sessions.id FROM sessions WHERE ordinal = session) FROM runs
			WHERE status = 'waiting' AND (ended, number) > (?, ?) AND ended < ? AND NOT EXISTS (
				SELECT 1 FROM runs AS later WHERE later.session = runs.session AND later.resumes = runs.id AND later.status IN ('completed', 'waiting'))
			ORDER BY ended, number LIMIT ?`,
			[]any{ended, number, now() - int64(age), limit}, func(scan func(...any) error) error {
				run, err := scanRun(key, scan, &key.App, &key.User, &key.ID)
				if err == nil {
					run.Key = key
					runs = append(runs, run)
				}
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("find waits: %w", err)
	}
	return runs, nil
}

// ListWaiting implements session.Inbox. A query for a user goes from the user's sessions
// to their waits, and any other one from the waits in their order to their sessions.
func (s *backend) ListWaiting(ctx context.Context, q session.WaitQuery, page session.Page) ([]*session.Run, string, error) {
	after, number, err := page.AfterWait()
	if err != nil {
		return nil, "", err
	}
	ended := int64(math.MinInt64)
	if !after.IsZero() {
		ended = stamp(after)
	}
	query := "SELECT " + runColumns + `, (SELECT app FROM sessions WHERE ordinal = session), (SELECT user FROM sessions WHERE ordinal = session),
		(SELECT sessions.id FROM sessions WHERE ordinal = session) FROM runs INDEXED BY `
	var args []any
	if q.User != "" {
		owner := session.Key{App: q.App, User: q.User}.OwnerDigest()
		query += "runs_waiting_of WHERE session IN (SELECT ordinal FROM sessions WHERE sessions.owner = ? AND hidden = 0)"
		args = append(args, owner[:])
	} else {
		query += "runs_waiting WHERE EXISTS (SELECT 1 FROM sessions WHERE ordinal = session AND hidden = 0 AND (? = '' OR app = ?))"
		args = append(args, q.App, q.App)
	}
	query += " AND status = 'waiting' AND (ended, number) > (?, ?) AND ended <= ? ORDER BY ended, number LIMIT ?"
	args = append(args, ended, number, now()-int64(q.Age), page.Limit())
	var runs []*session.Run
	err = s.read(ctx, func(c *conn) error {
		runs = []*session.Run{}
		return c.each(query, args, func(scan func(...any) error) error {
			var key session.Key
			run, err := scanRun(key, scan, &key.App, &key.User, &key.ID)
			if err == nil {
				run.Key = key
				runs = append(runs, run)
			}
			return err
		})
	})
	if err != nil {
		return nil, "", fmt.Errorf("list waits: %w", err)
	}
	runs, next := session.CutWaiting(&page, runs)
	return runs, next, nil
}

// settle changes the waits of ended runs.
func (c *conn) settle(ordinal int64, changes []session.Settled) error {
	for _, change := range changes {
		err := c.exec("UPDATE runs SET status = ?, resumed_by = ? WHERE session = ? AND id = ? AND (status = 'waiting' OR resumed_by <> '')",
			string(change.Status), change.By, ordinal, change.Run)
		if err != nil {
			return err
		}
	}
	return nil
}

// Expire implements session.Upkeep.
func (s *backend) Expire(ctx context.Context, key session.Key, seq int64, runs []string, failure *session.Failure, entries ...*session.Entry) error {
	text, err := json.Marshal(failure)
	if err != nil {
		return fmt.Errorf("end waits: %w", err)
	}
	p := newPage(entries)
	err = s.writeDeliveries(ctx, func(c *conn) error {
		r, err := c.find(key)
		if err != nil {
			return err
		}
		_, _, err = c.open(r)
		switch {
		case err == nil || r.seq != seq:
			return session.ErrFenced
		case !errors.Is(err, session.ErrRunNotFound):
			return err
		}
		if err := c.append(r, p); err != nil {
			return err
		}
		if err := c.save(r); err != nil {
			return err
		}
		for _, id := range runs {
			waited, err := c.count("UPDATE runs SET status = ?, failure = ?, last = ?, ended = ? WHERE session = ? AND id = ? AND status = 'waiting'",
				string(failure.Status()), text, r.seq, now(), r.ordinal, id)
			if err != nil {
				return err
			}
			if waited == 0 {
				continue
			}
			if err := c.addDeliveries(r.ordinal, id, failure.Status(), ""); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("end waits: %w", err)
	}
	p.number(seq)
	return nil
}

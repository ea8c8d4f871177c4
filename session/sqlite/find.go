package sqlite

import (
	"context"
	"fmt"

	"github.com/parley-run/parley/session"
)

// Run implements session.Runs.
func (s *backend) Run(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	var run *session.Run
	err := s.read(ctx, func(c *conn) error {
		r, err := c.find(key)
		if err != nil {
			return err
		}
		run, err = c.run(key, " FROM runs WHERE session = ? AND id = ?", []any{r.ordinal, id})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return run, nil
}

// ListRuns implements session.Runs.
func (s *backend) ListRuns(ctx context.Context, key session.Key, page session.Page) ([]*session.Run, string, error) {
	from, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	runs := []*session.Run{}
	next := ""
	err = s.read(ctx, func(c *conn) error {
		r, err := c.find(key)
		if err != nil {
			return err
		}
		runs = runs[:0]
		err = c.each("SELECT "+runColumns+" FROM runs WHERE session = ? AND number < ? ORDER BY number DESC LIMIT ?",
			[]any{r.ordinal, from, page.Limit()}, func(scan func(...any) error) error {
				run, err := scanRun(key, scan)
				runs = append(runs, run)
				return err
			})
		runs, next = session.Cut(&page, runs, func(r *session.Run) int64 { return r.Number })
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	return runs, next, nil
}

// sqlRecent selects the newest runs of the newest sessions of a user that have any.
const sqlRecent = `WITH newest AS (SELECT ordinal, id AS name FROM sessions WHERE sessions.owner = ? AND hidden = 0
		AND EXISTS (SELECT 1 FROM runs AS own WHERE own.session = ordinal) ORDER BY ordinal DESC LIMIT ?)
	SELECT ` + runColumns + `, name FROM newest CROSS JOIN runs ON session = newest.ordinal
	WHERE number >= coalesce((SELECT r.number FROM runs AS r WHERE r.session = newest.ordinal ORDER BY r.number DESC LIMIT 1 OFFSET ?), 0)
	ORDER BY number DESC`

// RecentRuns implements session.Runs.
func (s *backend) RecentRuns(ctx context.Context, app, user string, sessions, each int) ([]*session.Run, error) {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	runs := []*session.Run{}
	err := s.read(ctx, func(c *conn) error {
		runs = runs[:0]
		return c.each(sqlRecent, []any{owner[:], max(sessions, 0), max(each, 1) - 1}, func(scan func(...any) error) error {
			var id string
			run, err := scanRun(session.Key{}, scan, &id)
			if err != nil {
				return err
			}
			run.Key = session.Key{App: app, User: user, ID: id}
			runs = append(runs, run)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list recent runs: %w", err)
	}
	return runs, nil
}

// Idle implements session.Leases. The sessions that have waited longest come first.
func (s *backend) Idle(ctx context.Context, limit int) ([]session.Key, error) {
	var keys []session.Key
	err := s.read(ctx, func(c *conn) error {
		keys = nil
		at := now()
		return c.each(`SELECT app, user, sessions.id FROM runs JOIN sessions ON ordinal = session
			WHERE status IN ('queued', 'running') AND CASE status WHEN 'running' THEN lease NOT BETWEEN ? AND ? ELSE active IS NULL END
			GROUP BY session ORDER BY min(number) LIMIT ?`,
			[]any{at + 1, at + int64(session.MaxLease), max(limit, 0)}, func(scan func(...any) error) error {
				var key session.Key
				err := scan(&key.App, &key.User, &key.ID)
				keys = append(keys, key)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("find idle runs: %w", err)
	}
	return keys, nil
}

// CountQueued implements session.Runs.
func (s *backend) CountQueued(ctx context.Context) (count int64, err error) {
	err = s.read(ctx, func(c *conn) error {
		// The condition matches the index of open runs.
		return c.one(`SELECT count(*) FROM runs WHERE status IN ('queued', 'running') AND status = 'queued'`, nil, &count)
	})
	if err != nil {
		return 0, fmt.Errorf("count queued runs: %w", err)
	}
	return count, nil
}

package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/parley-run/parley/session"
)

var _ session.RunLister = (*backend)(nil)

// FindRuns implements session.RunLister. It reads a page of each status, from an index.
func (s *backend) FindRuns(ctx context.Context, q session.RunQuery, page session.Page) ([]*session.Run, string, error) {
	created, number, err := page.BeforeRun()
	if err != nil {
		return nil, "", err
	}
	if len(q.Wanted()) == 0 {
		return []*session.Run{}, "", nil
	}
	query, args := findRunsQuery(&q, nanos(created), number, page.Limit())
	var runs []*session.Run
	err = s.read(ctx, func(c *conn) error {
		runs = []*session.Run{}
		return c.each(query, args, func(scan func(...any) error) error {
			var key session.Key
			run, err := scanRun(session.Key{}, scan, &key.App, &key.User, &key.ID)
			if err != nil {
				return err
			}
			run.Key = key
			runs = append(runs, run)
			return nil
		})
	})
	if err != nil {
		return nil, "", fmt.Errorf("list the runs of all sessions: %w", err)
	}
	runs, next := session.CutRuns(&page, runs)
	return runs, next, nil
}

// findRunsQuery selects the first runs of each status after a place in the list.
func findRunsQuery(q *session.RunQuery, created, number, limit int64) (query string, args []any) {
	of, value := "list_app", any(q.App)
	if q.User != "" {
		owner := session.Key{App: q.App, User: q.User}.OwnerDigest()
		of, value = "list_user", owner[:]
	}
	var parts []string
	for _, status := range q.Wanted() {
		// The condition of the index has to be there literally. Those that have not ended
		// are found among all of them.
		active := "NOT IN"
		if !status.Ended() {
			active = "IN"
		}
		parts = append(parts, `SELECT * FROM (SELECT number AS found FROM runs WHERE list_app <> '' AND status `+active+` ('queued', 'running') AND `+of+` = ? AND status = ?
			AND (created, number) < (?, ?) ORDER BY created DESC, number DESC LIMIT ?)`)
		args = append(args, value, string(status), created, number, limit)
	}
	return "SELECT " + runColumns + ", s.app, s.user, s.name FROM (" + strings.Join(parts, " UNION ALL ") + `)
		CROSS JOIN runs ON runs.number = found CROSS JOIN (SELECT ordinal, app, user, id AS name FROM sessions) AS s ON s.ordinal = runs.session`, args
}

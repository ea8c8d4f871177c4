package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	// A page of each status is read from an index, and sorted by the caller; those that
	// have not ended are found among all of them. $1 application or owner, $2 statuses,
	// $3 and $4 the creation and the number of the last run of the page before, $5 limit.
	// LIMIT 1 keeps the planner, which does not know the limit, from reading all sessions.
	sqlFindRunsOfApp  = findEnded + findRunsOfApp + ` AND r.status = w.status` + findRunsNext + ` UNION ALL ` + findActive + findRunsOfApp + findRunsNext
	sqlFindRunsOfUser = findEnded + findRunsOfUser + ` AND r.status = w.status` + findRunsNext + ` UNION ALL ` + findActive + findRunsOfUser + findRunsNext

	findRunsOfApp  = `r.list_app = $1::text`
	findRunsOfUser = `r.list_user = $1::bytea`

	findRunsColumns = `SELECT s.app, s.usr, s.id, ` + runColumns + ` FROM `
	findEnded       = findRunsColumns + `unnest($2::text[]) AS w (status)
		CROSS JOIN LATERAL (SELECT * FROM parley_runs AS r WHERE r.list_app <> '' AND r.status NOT IN ('queued', 'running') AND `
	findActive = findRunsColumns + `(SELECT * FROM parley_runs AS r
			WHERE r.list_app <> '' AND r.status IN ('queued', 'running') AND r.status = ANY ($2::text[]) AND `
	findRunsNext = ` AND (r.created, r.number) < ($3::timestamptz, $4::bigint)
			ORDER BY r.created DESC, r.number DESC LIMIT $5::bigint) AS r
		CROSS JOIN LATERAL (SELECT app, usr, id FROM parley_sessions WHERE ordinal = r.session LIMIT 1) AS s`
)

var (
	_ session.RunLister = (*backend)(nil)
	_ session.RunLister = (*many)(nil)
)

// FindRuns implements session.RunLister.
func (s *backend) FindRuns(ctx context.Context, q session.RunQuery, page session.Page) ([]*session.Run, string, error) {
	created, number, err := page.BeforeRun()
	if err != nil {
		return nil, "", err
	}
	runs, err := s.findRuns(ctx, &q, created, number, page.Limit())
	if err != nil {
		return nil, "", err
	}
	runs, next := session.CutRuns(&page, runs)
	return runs, next, nil
}

func (s *backend) findRuns(ctx context.Context, q *session.RunQuery, created time.Time, number, limit int64) (runs []*session.Run, err error) {
	statement, of := sqlFindRunsOfApp, any(wellFormed(q.App))
	if q.User != "" {
		owner := session.Key{App: q.App, User: q.User}.OwnerDigest()
		statement, of = sqlFindRunsOfUser, owner[:]
	}
	var statuses []string
	for _, one := range q.Wanted() {
		statuses = append(statuses, string(one))
	}
	err = s.read(ctx, "listing runs", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, statement, of, statuses, created, number, limit)
		if err != nil {
			return err
		}
		runs, err = collectRuns(rows)
		return err
	})
	return runs, err
}

// FindRuns implements session.RunLister.
func (m *many) FindRuns(ctx context.Context, q session.RunQuery, page session.Page) ([]*session.Run, string, error) {
	if q.User != "" {
		return paged(ctx, m, session.Key{App: q.App, User: q.User}, emptyPage[*session.Run], func(ctx context.Context, s *backend) ([]*session.Run, string, error) {
			return s.FindRuns(ctx, q, page)
		})
	}
	created, number, err := page.BeforeRun()
	if err != nil {
		return nil, "", err
	}
	lists, err := every(ctx, m, func(ctx context.Context, s *backend) ([]*session.Run, error) {
		return s.findRuns(ctx, &q, created, number, page.Limit())
	})
	if err != nil {
		return nil, "", err
	}
	runs := []*session.Run{}
	for _, one := range lists {
		runs = append(runs, one.value...)
	}
	runs, next := session.CutRuns(&page, runs)
	return runs, next, nil
}

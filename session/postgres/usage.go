package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	usageColumns = `day, app, usr, runs, prompt, candidates, total, cached, thoughts, tool_prompt`

	// putUsage counts the run that the statement ends. $16 to $21 are its tokens.
	putUsage = `used AS (
			INSERT INTO parley_usage_log (` + usageColumns + `)
			SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, s.app, s.usr, 1,
				$16::bigint, $17::bigint, $18::bigint, $19::bigint, $20::bigint, $21::bigint FROM s)`

	sumUsage = `SELECT u.day, u.app, u.usr, sum(u.runs)::bigint, sum(u.prompt)::bigint, sum(u.candidates)::bigint, sum(u.total)::bigint,
		sum(u.cached)::bigint, sum(u.thoughts)::bigint, sum(u.tool_prompt)::bigint`

	// $1 and $2 days, $3 application and $4 user or empty, $5 to $7 the last item
	// of the previous page, $8 limit.
	sqlUsage = sumUsage + `
		FROM (SELECT ` + usageColumns + ` FROM parley_usage UNION ALL SELECT ` + usageColumns + ` FROM parley_usage_log) AS u
		WHERE u.day BETWEEN $1::date AND $2::date AND ($3::text = '' OR u.app = $3::text) AND ($4::text = '' OR u.usr = $4::text)
			AND ($5::date IS NULL OR (u.day, u.app, u.usr) > ($5::date, $6::text COLLATE "C", $7::text COLLATE "C"))
		GROUP BY u.day, u.app, u.usr ORDER BY u.day, u.app, u.usr LIMIT $8::bigint`

	// Rows that another process folds at the same time are left to it. The order is the
	// same for all processes: two of them cannot deadlock.
	sqlFoldUsage = `WITH u AS (
			DELETE FROM parley_usage_log WHERE ctid = ANY (ARRAY(SELECT ctid FROM parley_usage_log LIMIT 10000 FOR UPDATE SKIP LOCKED))
			RETURNING ` + usageColumns + `)
		INSERT INTO parley_usage AS t (` + usageColumns + `)
		` + sumUsage + ` FROM u GROUP BY u.day, u.app, u.usr ORDER BY u.day, u.app, u.usr
		ON CONFLICT (day, app, usr) DO UPDATE SET runs = t.runs + excluded.runs, prompt = t.prompt + excluded.prompt,
			candidates = t.candidates + excluded.candidates, total = t.total + excluded.total, cached = t.cached + excluded.cached,
			thoughts = t.thoughts + excluded.thoughts, tool_prompt = t.tool_prompt + excluded.tool_prompt`

	// foldPause is the interval at which a process folds usage, as long as it changes
	// sessions.
	foldPause = time.Second
)

// Usage implements session.Ledger.
func (s *backend) Usage(ctx context.Context, q session.UsageQuery, page session.Page) ([]session.Usage, string, error) {
	after, err := session.UsageAfter(page.Token)
	if err != nil {
		return nil, "", err
	}
	from, err := time.Parse(time.DateOnly, q.From)
	if err != nil {
		return nil, "", err
	}
	to, err := time.Parse(time.DateOnly, q.To)
	if err != nil {
		return nil, "", err
	}
	var last *time.Time
	if page.Token != "" {
		day, err := time.Parse(time.DateOnly, after.Day)
		if err != nil {
			return nil, "", session.ErrBadToken
		}
		last = &day
	}
	var limit *int64
	if page.Size > 0 {
		n := int64(page.Size) + 1
		limit = &n
	}
	var list []session.Usage
	err = s.read(ctx, "reading usage", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlUsage, from, to, q.App, q.User, last, after.App, after.User, limit)
		if err != nil {
			return err
		}
		list = []session.Usage{}
		var u session.Usage
		var day time.Time
		t := &u.Tokens
		_, err = pgx.ForEachRow(rows, []any{
			&day, &u.App, &u.User, &u.Runs, &t.Prompt, &t.Candidates, &t.Total, &t.CachedContent, &t.Thoughts, &t.ToolUsePrompt,
		}, func() error {
			u.Day = session.DayOf(day)
			list = append(list, u)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	list, next := session.UsagePage(list, page)
	return list, next, nil
}

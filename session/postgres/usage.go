package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	// putUsage counts the run that the statement ends. $16 to $21 are its tokens.
	putUsage = `used AS (
			INSERT INTO parley_usage AS u (day, app, usr, runs, prompt, candidates, total, cached, thoughts, tool_prompt)
			SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, s.app, s.usr, 1,
				$16::bigint, $17::bigint, $18::bigint, $19::bigint, $20::bigint, $21::bigint FROM s
			ON CONFLICT (day, app, usr) DO UPDATE SET runs = u.runs + 1, prompt = u.prompt + excluded.prompt,
				candidates = u.candidates + excluded.candidates, total = u.total + excluded.total, cached = u.cached + excluded.cached,
				thoughts = u.thoughts + excluded.thoughts, tool_prompt = u.tool_prompt + excluded.tool_prompt)`

	// $1 and $2 days, $3 application and $4 user or empty, $5 to $7 the last item
	// of the previous page, $8 limit.
	sqlUsage = `SELECT day, app, usr, runs, prompt, candidates, total, cached, thoughts, tool_prompt FROM parley_usage
		WHERE day BETWEEN $1::date AND $2::date AND ($3::text = '' OR app = $3::text) AND ($4::text = '' OR usr = $4::text)
			AND ($5::date IS NULL OR (day, app, usr) > ($5::date, $6::text COLLATE "C", $7::text COLLATE "C"))
		ORDER BY day, app, usr LIMIT $8::bigint`
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

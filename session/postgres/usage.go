package postgres

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

const (
	usageColumns = `day, app, usr, ` + usageNumbers

	usageNumbers = `runs, prompt, candidates, total, cached, thoughts, tool_prompt`

	modelColumns = `model, prompt, candidates, total, cached, thoughts, tool_prompt, nanos, unpriced`

	// logModels has the rows of u.models, where u is a row of parley_usage_log.
	logModels = `jsonb_array_elements(u.models) AS a, jsonb_to_recordset(a) AS m (model text, prompt bigint, candidates bigint,
		total bigint, cached bigint, thoughts bigint, tool_prompt bigint, nanos bigint, unpriced bigint)`

	sumModels = `sum(m.prompt)::bigint AS prompt, sum(m.candidates)::bigint AS candidates, sum(m.total)::bigint AS total,
		sum(m.cached)::bigint AS cached, sum(m.thoughts)::bigint AS thoughts, sum(m.tool_prompt)::bigint AS tool_prompt,
		sum(m.nanos)::bigint AS nanos, sum(m.unpriced)::bigint AS unpriced`

	// putUsage counts the run that the statement ends. $16 to $21 are its tokens, $22 the
	// same by model.
	putUsage = `used AS (
			INSERT INTO parley_usage_log (` + usageColumns + `, models)
			SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, s.app, s.usr, 1,
				$16::bigint, $17::bigint, $18::bigint, $19::bigint, $20::bigint, $21::bigint,
				CASE WHEN $22::text IS NOT NULL THEN jsonb_build_array($22::text::jsonb) END FROM s)`

	// $1 digest of the session, $2 to $7 tokens, $8 the same by model. A move of the user
	// waits for it.
	sqlSpend = `INSERT INTO parley_usage_log (` + usageColumns + `, models)
		SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, s.app, s.usr, 0, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint,
			jsonb_build_array($8::text::jsonb)
		FROM (SELECT app, usr FROM parley_sessions WHERE digest = $1::bytea FOR SHARE) AS s`

	sumUsage = `SELECT u.day, u.app, u.usr, sum(u.runs)::bigint AS runs, sum(u.prompt)::bigint AS prompt, sum(u.candidates)::bigint AS candidates,
		sum(u.total)::bigint AS total, sum(u.cached)::bigint AS cached, sum(u.thoughts)::bigint AS thoughts, sum(u.tool_prompt)::bigint AS tool_prompt`

	// $1 and $2 days, $3 application and $4 user or empty, $5 to $7 the last item
	// of the previous page, $8 limit.
	sqlUsage = `WITH l AS (` + sumUsage + `
		FROM (SELECT ` + usageColumns + ` FROM parley_usage UNION ALL SELECT ` + usageColumns + ` FROM parley_usage_log) AS u
		WHERE u.day BETWEEN $1::date AND $2::date AND ($3::text = '' OR u.app = $3::text) AND ($4::text = '' OR u.usr = $4::text)
			AND ($5::date IS NULL OR (u.day, u.app, u.usr) > ($5::date, $6::text COLLATE "C", $7::text COLLATE "C"))
		GROUP BY u.day, u.app, u.usr ORDER BY u.day, u.app, u.usr LIMIT $8::bigint),
		m AS (
			SELECT p.* FROM parley_model_usage p JOIN l USING (day, app, usr)
			UNION ALL
			SELECT u.day, u.app, u.usr, m.* FROM parley_usage_log u JOIN l ON l.day = u.day AND l.app = u.app AND l.usr = u.usr, ` + logModels + `),
		s AS (SELECT m.day, m.app, m.usr, m.model, ` + sumModels + ` FROM m GROUP BY m.day, m.app, m.usr, m.model),
		g AS (SELECT s.day, s.app, s.usr, jsonb_agg(to_jsonb(s) - '{day,app,usr}'::text[] ORDER BY s.model COLLATE "C") AS models FROM s GROUP BY s.day, s.app, s.usr)
		SELECT ` + usageColumns + `, g.models FROM l LEFT JOIN g USING (day, app, usr) ORDER BY day, app, usr`

	// sqlUsageBy is sqlUsage for other groups: %[1]s has the columns of a group, with constants
	// for those that it does not have. What the filter selects is read once.
	sqlUsageBy = `WITH u AS (
			SELECT %[1]s, ` + usageNumbers + ` FROM (SELECT ` + usageColumns + ` FROM parley_usage UNION ALL SELECT ` + usageColumns + ` FROM parley_usage_log) AS r
			WHERE ` + usageFilter + `),
		l AS (` + sumUsage + ` FROM u WHERE ($5::date IS NULL OR (u.day, u.app, u.usr) > ($5::date, $6::text COLLATE "C", $7::text COLLATE "C"))
			GROUP BY u.day, u.app, u.usr ORDER BY u.day, u.app, u.usr LIMIT $8::bigint),
		m AS (
			SELECT %[1]s, ` + modelColumns + ` FROM parley_model_usage AS r WHERE ` + usageFilter + `
			UNION ALL
			SELECT u.day, u.app, u.usr, m.* FROM (SELECT %[1]s, models FROM parley_usage_log AS r WHERE ` + usageFilter + `) AS u, ` + logModels + `),
		s AS (SELECT m.day, m.app, m.usr, m.model, ` + sumModels + ` FROM m JOIN l USING (day, app, usr) GROUP BY m.day, m.app, m.usr, m.model),
		g AS (SELECT s.day, s.app, s.usr, jsonb_agg(to_jsonb(s) - '{day,app,usr}'::text[] ORDER BY s.model COLLATE "C") AS models FROM s GROUP BY s.day, s.app, s.usr)
		SELECT ` + usageColumns + `, g.models FROM l LEFT JOIN g USING (day, app, usr) ORDER BY day, app, usr`

	usageFilter = `r.day BETWEEN $1::date AND $2::date AND ($3::text = '' OR r.app = $3::text) AND ($4::text = '' OR r.usr = $4::text)`

	// noDay stands for the day where usage is not grouped by day.
	noDay = "1970-01-01"

	// Rows that another process folds at the same time are left to it. The order is the
	// same for all processes: two of them cannot deadlock.
	sqlFoldUsage = `WITH u AS (
			DELETE FROM parley_usage_log WHERE ctid = ANY (ARRAY(SELECT ctid FROM parley_usage_log LIMIT 10000 FOR UPDATE SKIP LOCKED))
			RETURNING ` + usageColumns + `, models),
		used AS (INSERT INTO parley_usage AS t (` + usageColumns + `)
		` + sumUsage + ` FROM u GROUP BY u.day, u.app, u.usr ORDER BY u.day, u.app, u.usr
		ON CONFLICT (day, app, usr) DO UPDATE SET runs = t.runs + excluded.runs, prompt = t.prompt + excluded.prompt,
			candidates = t.candidates + excluded.candidates, total = t.total + excluded.total, cached = t.cached + excluded.cached,
			thoughts = t.thoughts + excluded.thoughts, tool_prompt = t.tool_prompt + excluded.tool_prompt)
		INSERT INTO parley_model_usage AS t (day, app, usr, ` + modelColumns + `)
		SELECT u.day, u.app, u.usr, m.model, ` + sumModels + ` FROM u, ` + logModels + `
		GROUP BY u.day, u.app, u.usr, m.model ORDER BY u.day, u.app, u.usr, m.model COLLATE "C"
		ON CONFLICT (day, app, usr, model) DO UPDATE SET prompt = t.prompt + excluded.prompt, candidates = t.candidates + excluded.candidates,
			total = t.total + excluded.total, cached = t.cached + excluded.cached, thoughts = t.thoughts + excluded.thoughts,
			tool_prompt = t.tool_prompt + excluded.tool_prompt, nanos = t.nanos + excluded.nanos, unpriced = t.unpriced + excluded.unpriced`

	// foldPause is the interval at which a process folds usage, as long as it changes
	// sessions.
	foldPause = time.Second
)

// Spend implements session.Spender. An attempt of unknown outcome is repeated: a budget
// counts a call twice rather than not at all.
func (s *backend) Spend(ctx context.Context, key session.Key, models ...session.ModelUsage) error {
	doc, err := sessionrt.EncodeModels(models)
	if err != nil || doc == nil {
		return err
	}
	digest, u := key.Digest(), session.SumModels(models)
	return s.write(ctx, "storing usage", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		tag, err := conn.Exec(ctx, sqlSpend, digest[:], u.Prompt, u.Candidates, u.Total, u.CachedContent, u.Thoughts, u.ToolUsePrompt, string(doc))
		if err == nil && tag.RowsAffected() == 0 {
			return session.ErrNotFound
		}
		return err
	})
}

// Usage implements session.Ledger.
func (s *backend) Usage(ctx context.Context, q session.UsageQuery, page session.Page) ([]session.Usage, string, error) {
	after, err := q.After(page.Token)
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
		day, err := time.Parse(time.DateOnly, cmp.Or(after.Day, noDay))
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
	query := sqlUsage
	if q.By != 0 {
		query = fmt.Sprintf(sqlUsageBy, usageGroup(q.By))
	}
	var list []session.Usage
	err = s.read(ctx, "reading usage", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, query, from, to, q.App, q.User, last, after.App, after.User, limit)
		if err != nil {
			return err
		}
		list = []session.Usage{}
		var u session.Usage
		var day time.Time
		var models []byte
		t := &u.Tokens
		_, err = pgx.ForEachRow(rows, []any{
			&day, &u.App, &u.User, &u.Runs, &t.Prompt, &t.Candidates, &t.Total, &t.CachedContent, &t.Thoughts, &t.ToolUsePrompt, &models,
		}, func() error {
			u.Day = ""
			if q.By.Has(session.ByDay) {
				u.Day = session.DayOf(day)
			}
			u.Models, err = sessionrt.DecodeModels(models)
			list = append(list, u)
			return err
		})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	list, next := session.UsagePage(list, page)
	return list, next, nil
}

// usageGroup returns the columns of a group for sqlUsageBy.
func usageGroup(by session.UsageGroups) string {
	day, app, usr := "date '"+noDay+"'", `''::text COLLATE "C"`, `''::text COLLATE "C"`
	if by.Has(session.ByDay) {
		day = "r.day"
	}
	if by.Has(session.ByApp) {
		app = "r.app"
	}
	if by.Has(session.ByUser) {
		usr = "r.usr"
	}
	return day + " AS day, " + app + " AS app, " + usr + " AS usr"
}

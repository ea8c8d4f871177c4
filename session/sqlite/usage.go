package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/parley-run/parley/session"
)

// use counts an ended run.
func (c *conn) use(key session.Key, end *session.End) error {
	day, u := session.DayOf(time.Now()), &end.Usage
	err := c.exec(`INSERT INTO usage (day, app, user, runs, prompt, candidates, total, cached, thoughts, tool_prompt)
		VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET runs = runs + 1, prompt = prompt + excluded.prompt, candidates = candidates + excluded.candidates,
			total = total + excluded.total, cached = cached + excluded.cached, thoughts = thoughts + excluded.thoughts,
			tool_prompt = tool_prompt + excluded.tool_prompt`,
		day, key.App, key.User, u.Prompt, u.Candidates, u.Total, u.CachedContent, u.Thoughts, u.ToolUsePrompt)
	for i := 0; err == nil && i < len(end.Models); i++ {
		m := &end.Models[i]
		u := &m.Tokens
		err = c.exec(`INSERT INTO model_usage (day, app, user, `+modelColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET prompt = prompt + excluded.prompt, candidates = candidates + excluded.candidates,
				total = total + excluded.total, cached = cached + excluded.cached, thoughts = thoughts + excluded.thoughts,
				tool_prompt = tool_prompt + excluded.tool_prompt, nanos = nanos + excluded.nanos, unpriced = unpriced + excluded.unpriced`,
			day, key.App, key.User, m.Model, u.Prompt, u.Candidates, u.Total, u.CachedContent, u.Thoughts, u.ToolUsePrompt, m.Nanos, m.Unpriced)
	}
	return err
}

const modelColumns = "model, prompt, candidates, total, cached, thoughts, tool_prompt, nanos, unpriced"

// models adds the usage by model.
func (c *conn) models(list []session.Usage) error {
	for i := range list {
		of := &list[i]
		err := c.each("SELECT "+modelColumns+" FROM model_usage WHERE day = ? AND app = ? AND user = ? ORDER BY model", []any{of.Day, of.App, of.User},
			func(scan func(...any) error) error {
				var m session.ModelUsage
				t := &m.Tokens
				err := scan(&m.Model, &t.Prompt, &t.Candidates, &t.Total, &t.CachedContent, &t.Thoughts, &t.ToolUsePrompt, &m.Nanos, &m.Unpriced)
				of.Models = append(of.Models, m)
				return err
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// Usage implements session.Ledger.
func (s *backend) Usage(ctx context.Context, q session.UsageQuery, page session.Page) ([]session.Usage, string, error) {
	after, err := session.UsageAfter(page.Token)
	if err != nil {
		return nil, "", err
	}
	where, args := []string{"day >= ?", "day <= ?"}, []any{q.From, q.To}
	for _, f := range []struct{ column, value string }{{"app", q.App}, {"user", q.User}} {
		if f.value != "" {
			where, args = append(where, f.column+" = ?"), append(args, f.value)
		}
	}
	if page.Token != "" {
		where, args = append(where, "(day, app, user) > (?, ?, ?)"), append(args, after.Day, after.App, after.User)
	}
	limit := -1
	if page.Size > 0 {
		limit = page.Size + 1
	}
	query := `SELECT day, app, user, runs, prompt, candidates, total, cached, thoughts, tool_prompt FROM usage
		WHERE ` + strings.Join(where, " AND ") + " ORDER BY day, app, user LIMIT ?"
	var list []session.Usage
	err = s.read(ctx, func(c *conn) error {
		list = []session.Usage{}
		err := c.each(query, append(args, limit), func(scan func(...any) error) error {
			var u session.Usage
			t := &u.Tokens
			err := scan(&u.Day, &u.App, &u.User, &u.Runs, &t.Prompt, &t.Candidates, &t.Total, &t.CachedContent, &t.Thoughts, &t.ToolUsePrompt)
			list = append(list, u)
			return err
		})
		if err != nil {
			return err
		}
		return c.models(list)
	})
	if err != nil {
		return nil, "", fmt.Errorf("read usage: %w", err)
	}
	list, next := session.UsagePage(list, page)
	return list, next, nil
}

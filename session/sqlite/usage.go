package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// Spend implements session.Spender.
func (s *backend) Spend(ctx context.Context, key session.Key, models ...session.ModelUsage) error {
	err := s.write(ctx, func(c *conn) error {
		c.use(key, 0, session.SumModels(models), models)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store usage: %w", err)
	}
	return nil
}

// use counts usage, of a run that has ended or outside of runs. It is stored when the
// transaction is committed: many runs of a transaction may be of one user.
func (c *conn) use(key session.Key, runs int64, u *event.Usage, models []session.ModelUsage) {
	c.spent = append(c.spent, session.Usage{
		UsageKey: session.UsageKey{App: key.App, User: key.User}, Runs: runs, Tokens: *u, Models: models,
	})
}

// storeSpent stores the usage that the transaction has counted.
func (c *conn) storeSpent() error {
	if len(c.spent) == 0 {
		return nil
	}
	sums := make(map[session.UsageKey]*session.Usage, len(c.spent))
	for i := range c.spent {
		sum := sums[c.spent[i].UsageKey]
		if sum == nil {
			sum = &session.Usage{}
			sums[c.spent[i].UsageKey] = sum
		}
		sum.Add(&c.spent[i])
	}
	day := session.DayOf(time.Now())
	for of, sum := range sums {
		if err := c.addUsage(day, of.App, of.User, sum); err != nil {
			return err
		}
	}
	return nil
}

var (
	sqlAddUsage = `INSERT INTO usage (day, app, user, runs, prompt, candidates, total, cached, thoughts, tool_prompt)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET ` + added("runs", "prompt", "candidates", "total", "cached", "thoughts", "tool_prompt")
	sqlAddModelUsage = `INSERT INTO model_usage (day, app, user, ` + modelColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET ` + added("prompt", "candidates", "total", "cached", "thoughts", "tool_prompt", "nanos", "unpriced")
)

// added returns assignments that add to columns. Providers choose the numbers: a sum that
// is no integer any more must not make the transaction fail.
func added(columns ...string) string {
	for i, name := range columns {
		columns[i] = fmt.Sprintf("%s = min(%[1]s + excluded.%[1]s, %d)", name, math.MaxInt64)
	}
	return strings.Join(columns, ", ")
}

// addUsage adds to the usage of a user on a day.
func (c *conn) addUsage(day, app, user string, s *session.Usage) error {
	u := &s.Tokens
	err := c.exec(sqlAddUsage,
		day, app, user, s.Runs, u.Prompt, u.Candidates, u.Total, u.CachedContent, u.Thoughts, u.ToolUsePrompt)
	for i := 0; err == nil && i < len(s.Models); i++ {
		m := &s.Models[i]
		u := &m.Tokens
		err = c.exec(sqlAddModelUsage,
			day, app, user, m.Model, u.Prompt, u.Candidates, u.Total, u.CachedContent, u.Thoughts, u.ToolUsePrompt, m.Nanos, m.Unpriced)
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
	after, err := q.After(page.Token)
	if err != nil {
		return nil, "", err
	}
	where, args := []string{"day >= ?", "day <= ?"}, []any{q.From, q.To}
	for _, f := range []struct{ column, value string }{{"app", q.App}, {"user", q.User}} {
		if f.value != "" {
			where, args = append(where, f.column+" = ?"), append(args, f.value)
		}
	}
	filter, filterArgs := strings.Join(where, " AND "), args
	columns, group := usageGroups(q.By)
	if page.Token != "" {
		where, args = append(where, "("+columns+") > (?, ?, ?)"), append(args, after.Day, after.App, after.User)
	}
	limit := -1
	if page.Size > 0 {
		limit = page.Size + 1
	}
	query := "SELECT " + columns + ", runs, prompt, candidates, total, cached, thoughts, tool_prompt FROM usage WHERE " +
		strings.Join(where, " AND ") + " ORDER BY day, app, user LIMIT ?"
	if group != "" {
		query = "SELECT " + columns + ", sum(runs), " + sumUsed + " FROM usage WHERE " + strings.Join(where, " AND ") +
			" GROUP BY " + group + " ORDER BY " + group + " LIMIT ?"
	}
	var list []session.Usage
	err = s.read(ctx, func(c *conn) error {
		list = []session.Usage{}
		err := c.each(query, append(slices.Clone(args), limit), func(scan func(...any) error) error {
			var u session.Usage
			t := &u.Tokens
			err := scan(&u.Day, &u.App, &u.User, &u.Runs, &t.Prompt, &t.Candidates, &t.Total, &t.CachedContent, &t.Thoughts, &t.ToolUsePrompt)
			list = append(list, u)
			return err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		if group == "" {
			return c.models(list)
		}
		return c.groupedModels(list, columns, group, filter, filterArgs)
	})
	if err != nil {
		return nil, "", fmt.Errorf("read usage: %w", err)
	}
	list, next := session.UsagePage(list, page)
	return list, next, nil
}

const sumUsed = "sum(prompt), sum(candidates), sum(total), sum(cached), sum(thoughts), sum(tool_prompt)"

// usageGroups returns the columns of a session.UsageKey, and those to group by; none if
// these are all of them, which is how usage is stored.
func usageGroups(by session.UsageGroups) (columns, group string) {
	var all, some []string
	for _, one := range []struct {
		by     session.UsageGroups
		column string
	}{{session.ByDay, "day"}, {session.ByApp, "app"}, {session.ByUser, "user"}} {
		if by.Has(one.by) {
			all, some = append(all, one.column), append(some, one.column)
		} else {
			all = append(all, "''")
		}
	}
	if len(some) == len(all) {
		some = nil
	}
	return strings.Join(all, ", "), strings.Join(some, ", ")
}

// groupedModels adds the usage by model to groups, which are ordered. It reads what the filter
// selects once, however many groups there are.
func (c *conn) groupedModels(list []session.Usage, columns, group, filter string, args []any) error {
	first, last := &list[0].UsageKey, &list[len(list)-1].UsageKey
	query := "SELECT " + columns + ", model, " + sumUsed + ", sum(nanos), sum(unpriced) FROM model_usage WHERE " + filter +
		" AND (" + columns + ") BETWEEN (?, ?, ?) AND (?, ?, ?) GROUP BY " + group + ", model ORDER BY " + group + ", model"
	args = append(slices.Clone(args), first.Day, first.App, first.User, last.Day, last.App, last.User)
	at := make(map[session.UsageKey]int, len(list))
	for i := range list {
		at[list[i].UsageKey] = i
	}
	return c.each(query, args, func(scan func(...any) error) error {
		var k session.UsageKey
		var m session.ModelUsage
		t := &m.Tokens
		err := scan(&k.Day, &k.App, &k.User, &m.Model, &t.Prompt, &t.Candidates, &t.Total, &t.CachedContent, &t.Thoughts, &t.ToolUsePrompt, &m.Nanos, &m.Unpriced)
		if i, found := at[k]; found && err == nil {
			list[i].Models = append(list[i].Models, m)
		}
		return err
	})
}

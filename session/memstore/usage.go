package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// tally is a Ledger in memory. Its zero value is empty.
type tally struct {
	mu   sync.Mutex
	days map[session.UsageKey]*session.Usage
	date time.Time // the latest day with usage
	day  string    // is date, formatted once (BenchmarkRun)
}

// tallyDays is how many days a tally keeps.
const tallyDays = 400

// Add counts a run that has ended.
func (t *tally) Add(key session.Key, end *session.End, now time.Time) {
	t.add(key, 1, &end.Usage, end.Models, now)
}

// Spend counts usage outside of runs.
func (t *tally) Spend(key session.Key, models []session.ModelUsage, now time.Time) {
	t.add(key, 0, session.SumModels(models), models, now)
}

func (t *tally) add(key session.Key, runs int64, tokens *event.Usage, models []session.ModelUsage, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.days == nil {
		t.days = map[session.UsageKey]*session.Usage{}
	}
	if date := now.Truncate(24 * time.Hour); !date.Equal(t.date) {
		t.date, t.day = date, session.DayOf(now)
		oldest := session.DayOf(now.AddDate(0, 0, -tallyDays))
		for old := range t.days {
			if old.Day < oldest {
				delete(t.days, old)
			}
		}
	}
	k := session.UsageKey{Day: t.day, App: key.App, User: key.User}
	u := t.days[k]
	if u == nil {
		u = &session.Usage{UsageKey: k}
		t.days[k] = u
	}
	u.Runs += runs
	u.Tokens.Add(tokens)
	u.Models = session.AddModels(u.Models, models...)
}

// Usage implements session.Ledger.
func (t *tally) Usage(_ context.Context, query session.UsageQuery, page session.Page) ([]session.Usage, string, error) {
	after, err := query.After(page.Token)
	if err != nil {
		return nil, "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := query.By == 0 || query.By == session.ByDay|session.ByApp|session.ByUser
	if all && query.App != "" && query.User != "" && query.From == query.To { // the query of limits
		k := session.UsageKey{Day: query.From, App: query.App, User: query.User}
		if u := t.days[k]; u != nil && compareUsage(k, after) > 0 {
			return []session.Usage{clone(u)}, "", nil
		}
		return []session.Usage{}, "", nil
	}
	list := []session.Usage{}
	groups := map[session.UsageKey]*session.Usage{}
	for k, u := range t.days {
		group := query.By.Key(k)
		if k.Day < query.From || k.Day > query.To || query.App != "" && query.App != k.App || query.User != "" && query.User != k.User ||
			page.Token != "" && compareUsage(group, after) <= 0 {
			continue
		}
		if all {
			list = append(list, clone(u))
			continue
		}
		sum := groups[group]
		if sum == nil {
			sum = &session.Usage{UsageKey: group}
			groups[group] = sum
		}
		sum.Add(u)
	}
	for _, sum := range groups {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b session.Usage) int { return compareUsage(a.UsageKey, b.UsageKey) })
	list, next := session.UsagePage(list, page)
	return list, next, nil
}

// clone returns a copy that does not change with u.
func clone(u *session.Usage) session.Usage {
	other := *u
	other.Models = slices.Clone(u.Models)
	return other
}

// compareUsage orders usage: by day, application and user.
func compareUsage(a, b session.UsageKey) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.App, b.App), cmp.Compare(a.User, b.User))
}

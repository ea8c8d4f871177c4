package session

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
)

// Usage is the usage of a user of an application on one day.
type Usage struct {
	UsageKey
	Runs   int64 // ended runs
	Tokens event.Usage
	// Models has the tokens by model, ordered by name, but for those that were used
	// before models were stored.
	Models []ModelUsage
}

// UsageKey is what usage is grouped by.
type UsageKey struct {
	Day       string // in UTC, as in 2006-01-02
	App, User string
}

// compare orders usage: by day, application and user.
func (k UsageKey) compare(other UsageKey) int {
	return cmp.Or(cmp.Compare(k.Day, other.Day), cmp.Compare(k.App, other.App), cmp.Compare(k.User, other.User))
}

// Token returns the token of a page with k as its last item.
func (k UsageKey) Token() string {
	b, err := json.Marshal([]string{k.Day, k.App, k.User})
	if err != nil {
		return "" // text cannot fail to encode
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// UsageAfter returns the item that a token stands for; for no token, the zero
// value, which precedes all items.
func UsageAfter(token string) (k UsageKey, err error) {
	if token == "" {
		return k, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	var parts []string
	if err != nil || json.Unmarshal(b, &parts) != nil || len(parts) != 3 {
		return k, ErrBadToken
	}
	return UsageKey{Day: parts[0], App: parts[1], User: parts[2]}, nil
}

// DayOf returns the day of a time in UTC, as in UsageKey.Day.
func DayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// UsageQuery selects usage. An empty App or User means any.
type UsageQuery struct {
	App, User string
	From, To  string // days, both inclusive
}

// Ledger is the part of a Store that records usage. The end of a run adds to it, in
// the same transaction and on the day of the store's clock. Deleting a session does
// not change it.
type Ledger interface {
	// Usage returns usage ordered by day, application and user. It ignores the
	// filter of the page.
	Usage(ctx context.Context, query UsageQuery, page Page) (list []Usage, next string, err error)
}

// Tally is a Ledger in memory. Its zero value is empty.
type Tally struct {
	mu   sync.Mutex
	days map[UsageKey]*Usage
	date time.Time // the latest day with usage
	day  string    // is date, formatted once (BenchmarkRun)
}

// tallyDays is how many days a Tally keeps.
const tallyDays = 400

// Add counts a run that has ended.
func (t *Tally) Add(key Key, end *End, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.days == nil {
		t.days = map[UsageKey]*Usage{}
	}
	if date := now.Truncate(24 * time.Hour); !date.Equal(t.date) {
		t.date, t.day = date, DayOf(now)
		oldest := DayOf(now.AddDate(0, 0, -tallyDays))
		for old := range t.days {
			if old.Day < oldest {
				delete(t.days, old)
			}
		}
	}
	k := UsageKey{Day: t.day, App: key.App, User: key.User}
	u := t.days[k]
	if u == nil {
		u = &Usage{UsageKey: k}
		t.days[k] = u
	}
	u.Runs++
	u.Tokens.Add(&end.Usage)
	u.Models = AddModels(u.Models, end.Models...)
}

// clone returns a copy that does not change with u.
func (u *Usage) clone() Usage {
	other := *u
	other.Models = slices.Clone(u.Models)
	return other
}

// Usage implements Ledger.
func (t *Tally) Usage(_ context.Context, query UsageQuery, page Page) ([]Usage, string, error) {
	after, err := UsageAfter(page.Token)
	if err != nil {
		return nil, "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if query.App != "" && query.User != "" && query.From == query.To { // the query of limits
		k := UsageKey{Day: query.From, App: query.App, User: query.User}
		if u := t.days[k]; u != nil && k.compare(after) > 0 {
			return []Usage{u.clone()}, "", nil
		}
		return []Usage{}, "", nil
	}
	list := []Usage{}
	for k, u := range t.days {
		if k.Day >= query.From && k.Day <= query.To && (query.App == "" || query.App == k.App) &&
			(query.User == "" || query.User == k.User) && k.compare(after) > 0 {
			list = append(list, u.clone())
		}
	}
	slices.SortFunc(list, func(a, b Usage) int { return a.compare(b.UsageKey) })
	list, next := UsagePage(list, page)
	return list, next, nil
}

// UsagePage cuts a list to a page, for stores that have read one item more than the
// page size.
func UsagePage(list []Usage, page Page) ([]Usage, string) {
	if page.Size <= 0 || len(list) <= page.Size {
		return list, ""
	}
	return list[:page.Size], list[page.Size-1].Token()
}

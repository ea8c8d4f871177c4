package session

import (
	"context"
	"encoding/base64"
	"encoding/json"
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

// UsageKey is what usage is grouped by. The zero value stands for what it is not
// grouped by; see UsageQuery.By.
type UsageKey struct {
	Day       string // in UTC, as in 2006-01-02
	App, User string
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
	// By is what the usage is grouped by; zero means by day, application and user.
	By UsageGroups
}

// UsageGroups is a set of what usage is grouped by.
type UsageGroups uint8

// What usage can be grouped by.
const (
	ByDay UsageGroups = 1 << iota
	ByApp
	ByUser
)

// Has reports whether usage is grouped by one of these.
func (g UsageGroups) Has(one UsageGroups) bool { return g == 0 || g&one != 0 }

// Key returns the group that usage with a key belongs to.
func (g UsageGroups) Key(k UsageKey) UsageKey {
	for _, part := range []struct {
		group UsageGroups
		value *string
	}{{ByDay, &k.Day}, {ByApp, &k.App}, {ByUser, &k.User}} {
		if !g.Has(part.group) {
			*part.value = ""
		}
	}
	return k
}

// After returns the group that a token stands for, as UsageAfter does. A token of a
// query with other groups is ErrBadToken.
func (q *UsageQuery) After(token string) (UsageKey, error) {
	k, err := UsageAfter(token)
	if err != nil || token == "" || q.By == 0 {
		return k, err
	}
	if (k.Day != "") != q.By.Has(ByDay) || (k.App != "") != q.By.Has(ByApp) || (k.User != "") != q.By.Has(ByUser) {
		return UsageKey{}, ErrBadToken
	}
	return k, nil
}

// Ledger is the part of a Store that records usage. The end of a run adds to it, in
// the same transaction and on the day of the store's clock. Deleting a session does
// not change it.
type Ledger interface {
	// Usage returns usage ordered by day, application and user, as far as it is
	// grouped by these. It ignores the filter of the page.
	Usage(ctx context.Context, query UsageQuery, page Page) (list []Usage, next string, err error)
}

// Spender is the part of a Store that counts usage outside of runs.
type Spender interface {
	// Spend adds to the usage of the user of a session, which must exist, on the day of
	// the store's clock. The number of runs stays. If the outcome of an attempt is not
	// known, it may count twice.
	Spend(ctx context.Context, key Key, models ...ModelUsage) error
}

// SumModels returns the tokens of all models.
func SumModels(list []ModelUsage) *event.Usage {
	sum := &event.Usage{}
	for i := range list {
		sum.Add(&list[i].Tokens)
	}
	return sum
}

// UsagePage cuts a list to a page, for stores that have read one item more than the
// page size.
func UsagePage(list []Usage, page Page) ([]Usage, string) {
	if page.Size <= 0 || len(list) <= page.Size {
		return list, ""
	}
	return list[:page.Size], list[page.Size-1].Token()
}

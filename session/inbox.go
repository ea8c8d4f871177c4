package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// WaitQuery selects runs that wait. The zero value selects all.
type WaitQuery struct {
	// App and User are those of the session; empty means any. A User requires an App.
	App, User string
	// Age is how long they have waited at least, by the clock of the store.
	Age time.Duration
}

// Inbox is the part of a Store that lists the runs of all sessions that wait for an
// answer.
type Inbox interface {
	// ListWaiting returns the runs that are Waiting, except those of hidden sessions, in
	// the order in which they began to wait. Runs that begin or end to wait between two
	// pages neither repeat nor hide others. next is empty at the end.
	ListWaiting(ctx context.Context, q WaitQuery, page Page) (runs []*Run, next string, err error)
}

// WaitToken returns the Page.Token that stands for a run in ListWaiting.
func WaitToken(r *Run) string { return fmt.Sprintf("%d-%d", r.Ended.UnixNano(), r.Number) }

// AfterWait returns what a token of ListWaiting stands for: the end and the number of a
// run. The time is zero for the first page.
func (p *Page) AfterWait() (ended time.Time, number int64, err error) {
	if p.Token == "" {
		return time.Time{}, 0, nil
	}
	first, second, ok := strings.Cut(p.Token, "-")
	nanos, err := strconv.ParseInt(first, 10, 64)
	if !ok || err != nil || nanos <= 0 {
		return time.Time{}, 0, ErrBadToken
	}
	number, err = strconv.ParseInt(second, 10, 64)
	if err != nil || number < 0 {
		return time.Time{}, 0, ErrBadToken
	}
	return time.Unix(0, nanos).UTC(), number, nil
}

// CutWaiting returns a page of ListWaiting, and the token of the next one. runs are the
// first Limit ones after AfterWait.
func CutWaiting(p *Page, runs []*Run) (page []*Run, next string) {
	if p.Size <= 0 || len(runs) <= p.Size {
		return runs, ""
	}
	return runs[:p.Size], WaitToken(runs[p.Size-1])
}

package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// RunQuery selects runs of an application.
type RunQuery struct {
	// App and User are those of the session; no User means any.
	App, User string
	// Statuses are those that the runs have; none means any.
	Statuses []Status
}

// Selects reports whether the query selects runs with a status.
func (q *RunQuery) Selects(status Status) bool {
	return len(q.Statuses) == 0 || slices.Contains(q.Statuses, status)
}

// Wanted returns the statuses that the query selects, each once.
func (q *RunQuery) Wanted() []Status {
	all := []Status{Queued, Running, Waiting, Completed, Failed, Cancelled}
	return slices.DeleteFunc(all, func(one Status) bool { return !q.Selects(one) })
}

// RunLister is the part of a Store that lists the runs of all sessions of an application.
type RunLister interface {
	// FindRuns returns runs, the newest first, except those of hidden sessions. It
	// uses the size and the token of the page only. Runs that begin between two
	// pages neither repeat nor hide others; one whose status changes may do so. next
	// is empty at the end.
	FindRuns(ctx context.Context, q RunQuery, page Page) (runs []*Run, next string, err error)
}

// BeforeRun returns what a token of FindRuns stands for: the creation and the number
// of a run. For the first page, it is later than any.
func (p *Page) BeforeRun() (created time.Time, number int64, err error) {
	if p.Token == "" {
		return time.Unix(1<<33, 0).UTC(), 0, nil
	}
	return p.AfterWait() // tokens have the same form
}

// RunsBefore returns the token of the page of FindRuns that begins with the newest run
// that was created before a time.
func RunsBefore(created time.Time) string { return fmt.Sprintf("%d-%d", created.UnixNano(), 0) }

// CutRuns returns a page of FindRuns, and the token of the next one. runs has the
// first Limit ones before BeforeRun, and may have others behind them, in any order.
func CutRuns(p *Page, runs []*Run) (page []*Run, next string) {
	slices.SortFunc(runs, func(a, b *Run) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Number, a.Number))
	})
	if p.Size <= 0 || len(runs) <= p.Size {
		return runs, ""
	}
	last := runs[p.Size-1]
	return runs[:p.Size], fmt.Sprintf("%d-%d", last.Created.UnixNano(), last.Number)
}

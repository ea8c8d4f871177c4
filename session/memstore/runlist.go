package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/parley-run/parley/session"
)

var _ session.RunLister = (*Backend)(nil)

// FindRuns implements session.RunLister.
func (m *Backend) FindRuns(_ context.Context, q session.RunQuery, page session.Page) ([]*session.Run, string, error) {
	created, number, err := page.BeforeRun()
	if err != nil {
		return nil, "", err
	}
	found := []*session.Run{}
	for _, rec := range m.visibleOf(q.App, q.User) {
		rec.mu.Lock()
		left := page.Limit()
		for _, r := range slices.Backward(rec.runs.all()) { // in the order of their numbers
			if left == 0 {
				break
			}
			if before := cmp.Or(r.Created.Compare(created), cmp.Compare(r.Number, number)) < 0; before && q.Selects(r.Status) {
				found = append(found, copied(r))
				left--
			}
		}
		rec.mu.Unlock()
	}
	found, next := session.CutRuns(&page, found)
	return found, next, nil
}

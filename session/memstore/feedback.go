package memstore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/feedback"
	"github.com/parley-run/parley/internal/textsearch"
	"github.com/parley-run/parley/session"
)

var _ session.FeedbackLister = (*Backend)(nil)

// given is feedback with its place in a list.
type given struct {
	*session.Feedback

	at hit
}

// ListFeedback implements session.FeedbackLister. It reads the newest sessions first, and of all at most 64 MiB.
func (m *Backend) ListFeedback(ctx context.Context, q session.FeedbackQuery, page session.Page) ([]*session.Feedback, string, error) {
	var after *hit
	if page.Token != "" {
		var err error
		if after, err = hitAt(page.Token); err != nil {
			return nil, "", err
		}
	}
	var all []given
	budget := maxScan
	for _, rec := range m.visibleOf(q.App, q.User) {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		log, _ := rec.copies()
		for _, e := range log {
			budget -= len(e.JSON)
		}
		if budget < 0 {
			break
		}
		if !slices.ContainsFunc(log, func(e *session.Entry) bool { return feedback.May(e.JSON) }) {
			continue
		}
		for _, f := range feedback.In(eventsOf(session.Visible(log)), common(log, rec.origin)) {
			one := given{Feedback: &session.Feedback{
				Key: rec.key, Run: f.Run, Author: f.Author, Rating: f.Rating, Note: f.Note,
				Time: textsearch.Time(f.Time), Event: f.Event, Message: f.Message, Answer: f.Answer,
			}, at: hit{order: rec.order, seq: f.Seq}}
			one.at.Time = one.Time
			if q.Matches(one.Feedback) && (after == nil || after.compare(&one.at) < 0) {
				all = append(all, one)
			}
		}
	}
	slices.SortFunc(all, func(a, b given) int { return a.at.compare(&b.at) })
	size := cmp.Or(max(page.Size, 0), searchPage)
	next := ""
	if len(all) > size {
		all = all[:size]
		next = all[size-1].at.token()
	}
	list := make([]*session.Feedback, len(all))
	for i, one := range all {
		list[i] = one.Feedback
	}
	return list, next, nil
}

// visibleOf returns the sessions of an application, or of one user of it, that are listed, the newest first.
func (m *Backend) visibleOf(app, user string) []*record {
	if user != "" {
		return m.visible(app, user)
	}
	m.mu.RLock()
	var list []*record
	for of, u := range m.users {
		if of.app == app {
			list = append(list, u.sessions...)
		}
	}
	m.mu.RUnlock()
	list = slices.DeleteFunc(list, func(r *record) bool { return r.key.Hidden() })
	slices.SortFunc(list, func(a, b *record) int { return cmp.Compare(b.order, a.order) })
	return list
}

// eventsOf returns the events of entries, without those that are damaged.
func eventsOf(entries []*session.Entry) iter.Seq2[int64, *event.Event] {
	return func(yield func(int64, *event.Event) bool) {
		for _, e := range entries {
			if ev, err := e.Decode(); err == nil && !yield(e.Seq, ev) {
				return
			}
		}
	}
}

// common returns the sequence number of the last entry that a fork has from its origin.
func common(log []*session.Entry, origin *session.Origin) int64 {
	if origin == nil || origin.Event == "" {
		return 0
	}
	for seq, ev := range eventsOf(log) {
		if ev.ID == origin.Event {
			return seq
		}
	}
	return 0
}

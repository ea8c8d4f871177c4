package session

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/feedback"
	"github.com/parley-run/parley/internal/textsearch"
)

// Feedback is an opinion on a run of a session.
type Feedback struct {
	Key    Key
	Run    string
	Author string
	Rating string // up, down or empty
	Note   string
	Time   time.Time // when it was given
	Event  string    // id of the first event of the run
	// Message and Answer are the beginnings of what was said in the run.
	Message, Answer string
}

// FeedbackQuery selects feedback to runs.
type FeedbackQuery struct {
	// App and User are those of the session; no User means any.
	App, User string
	// Rating is up or down; empty means any, and none.
	Rating string
	// Noted selects feedback with a note.
	Noted bool
	// Since and Before limit when it was given: not before the one, and before the other. Zero times do not.
	Since, Before time.Time
}

// Matches reports whether the query selects feedback of its application and its user.
func (q *FeedbackQuery) Matches(f *Feedback) bool {
	return (q.Rating == "" || q.Rating == f.Rating) && (!q.Noted || f.Note != "") &&
		(q.Since.IsZero() || !f.Time.Before(q.Since)) && (q.Before.IsZero() || f.Time.Before(q.Before))
}

// FeedbackLister is the part of a Store that lists feedback of all sessions: the last one of each author to each run,
// unless it was removed. Searcher.Index makes it known.
type FeedbackLister interface {
	// ListFeedback returns feedback, the newest first. It omits hidden sessions, and in a fork what the session has
	// from which it comes. Only the size and the token of the page are used. A page may have fewer items than
	// requested, and still another page after it.
	ListFeedback(ctx context.Context, q FeedbackQuery, page Page) (list []*Feedback, next string, err error)
}

var _ FeedbackLister = (*Memory)(nil)

// given is feedback with its place in a list.
type given struct {
	*Feedback

	at hit
}

// ListFeedback implements FeedbackLister. It reads the newest sessions first, and of all at most 64 MiB.
func (m *Memory) ListFeedback(ctx context.Context, q FeedbackQuery, page Page) ([]*Feedback, string, error) {
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
		if !slices.ContainsFunc(log, func(e *Entry) bool { return feedback.May(e.JSON) }) {
			continue
		}
		for _, f := range feedback.In(eventsOf(Visible(log)), common(log, rec.origin)) {
			one := given{Feedback: &Feedback{
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
	list := make([]*Feedback, len(all))
	for i, one := range all {
		list[i] = one.Feedback
	}
	return list, next, nil
}

// visibleOf returns the sessions of an application, or of one user of it, that are listed, the newest first.
func (m *Memory) visibleOf(app, name string) []*record {
	if name != "" {
		return m.visible(app, name)
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
func eventsOf(entries []*Entry) iter.Seq2[int64, *event.Event] {
	return func(yield func(int64, *event.Event) bool) {
		for _, e := range entries {
			if ev, err := e.Decode(); err == nil && !yield(e.Seq, ev) {
				return
			}
		}
	}
}

// common returns the sequence number of the last entry that a fork has from its origin.
func common(log []*Entry, origin *Origin) int64 {
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

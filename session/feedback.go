package session

import (
	"context"
	"time"
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

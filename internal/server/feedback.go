package server

import (
	"cmp"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/feedback"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// setFeedback stores what the caller thinks of a run.
func (s *Server) setFeedback(w http.ResponseWriter, r *http.Request) error {
	key, id, err := runKey(r)
	if err != nil {
		return err
	}
	doc, err := s.required(w, r)
	if err != nil {
		return err
	}
	f := feedback.Feedback{Run: id}
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			switch name {
			case "rating":
				if err := in.String(&f.Rating); err != nil {
					return err
				}
				if f.Rating != feedback.Up && f.Rating != feedback.Down {
					return in.Errorf("value_error", "must be up or down")
				}
				return nil
			case "note":
				if err := in.String(&f.Note); err != nil {
					return err
				}
				if utf8.RuneCountInString(f.Note) > feedback.MaxNote {
					return in.Errorf("value_error", "must have at most %d characters", feedback.MaxNote)
				}
				return nil
			case "author":
				return in.ID(&f.Author)
			}
			return in.Skip()
		})
	})
	if err != nil {
		return err
	}
	if f.Author, err = authorOf(r, key, f.Author); err != nil {
		return err
	}
	stored, err := s.Engine.SetFeedback(r.Context(), key, f)
	if err != nil {
		return err
	}
	return answer(w, stored)
}

// authorOf returns the author of feedback. Only callers who may act as other users can name one. Reviewers do not, or
// they could replace what others have written.
func authorOf(r *http.Request, key session.Key, named string) (string, error) {
	caller := callerOf(r)
	self := cmp.Or(caller.Self(), key.User)
	if named == "" || named == self {
		return self, nil
	}
	if !caller.May(access.Users) || !caller.May(access.Run) {
		return "", &httpError{status: http.StatusForbidden, message: "Forbidden: the author is the caller; leave it out"}
	}
	return named, session.CheckIdentifier("author", named)
}

// listFeedback answers with the feedback to the runs of a session.
func (s *Server) listFeedback(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	list, err := s.Engine.Feedback(r.Context(), key)
	if err != nil {
		return err
	}
	if list == nil {
		list = []*feedback.Feedback{}
	}
	return answer(w, list)
}

// givenFeedback is feedback in a list of all sessions.
type givenFeedback struct {
	UserID    string  `json:"userId"`
	SessionID string  `json:"sessionId"`
	RunID     string  `json:"runId"`
	Author    string  `json:"author"`
	Rating    string  `json:"rating,omitempty"`
	Note      string  `json:"note,omitempty"`
	Timestamp float64 `json:"timestamp"`
	EventID   string  `json:"eventId,omitempty"`
	Message   string  `json:"message,omitempty"`
	Answer    string  `json:"answer,omitempty"`
}

// feedbackSize is the size of a page of feedback that has none.
const feedbackSize = 50

// listAllFeedback answers with the feedback to runs of all sessions of an application.
func (s *Server) listAllFeedback(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	page, err := pageOfSize(query, feedbackSize)
	if err != nil {
		return err
	}
	q, err := feedbackQuery(r, query)
	if err != nil {
		return err
	}
	if s.Store.Feedback == nil {
		return &httpError{status: http.StatusNotImplemented, message: "The session store of this server cannot list feedback of all sessions: memory, SQLite and Postgres can."}
	}
	found, next, err := s.Store.Feedback.ListFeedback(r.Context(), q, page)
	if err != nil {
		return err
	}
	if len(found) == 0 && next == "" && !s.hasApp(q.App) { // that of a removed application can still be read
		return about(session.Key{App: q.App}, run.ErrUnknownApp)
	}
	linkNext(w, r, query, page, next)
	list := make([]givenFeedback, len(found))
	for i, f := range found {
		list[i] = givenFeedback{f.Key.User, f.Key.ID, f.Run, f.Author, f.Rating, f.Note, float64(f.Time.UnixMicro()) / 1e6, f.Event, f.Message, f.Answer}
	}
	return answer(w, list)
}

// feedbackQuery reads what of the feedback of an application to list.
func feedbackQuery(r *http.Request, query url.Values) (q session.FeedbackQuery, err error) {
	q = session.FeedbackQuery{App: r.PathValue("app"), Rating: query.Get("rating")}
	if err := session.CheckIdentifier("application name", q.App); err != nil {
		return q, err
	}
	if q.User, err = listedUser(r, query.Get("userId")+query.Get("user_id"), "feedback"); err != nil {
		return q, err
	}
	if q.Rating != "" && q.Rating != feedback.Up && q.Rating != feedback.Down {
		return q, badParameter("query", "rating", "must be up or down")
	}
	switch query.Get("hasNote") + query.Get("has_note") {
	case "true":
		q.Noted = true
	case "", "false":
	default:
		return q, badParameter("query", "hasNote", "must be true or false")
	}
	if q.Since, err = timeOf(query, "since", "since"); err != nil {
		return q, err
	}
	q.Before, err = timeOf(query, "before", "before")
	return q, err
}

// listedUser returns the user whose sessions a list is about; empty for all users. named is the one that the query
// names. Callers get the sessions of all users that they may read. Those who are not authenticated have to name a user:
// a list would tell them the names of the others.
func listedUser(r *http.Request, named, what string) (string, error) {
	if named != "" {
		if err := session.CheckIdentifier("user id", named); err != nil {
			return "", err
		}
	}
	caller := callerOf(r)
	switch {
	case named != "" && !caller.Is(named):
		return "", sessionNotFound(named, "")
	case named != "" || caller.May(access.Admin) || caller.May(access.Users) && caller.Self() != "":
		return named, nil
	case caller.User == "":
		return "", &httpError{status: http.StatusForbidden, message: "Forbidden: only callers who are authenticated may list the " + what + " of all users; name a user with ?userId="}
	}
	return caller.User, nil
}

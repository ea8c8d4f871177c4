package server

import (
	"cmp"
	"net/http"
	"unicode/utf8"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// maxNote is the largest number of characters of a note.
const maxNote = 4000

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
	f := run.Feedback{Run: id}
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			switch name {
			case "rating":
				if err := in.String(&f.Rating); err != nil {
					return err
				}
				if f.Rating != run.RatingUp && f.Rating != run.RatingDown {
					return in.Errorf("value_error", "must be up or down")
				}
				return nil
			case "note":
				if err := in.String(&f.Note); err != nil {
					return err
				}
				if utf8.RuneCountInString(f.Note) > maxNote {
					return in.Errorf("value_error", "must have at most %d characters", maxNote)
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
		list = []*run.Feedback{}
	}
	return answer(w, list)
}

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/feedback"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/session"
)

// ErrTooMuchFeedback means that a session has the most feedback that is stored.
var ErrTooMuchFeedback = fmt.Errorf("the feedback of a session can change at most %d times", feedback.MaxChanges)

// SetFeedback stores feedback to a run, of which the log must have an event: those of a
// fork and of an imported session do, too. Without a rating and a note it removes that of
// the author. It does nothing if nothing would change.
func (e *Engine) SetFeedback(ctx context.Context, key session.Key, f feedback.Feedback) (*feedback.Feedback, error) {
	s, err := e.cfg.Store.Get(ctx, key, session.Read{})
	if err != nil {
		return nil, fmt.Errorf("set feedback: %w", err)
	}
	list, changes, found, err := feedbackIn(s, f.Run)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, session.ErrRunNotFound
	}
	f.Time = event.Seconds(e.cfg.Now())
	var before feedback.Feedback
	for _, one := range list {
		if one.Run == f.Run && one.Author == f.Author {
			before = *one
		}
	}
	if before.Rating == f.Rating && before.Note == f.Note {
		if before.Time != 0 {
			f.Time = before.Time
		}
		return &f, nil
	}
	if changes >= feedback.MaxChanges {
		return nil, ErrTooMuchFeedback
	}
	doc, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	entry, err := session.NewEntry(&event.Event{
		ID: event.NewID(), InvocationID: ident.Patch(), Author: event.User, Timestamp: f.Time,
		CustomMetadata: map[string]json.RawMessage{feedback.Key: doc},
	})
	if err != nil {
		return nil, err
	}
	if err := e.cfg.Store.Patch(ctx, key, entry); err != nil {
		return nil, fmt.Errorf("set feedback: %w", err)
	}
	return &f, nil
}

// Feedback returns the feedback to the runs of a session, in the order in which it was
// first given.
func (e *Engine) Feedback(ctx context.Context, key session.Key) ([]*feedback.Feedback, error) {
	s, err := e.cfg.Store.Get(ctx, key, session.Read{})
	if err != nil {
		return nil, fmt.Errorf("read feedback: %w", err)
	}
	list, _, _, err := feedbackIn(s, "")
	return list, err
}

// feedbackIn returns what of the feedback in a log holds, how many events with feedback
// there are, and whether the log has an event of a run.
func feedbackIn(s *session.Session, id string) (list []*feedback.Feedback, changes int, found bool, err error) {
	var log feedback.Log
	for _, entry := range s.Seen() {
		ev, decodeErr := entry.Decode()
		if decodeErr != nil {
			err = errors.Join(err, decodeErr)
			continue
		}
		if ev.InvocationID == id {
			found = true
		}
		log.Add(entry.Seq, ev)
	}
	for _, f := range log.List() {
		list = append(list, &f.Feedback)
	}
	return list, log.Changes, found, err
}

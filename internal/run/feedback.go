package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/session"
)

// Feedback is an opinion on a run: that of an author replaces the earlier
// one of the same author. It is stored as an event without content, which models do
// not see.
type Feedback struct {
	Run    string  `json:"runId"`
	Author string  `json:"author"`
	Rating string  `json:"rating,omitempty"` // RatingUp, RatingDown or empty
	Note   string  `json:"note,omitempty"`
	Time   float64 `json:"timestamp"` // when it was given
}

// The ratings.
const (
	RatingUp   = "up"
	RatingDown = "down"
)

// FeedbackKey is the member of an event's custom metadata with the feedback.
const FeedbackKey = "feedback"

// maxFeedback is how often the feedback of one session can change.
const maxFeedback = 1000

// ErrTooMuchFeedback means that a session has the most feedback that is stored.
var ErrTooMuchFeedback = fmt.Errorf("the feedback of a session can change at most %d times", maxFeedback)

// SetFeedback stores feedback to a run, of which the log must have an event: those of a
// fork and of an imported session do, too. Without a rating and a note it removes that of
// the author. It does nothing if nothing would change.
func (e *Engine) SetFeedback(ctx context.Context, key session.Key, f Feedback) (*Feedback, error) {
	s, err := e.cfg.Store.Get(ctx, key, session.Read{})
	if err != nil {
		return nil, fmt.Errorf("set feedback: %w", err)
	}
	list, changes, found, err := feedback(s, f.Run)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, session.ErrRunNotFound
	}
	f.Time = event.Seconds(e.cfg.Now())
	var before Feedback
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
	if changes >= maxFeedback {
		return nil, ErrTooMuchFeedback
	}
	doc, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	entry, err := session.NewEntry(&event.Event{
		ID: event.NewID(), InvocationID: ident.Patch(), Author: event.User, Timestamp: f.Time,
		CustomMetadata: map[string]json.RawMessage{FeedbackKey: doc},
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
func (e *Engine) Feedback(ctx context.Context, key session.Key) ([]*Feedback, error) {
	s, err := e.cfg.Store.Get(ctx, key, session.Read{})
	if err != nil {
		return nil, fmt.Errorf("read feedback: %w", err)
	}
	list, _, _, err := feedback(s, "")
	return list, err
}

// feedback returns what of the feedback in a log holds, how many events with feedback
// there are, and whether the log has an event of a run.
func feedback(s *session.Session, id string) (list []*Feedback, changes int, found bool, err error) {
	type author struct{ run, name string }
	latest := map[author]*Feedback{}
	var order []author
	for _, entry := range s.Seen() {
		ev, decodeErr := entry.Decode()
		if decodeErr != nil {
			err = errors.Join(err, decodeErr)
			continue
		}
		if ev.InvocationID == id {
			found = true
		}
		f := feedbackOf(ev)
		if f == nil {
			continue
		}
		changes++
		who := author{f.Run, f.Author}
		if latest[who] == nil {
			order = append(order, who)
		}
		latest[who] = f
	}
	for _, who := range order {
		if f := latest[who]; f.Rating != "" || f.Note != "" {
			list = append(list, f)
		}
	}
	return list, changes, found, err
}

// feedbackOf returns the feedback in an event, or nil. Clients choose the custom metadata
// of the events of runs, so only events outside of runs count.
func feedbackOf(ev *event.Event) *Feedback {
	doc := ev.CustomMetadata[FeedbackKey]
	if doc == nil || ev.Content != nil || !strings.HasPrefix(ev.InvocationID, "p-") {
		return nil
	}
	f := &Feedback{}
	if json.Unmarshal(doc, f) != nil || f.Run == "" {
		return nil
	}
	return f
}

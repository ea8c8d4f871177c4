package textindex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/feedback"
	"github.com/parley-run/parley/internal/textsearch"
	"github.com/parley-run/parley/session"
)

// At is the place of a row among others, the newest first: its time in microseconds, its session, and its entry.
type At struct{ Time, Session, Seq int64 }

// Token returns the token for the rows that follow.
func (a At) Token() string { return fmt.Sprintf("%d.%d.%d", a.Time, a.Session, a.Seq) }

// Compare orders places.
func (a At) Compare(b At) int {
	return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Session, a.Session), cmp.Compare(b.Seq, a.Seq))
}

// After returns the place that a token stands for; before all rows if it is empty.
func After(token string) (At, error) {
	if token == "" {
		return At{math.MaxInt64, 0, 0}, nil
	}
	var n [3]int64
	parts := strings.Split(token, ".")
	for i, part := range parts {
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil || len(parts) != len(n) {
			return At{}, session.ErrBadToken
		}
		n[i] = v
	}
	return At{n[0], n[1], n[2]}, nil
}

// Opinion is a row of the index of feedback. The session of its place is that of the log, which only the store knows.
type Opinion struct {
	session.Feedback
	At
}

// Rates reports whether entries after a sequence number have feedback. Then the feedback of the whole log is
// indexed again: that costs as much as giving it does, which reads the log, too.
func Rates(entries []*session.Entry, after int64) bool {
	return slices.ContainsFunc(entries, func(e *session.Entry) bool {
		if e.Seq <= after || !feedback.May(e.JSON) {
			return false
		}
		ev, err := e.Decode()
		return err == nil && feedback.Of(ev) != nil
	})
}

// Feedback returns the rows of a whole log. origin is that of the session, as JSON.
func Feedback(log []*session.Entry, origin []byte) []*Opinion {
	var from session.Origin
	common := int64(0)
	if json.Unmarshal(origin, &from) == nil && from.Event != "" {
		for seq, ev := range events(log) {
			if ev.ID == from.Event {
				common = seq
				break
			}
		}
	}
	var rows []*Opinion
	for _, f := range feedback.In(events(session.Visible(log)), common) {
		given := textsearch.Time(f.Time)
		rows = append(rows, &Opinion{
			session.Feedback{Run: f.Run, Author: f.Author, Rating: f.Rating, Note: f.Note, Time: given, Event: f.Event, Message: f.Message, Answer: f.Answer},
			At{Time: given.UnixMicro(), Seq: f.Seq},
		})
	}
	return rows
}

// events returns the events of entries, without those that are damaged.
func events(entries []*session.Entry) iter.Seq2[int64, *event.Event] {
	return func(yield func(int64, *event.Event) bool) {
		for _, e := range entries {
			if ev, err := e.Decode(); err == nil && !yield(e.Seq, ev) {
				return
			}
		}
	}
}

// opinions is how much feedback is read together if not all of it is selected.
const opinions = 200

// ListFeedback returns a page of feedback. read returns at most limit rows that follow a place, in order. Those without
// a session cannot be seen.
func ListFeedback(q *session.FeedbackQuery, page session.Page, read func(from At, limit int) ([]*Opinion, error)) ([]*session.Feedback, string, error) {
	from, err := After(page.Token)
	if err != nil {
		return nil, "", err
	}
	if before := (At{Time: q.Before.UnixMicro()}); !q.Before.IsZero() && from.Compare(before) < 0 {
		from = before
	}
	size := cmp.Or(max(page.Size, 0), defaultSize)
	list := []*session.Feedback{}
	for done := 0; done < maxRead; {
		limit := size - len(list) + 1 // one more shows whether there is another page
		if q.Rating != "" || q.Noted {
			limit = max(limit, opinions)
		}
		rows, err := read(from, limit)
		if err != nil {
			return nil, "", err
		}
		for _, row := range rows {
			if !q.Since.IsZero() && row.Feedback.Time.Before(q.Since) {
				return list, "", nil
			}
			if row.Key.ID != "" && q.Matches(&row.Feedback) {
				if len(list) == size {
					return list, from.Token(), nil
				}
				list = append(list, &row.Feedback)
			}
			from = row.At
		}
		if len(rows) < limit {
			return list, "", nil
		}
		done += len(rows)
	}
	return list, from.Token(), nil
}

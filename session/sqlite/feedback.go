package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-run/parley/internal/textindex"
	"github.com/parley-run/parley/session"
)

// rate replaces the index of the feedback of a session.
func (c *conn) rate(ordinal int64, rows []*textindex.Opinion) error {
	if err := c.exec("DELETE FROM feedback WHERE session = ?", ordinal); err != nil {
		return err
	}
	for _, f := range rows {
		err := c.exec(`INSERT INTO feedback (session, seq, app, owner, time, run, author, rating, note, event, message, answer)
			SELECT ordinal, ?, app, owner, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE ordinal = ?`,
			f.Seq, f.At.Time, f.Run, f.Author, f.Rating, f.Note, f.Event, f.Message, f.Answer, ordinal)
		if err != nil {
			return err
		}
	}
	return nil
}

var _ session.FeedbackLister = (*backend)(nil)

// ListFeedback implements session.FeedbackLister.
func (s *backend) ListFeedback(ctx context.Context, q session.FeedbackQuery, page session.Page) ([]*session.Feedback, string, error) {
	of, value := "app", any(q.App)
	if q.User != "" {
		owner := session.Key{App: q.App, User: q.User}.OwnerDigest()
		of, value = "owner", owner[:]
	}
	// A row has one session, so that the limit is that of the rows that are read. The feedback of a session that was
	// rewound is listed when its index is.
	query := `SELECT f.time, f.session, f.seq, s.hidden = 0 AND s.rewound <= coalesce(u.feedback, 0), s.app, s.user, s.id,
		f.run, f.author, f.rating, f.note, f.event, f.message, f.answer
		FROM feedback AS f CROSS JOIN sessions AS s ON s.ordinal = f.session LEFT JOIN said_until AS u ON u.session = f.session
		WHERE f.` + of + ` = ? AND (f.time, f.session, f.seq) < (?, ?, ?) ORDER BY f.time DESC, f.session DESC, f.seq DESC LIMIT ?`
	list, next, err := textindex.ListFeedback(&q, page, func(from textindex.At, limit int) (rows []*textindex.Opinion, err error) {
		err = s.read(ctx, func(c *conn) error {
			rows = nil
			return c.each(query, []any{value, from.Time, from.Session, from.Seq, limit}, func(scan func(...any) error) error {
				one := &textindex.Opinion{}
				var key session.Key
				var shown bool
				err := scan(&one.At.Time, &one.Session, &one.Seq, &shown, &key.App, &key.User, &key.ID,
					&one.Run, &one.Author, &one.Rating, &one.Note, &one.Event, &one.Message, &one.Answer)
				one.Feedback.Time = time.UnixMicro(one.At.Time).UTC()
				if shown {
					one.Key = key
				}
				rows = append(rows, one)
				return err
			})
		})
		return rows, err
	})
	if err != nil && !errors.Is(err, session.ErrBadToken) {
		err = fmt.Errorf("list feedback: %w", err)
	}
	return list, next, err
}

package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/textindex"
	"github.com/parley-run/parley/session"
)

const (
	sqlUnrate = `DELETE FROM parley_feedback WHERE session = ANY ($1::bigint[])`

	sqlRate = `INSERT INTO parley_feedback (session, seq, app, owner, time, run, author, rating, note, event, message, answer)
		SELECT s.ordinal, u.seq, s.app, s.owner, u.time, u.run, u.author, u.rating, u.note, u.event, u.message, u.answer
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[])
			AS u (session, seq, time, run, author, rating, note, event, message, answer)
		JOIN parley_sessions s ON s.ordinal = u.session`

	// The feedback of a session that was rewound is listed when its index is. $1 application or owner, $2 to $4 the last
	// one of the page before, $5 limit.
	sqlFeedbackOfApp  = feedbackFrom + `app = $1::text` + feedbackNext
	sqlFeedbackOfUser = feedbackFrom + `owner = $1::bytea` + feedbackNext

	feedbackFrom = `SELECT f.time, f.session, f.seq, s.app, s.usr, s.id, f.run, f.author, f.rating, f.note, f.event, f.message, f.answer FROM (
			SELECT * FROM parley_feedback WHERE `
	feedbackNext = ` AND (time, session, seq) < ($2::bigint, $3::bigint, $4::bigint)
			ORDER BY time DESC, session DESC, seq DESC LIMIT $5::bigint) AS f
		LEFT JOIN (parley_sessions s JOIN parley_said_until u ON u.session = s.ordinal AND s.rewound <= u.feedback) ON s.ordinal = f.session AND NOT s.hidden
		ORDER BY f.time DESC, f.session DESC, f.seq DESC`
)

// ratings are changes of the index of feedback.
type ratings struct {
	replaced              []int64
	sessions, seqs, times []int64
	texts                 [7][][]byte
}

// replace replaces the feedback of a session.
func (r *ratings) replace(ordinal int64, rows []*textindex.Opinion) {
	r.replaced = append(r.replaced, ordinal)
	for _, f := range rows {
		r.sessions, r.seqs, r.times = append(r.sessions, ordinal), append(r.seqs, f.Seq), append(r.times, f.At.Time)
		for i, text := range []string{f.Run, f.Author, f.Rating, f.Note, f.Event, f.Message, f.Answer} {
			r.texts[i] = append(r.texts[i], []byte(text))
		}
	}
}

func (r *ratings) queue(b *pgx.Batch) {
	if len(r.replaced) > 0 {
		b.Queue(sqlUnrate, r.replaced)
	}
	if len(r.seqs) > 0 {
		b.Queue(sqlRate, r.sessions, r.seqs, r.times, r.texts[0], r.texts[1], r.texts[2], r.texts[3], r.texts[4], r.texts[5], r.texts[6])
	}
}

var (
	_ session.FeedbackLister = (*backend)(nil)
	_ session.FeedbackLister = (*many)(nil)
)

// ListFeedback implements session.FeedbackLister.
func (s *backend) ListFeedback(ctx context.Context, q session.FeedbackQuery, page session.Page) ([]*session.Feedback, string, error) {
	return textindex.ListFeedback(&q, page, func(from textindex.At, limit int) ([]*textindex.Opinion, error) {
		return s.feedback(ctx, &q, from, limit)
	})
}

// feedback returns the feedback of an application or a user that follows a place.
func (s *backend) feedback(ctx context.Context, q *session.FeedbackQuery, from textindex.At, limit int) (list []*textindex.Opinion, err error) {
	statement, of := sqlFeedbackOfApp, any(wellFormed(q.App))
	if q.User != "" {
		owner := session.Key{App: q.App, User: q.User}.OwnerDigest()
		statement, of = sqlFeedbackOfUser, owner[:]
	}
	err = s.read(ctx, "listing feedback", func(ctx context.Context, conn *pgxpool.Conn) error {
		list = nil
		rows, err := conn.Query(ctx, statement, of, from.Time, from.Session, from.Seq, int64(limit))
		if err != nil {
			return err
		}
		var at textindex.At
		var app, user, id *string
		var texts [7][]byte
		_, err = pgx.ForEachRow(rows, []any{&at.Time, &at.Session, &at.Seq, &app, &user, &id, &texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &texts[5], &texts[6]}, func() error {
			one := &textindex.Opinion{At: at}
			if id != nil { // without its session, it is not listed
				one.Key = session.Key{App: *app, User: *user, ID: *id}
			}
			one.Feedback.Time = time.UnixMicro(at.Time).UTC()
			for i, text := range []*string{&one.Run, &one.Author, &one.Rating, &one.Note, &one.Event, &one.Message, &one.Answer} {
				*text = string(texts[i])
			}
			list = append(list, one)
			return nil
		})
		return err
	})
	return list, err
}

// ListFeedback implements session.FeedbackLister.
func (m *many) ListFeedback(ctx context.Context, q session.FeedbackQuery, page session.Page) ([]*session.Feedback, string, error) {
	if q.User != "" {
		return paged(ctx, m, session.Key{App: q.App, User: q.User}, emptyPage[*session.Feedback], func(ctx context.Context, s *backend) ([]*session.Feedback, string, error) {
			return s.ListFeedback(ctx, q, page)
		})
	}
	return textindex.ListFeedback(&q, page, func(from textindex.At, limit int) ([]*textindex.Opinion, error) {
		lists, err := every(ctx, m, func(ctx context.Context, s *backend) ([]*textindex.Opinion, error) {
			return s.feedback(ctx, &q, from, limit)
		})
		if err != nil {
			return nil, err
		}
		var all []*textindex.Opinion
		for _, one := range lists {
			all = append(all, one.value...)
		}
		// Ordinals are unique, and sessions keep them.
		slices.SortFunc(all, func(a, b *textindex.Opinion) int { return a.Compare(b.At) })
		return all[:min(len(all), limit)], nil
	})
}

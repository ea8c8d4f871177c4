package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/parley-run/parley/internal/textindex"
	"github.com/parley-run/parley/internal/textsearch"
	"github.com/parley-run/parley/session"
)

// The indexes of what was said and of feedback are written after the log, so that appending does not wait
// for them. The writer notes the sessions that have grown; Index reads what is new of them.

// indexing is what Index has to do.
type indexing struct {
	mu     sync.Mutex
	grown  textindex.Pending[int64] // ordinals
	kept   textindex.Kept
	walked int64     // ordinal of the last session that was looked at
	end    time.Time // when all had been looked at; zero if they have not
}

// lag is a session with entries that are not indexed.
type lag struct {
	ordinal, until, rewound int64
	step                    textindex.Step
	more                    bool // there are more after the step

	rated, ratedThen int64                // until where feedback is indexed, and until where it is then
	changed          bool                 // all feedback of the session is replaced
	feedback         []*textindex.Opinion // by this
}

var _ session.Searcher = (*backend)(nil)

// keep keeps the texts of entries that were stored, for Index.
func (s *backend) keep(key session.Key, ordinal int64, entries []*session.Entry) {
	if !key.Hidden() {
		s.indexing.kept.Add(ordinal, 0, entries...)
	}
}

// Index implements session.Searcher.
func (s *backend) Index(ctx context.Context) (done bool, err error) {
	i := &s.indexing
	i.mu.Lock()
	defer i.mu.Unlock()
	ordinals, lost := i.grown.Take(textindex.Sessions)
	if lost || time.Since(i.end) > textindex.Again {
		i.end = time.Time{}
	}
	more := len(ordinals) == textindex.Sessions
	switch {
	case len(ordinals) > 0:
		var later bool
		later, err = s.index(ctx, ordinals)
		more = more || later // those that have grown since are left to the next call
	case i.end.IsZero():
		err = s.findUnindexed(ctx)
		more = !i.grown.Empty()
	}
	if err != nil {
		i.grown.Add(ordinals...)
		return false, fmt.Errorf("index what was said: %w", err)
	}
	return !more && !i.end.IsZero(), nil
}

// findUnindexed looks at the next sessions for those whose index lags behind the log.
func (s *backend) findUnindexed(ctx context.Context) error {
	i := &s.indexing
	var found []int64
	seen, last := 0, int64(0)
	err := s.read(ctx, func(c *conn) error {
		found, seen = nil, 0
		return c.each(`SELECT ordinal, hidden = 0 AND sessions.seq > coalesce(min(u.seq, u.feedback), 0) FROM sessions LEFT JOIN said_until u ON u.session = ordinal
			WHERE ordinal > ? ORDER BY ordinal LIMIT ?`, []any{i.walked, textindex.Walk}, func(scan func(...any) error) error {
			var lags bool
			err := scan(&last, &lags)
			if seen++; lags {
				found = append(found, last)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	i.walked = last
	if seen < textindex.Walk {
		i.walked, i.end = 0, time.Now()
	}
	i.grown.Add(found...)
	return nil
}

// index indexes some of what is new of sessions, and reports whether there is more.
func (s *backend) index(ctx context.Context, ordinals []int64) (more bool, err error) {
	var lags []*lag
	var later []int64
	err = s.read(ctx, func(c *conn) error {
		lags, later = nil, nil
		added := 0
		for n, ordinal := range ordinals {
			if added >= textindex.Events {
				later = append(later, ordinals[n:]...) // the writer has other work
				break
			}
			l, err := c.lag(ordinal, &s.indexing.kept)
			if err != nil {
				return err
			}
			if l == nil {
				continue
			}
			if l.more {
				later = append(later, ordinal)
			}
			lags = append(lags, l)
			added += len(l.step.Add) + len(l.step.Gone) + len(l.feedback)
		}
		return nil
	})
	if err == nil && len(lags) > 0 {
		var changed []int64
		err = s.write(ctx, func(c *conn) error {
			changed = nil
			for _, l := range lags {
				ok, err := c.indexTexts(l)
				if err != nil {
					return err
				}
				if !ok {
					changed = append(changed, l.ordinal)
				}
			}
			return nil
		})
		later = append(later, changed...)
	}
	if err == nil {
		s.indexing.grown.Add(later...)
	}
	return len(later) > 0, err
}

// errEnough ends a read.
var errEnough = errors.New("enough")

// lag returns what the index of a session lacks; nil for nothing.
func (c *conn) lag(ordinal int64, kept *textindex.Kept) (*lag, error) {
	l := &lag{ordinal: ordinal}
	var seq int64
	var owner, origin []byte
	err := c.one(`SELECT owner, origin, sessions.seq, rewound, coalesce(u.seq, 0), coalesce(u.feedback, 0) FROM sessions LEFT JOIN said_until u ON u.session = ordinal
		WHERE ordinal = ? AND hidden = 0`, []any{ordinal}, &owner, &origin, &seq, &l.rewound, &l.until, &l.rated)
	from := min(l.until, l.rated)
	if errors.Is(err, sql.ErrNoRows) || err == nil && seq <= from {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	step, ok := kept.Take(textindex.Prefix([32]byte(owner)), ordinal, 0, from, seq)
	if ok && l.rewound <= from && l.until == l.rated {
		l.step, l.ratedThen = step, seq
		return l, nil
	}
	log := &session.Session{Ordinal: ordinal}
	whole := l.rewound > from
	if whole {
		err = c.entries(log, 0, seq)
	} else {
		add, size := addEntry(log), 0
		err = c.each("SELECT seq, json, sum FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?", []any{ordinal, from, textindex.Events},
			func(scan func(...any) error) error {
				if size > textindex.Bytes {
					return errEnough
				}
				err := add(scan)
				size += len(log.Entries[len(log.Entries)-1].JSON)
				return err
			})
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	l.step = textindex.Next(textindex.Prefix([32]byte(owner)), log.Entries, l.until, l.rewound)
	if !whole && textindex.Rates(log.Entries, l.rated) {
		whole = true
		if err := c.entries(log, 0, seq); err != nil {
			return nil, err
		}
	}
	l.ratedThen = l.rated
	if n := len(log.Entries); n > 0 {
		l.ratedThen = max(l.rated, log.Entries[n-1].Seq)
	}
	if whole {
		l.changed, l.feedback = true, textindex.Feedback(log.Entries, origin)
	}
	l.more = min(l.step.Until, l.ratedThen) < seq
	return l, nil
}

// indexTexts changes the index of a session. It reports false if the session has changed in
// a way that needs another change.
func (c *conn) indexTexts(l *lag) (bool, error) {
	var until, rated, rewound int64
	err := c.one("SELECT rewound, coalesce(u.seq, 0), coalesce(u.feedback, 0) FROM sessions LEFT JOIN said_until u ON u.session = ordinal WHERE ordinal = ?", []any{l.ordinal}, &rewound, &until, &rated)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil // it was deleted
	}
	if err != nil || until != l.until || rated != l.rated || rewound != l.rewound {
		return false, err
	}
	for _, seq := range l.step.Gone {
		if err := c.exec("DELETE FROM said WHERE session = ? AND seq = ?", l.ordinal, seq); err != nil {
			return false, err
		}
	}
	// The index is fastest in the order of its rows.
	slices.SortStableFunc(l.step.Add, func(a, b textindex.Row) int { return a.Time.Compare(b.Time) })
	for _, row := range l.step.Add {
		id, err := c.textID(row.Time.UnixMicro())
		if err != nil {
			return false, err
		}
		err = c.exec("INSERT INTO said (id, session, seq, event, author, time, text) VALUES (?, ?, ?, ?, ?, ?, ?)",
			id, l.ordinal, row.Seq, row.Event, row.Author, row.Time.UnixMicro(), row.Text.Text)
		if err == nil {
			err = c.exec("INSERT INTO said_words (rowid, words) VALUES (?, ?)", id, row.Terms)
		}
		if err != nil {
			return false, err
		}
	}
	if l.changed {
		if err := c.rate(l.ordinal, l.feedback); err != nil {
			return false, err
		}
	}
	return true, c.exec("INSERT INTO said_until (session, seq, feedback) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq, feedback = excluded.feedback",
		l.ordinal, l.step.Until, l.ratedThen)
}

// textID returns the id of a text with a time. Texts of one microsecond have ids that
// follow one another, in most cases before those of the next one.
func (c *conn) textID(micros int64) (int64, error) {
	const each = 1 << 9
	first := (micros + 1) * each // not 0, see session.Page.Token
	var last sql.NullInt64
	for _, many := range []int64{each, 1 << 20, 1 << 30, 1 << 40, math.MaxInt64 - first} {
		err := c.one("SELECT max(id) FROM said WHERE id >= ? AND id < ?", []any{first, first + many}, &last)
		if err != nil || !last.Valid {
			return first, err
		}
		if last.Int64+1 < first+many {
			break
		}
	}
	return last.Int64 + 1, nil
}

// Search implements session.Searcher.
func (s *backend) Search(ctx context.Context, app, user, query string, page session.Page) ([]*session.Found, string, error) {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	words := "" // for the index
	read := func(q *textsearch.Query, token string, limit int) (list []textindex.Candidate, err error) {
		below, err := (&session.Page{Token: token}).Below()
		if err != nil {
			return nil, err
		}
		err = s.read(ctx, func(c *conn) error {
			if list = nil; words == "" {
				var err error
				if words, err = c.match(q, textindex.Prefix(owner)); err != nil {
					return err
				}
			}
			// The words come first, and in the order of the result: no more is read than
			// the page needs. A session that was rewound is found when its index is.
			return c.each(`SELECT t.id, s.id, t.event, t.author, t.time, t.text FROM said_words AS w CROSS JOIN said AS t ON t.id = w.rowid
				CROSS JOIN sessions AS s ON s.ordinal = t.session CROSS JOIN said_until AS u ON u.session = t.session
				WHERE w.said_words MATCH ? AND w.rowid < ? AND s.owner = ? AND s.hidden = 0 AND s.rewound <= u.seq ORDER BY w.rowid DESC LIMIT ?`,
				[]any{words, below, owner[:], limit}, func(scan func(...any) error) error {
					var one textindex.Candidate
					var id, micros int64
					err := scan(&id, &one.Session, &one.Event, &one.Author, &micros, &one.Text)
					one.Time, one.Token = time.UnixMicro(micros).UTC(), fmt.Sprint(id)
					list = append(list, one)
					return err
				})
		})
		return list, err
	}
	// A text has one session, so that the limit is that of the rows that are read. Those of others are not.
	recent := func(token string, limit int) (list []textindex.Candidate, end string, err error) {
		below, err := (&session.Page{Token: token}).Below()
		if err != nil {
			return nil, "", err
		}
		err = s.read(ctx, func(c *conn) error {
			list, end = nil, ""
			seen := 0
			err := c.each(`SELECT t.id, s.owner = ?1 AND s.hidden = 0 AND s.rewound <= coalesce(u.seq, 0), s.id, t.event, t.author, t.time,
				CASE WHEN s.owner = ?1 THEN t.text ELSE '' END
				FROM said AS t CROSS JOIN sessions AS s ON s.ordinal = t.session LEFT JOIN said_until AS u ON u.session = t.session
				WHERE t.id < ?2 ORDER BY t.id DESC LIMIT ?3`, []any{owner[:], below, limit}, func(scan func(...any) error) error {
				var one textindex.Candidate
				var id, micros int64
				var own bool
				if err := scan(&id, &own, &one.Session, &one.Event, &one.Author, &micros, &one.Text); err != nil {
					return err
				}
				one.Time, one.Token = time.UnixMicro(micros).UTC(), fmt.Sprint(id)
				if own {
					list = append(list, one)
				}
				seen++
				end = one.Token
				return nil
			})
			if seen < limit {
				end = ""
			}
			return err
		})
		return list, end, err
	}
	found, next, err := textindex.Search(query, page, read, recent)
	if err != nil && !errors.Is(err, session.ErrBadQuery) && !errors.Is(err, session.ErrBadToken) {
		err = fmt.Errorf("search: %w", err)
	}
	return found, next, err
}

const (
	// beginning is how many letters of a word have an index of their own; see the migrations.
	beginning = 4
	// maxMerged is how many words of texts are worth to be found before the newest texts are
	// returned.
	maxMerged = 5000
)

// match returns the query for the index of words. If the incomplete word is long and frequent,
// it is made shorter: the index returns the newest texts with a short one first, and those
// that do not match are left out later.
func (c *conn) match(q *textsearch.Query, prefix string) (string, error) {
	_, begun := q.Terms()
	if utf8.RuneCountInString(begun) <= beginning {
		return q.FTS5(prefix), nil
	}
	var n int
	err := c.one("SELECT count(*) FROM (SELECT 1 FROM said_terms WHERE term >= ? AND term <= ? LIMIT ?)",
		[]any{prefix + begun, prefix + begun + string(utf8.MaxRune), maxMerged}, &n)
	if err != nil || n < maxMerged {
		return q.FTS5(prefix), err
	}
	return q.ShortFTS5(prefix, beginning), nil
}

// resetIndex deletes the index of a session. Index makes it again.
func (c *conn) resetIndex(ordinal int64) error {
	c.grown = append(c.grown, ordinal)
	for _, table := range []string{"said", "feedback"} {
		if err := c.exec("DELETE FROM "+table+" WHERE session = ?", ordinal); err != nil {
			return err
		}
	}
	return c.exec("DELETE FROM said_until WHERE session = ?", ordinal)
}

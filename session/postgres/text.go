package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/textindex"
	"github.com/parley-run/parley/internal/textsearch"
	"github.com/parley-run/parley/session"
)

const (
	// $1 the last one that was looked at, $2 limit.
	sqlUnindexed = `SELECT s.ordinal, NOT s.hidden AND s.seq > coalesce(least(u.seq, u.feedback), 0) FROM parley_sessions s
		LEFT JOIN parley_said_until u ON u.session = s.ordinal WHERE s.ordinal > $1::bigint ORDER BY s.ordinal LIMIT $2::bigint`

	sqlGrown = `SELECT s.ordinal FROM parley_sessions s WHERE s.digest = ANY ($1::bytea[]) AND NOT s.hidden`

	// The sessions are locked first, as by all others, and cannot be deleted then. Those
	// that are being deleted are skipped.
	sqlIndexLock = `SELECT s.ordinal FROM parley_sessions s WHERE s.ordinal = ANY ($1::bigint[]) AND NOT s.hidden
		ORDER BY s.ordinal FOR KEY SHARE SKIP LOCKED`

	sqlIndexFirst = `INSERT INTO parley_said_until (session, seq) SELECT u.session, 0 FROM unnest($1::bigint[]) AS u (session)
		ORDER BY u.session ON CONFLICT DO NOTHING`

	// Another process that indexes a session waits here, and then sees what was added.
	sqlIndexUntil = `SELECT u.session FROM parley_said_until u WHERE u.session = ANY ($1::bigint[]) ORDER BY u.session FOR UPDATE`

	sqlIndexLags = `SELECT s.ordinal, s.owner, s.origin, s.seq, s.rewound, u.seq, u.feedback FROM parley_sessions s
		JOIN parley_said_until u ON u.session = s.ordinal WHERE s.ordinal = ANY ($1::bigint[]) AND s.seq > least(u.seq, u.feedback) ORDER BY s.ordinal`

	// The next entries of sessions, as many as fit: $1 sessions, $2 after, $3 until, $4 how
	// many, $5 bytes, $6 how many of each.
	sqlIndexEntries = `SELECT e.place, e.seq, e.json, e.sum FROM (
			SELECT l.place, v.seq, v.json, v.sum, sum(octet_length(v.json)) OVER (ORDER BY l.place, v.seq) - octet_length(v.json) AS before
			FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS l (session, after, until, place)
			CROSS JOIN LATERAL (SELECT seq, json, sum FROM parley_events
				WHERE session = l.session AND seq > l.after AND seq <= l.until ORDER BY seq LIMIT $6::bigint) AS v
			ORDER BY l.place, v.seq LIMIT $4::bigint) AS e
		WHERE e.before < $5::bigint ORDER BY e.place, e.seq`

	sqlDeleteTexts = `DELETE FROM parley_said t USING unnest($1::bigint[], $2::bigint[]) AS u (session, seq)
		WHERE t.session = u.session AND t.seq = u.seq`

	sqlAddTexts = `INSERT INTO parley_said (session, seq, owner, time, event, author, text, words)
		SELECT u.session, u.seq, u.owner, u.time, u.event, u.author, u.text, array_to_tsvector(string_to_array(u.words, ' '))
		FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[], $8::text[])
			AS u (session, seq, owner, time, event, author, text, words)`

	sqlIndexed = `UPDATE parley_said_until t SET seq = u.seq, feedback = u.feedback
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (session, seq, feedback) WHERE t.session = u.session`

	// Index makes the index of the session again.
	sqlResetIndex = `WITH s AS (SELECT ordinal FROM parley_sessions WHERE digest = $1),
		t AS (DELETE FROM parley_said t USING s WHERE t.session = s.ordinal),
		f AS (DELETE FROM parley_feedback f USING s WHERE f.session = s.ordinal)
		DELETE FROM parley_said_until u USING s WHERE u.session = s.ordinal`

	// A session that was rewound is found when its index is. $1 words, $2 user, $3 to $5
	// the last one of the page before, $6 limit. The owner is written so that the words
	// are looked up: in the order of time, a rare word would be found after most texts.
	sqlSearch = `SELECT t.time, t.session, t.seq, s.id, t.event, t.author, t.text FROM (
			SELECT * FROM parley_said WHERE words @@ $1::text::tsquery AND owner || ''::bytea = $2::bytea
				AND (time, session, seq) < ($3::bigint, $4::bigint, $5::bigint)
			ORDER BY time DESC, session DESC, seq DESC LIMIT $6::bigint) AS t
		LEFT JOIN (parley_sessions s JOIN parley_said_until u ON u.session = s.ordinal AND s.rewound <= u.seq) ON s.ordinal = t.session AND NOT s.hidden
		ORDER BY t.time DESC, t.session DESC, t.seq DESC`

	// The same without words.
	sqlNewest = `SELECT t.time, t.session, t.seq, s.id, t.event, t.author, t.text FROM (
			SELECT * FROM parley_said WHERE owner = $1::bytea AND (time, session, seq) < ($2::bigint, $3::bigint, $4::bigint)
			ORDER BY time DESC, session DESC, seq DESC LIMIT $5::bigint) AS t
		LEFT JOIN (parley_sessions s JOIN parley_said_until u ON u.session = s.ordinal AND s.rewound <= u.seq) ON s.ordinal = t.session AND NOT s.hidden
		ORDER BY t.time DESC, t.session DESC, t.seq DESC`
)

// indexEvents is how many events of all sessions are read together. Sessions of which none
// is read are locked in vain, and again by the next call. indexEach is how many are those of
// one session.
const (
	indexEvents = 4000
	indexEach   = 500
)

// indexing is what Index has to do. The store notes the sessions that it has changed.
type indexing struct {
	mu     sync.Mutex
	grown  textindex.Pending[session.Key]
	behind textindex.Pending[int64] // ordinals
	kept   textindex.Kept
	walked int64     // ordinal of the last session that was looked at
	end    time.Time // when all had been looked at; zero if they have not
}

var _ session.Searcher = (*backend)(nil)

// keep keeps the texts of entries that were stored, for Index. since is the timeline before
// that. ordinal is 0 if it is not known.
func (s *backend) keep(key session.Key, ordinal, since int64, entries ...*session.Entry) {
	if ordinal != 0 && !key.Hidden() {
		s.indexing.kept.Add(ordinal, since, entries...)
	}
}

// Index implements session.Searcher.
func (s *backend) Index(ctx context.Context) (done bool, err error) {
	i := &s.indexing
	i.mu.Lock()
	defer i.mu.Unlock()
	keys, lost := i.grown.Take(textindex.Sessions)
	if lost || time.Since(i.end) > textindex.Again {
		i.end = time.Time{}
	}
	ordinals, lost := i.behind.Take(textindex.Sessions)
	if lost {
		i.end = time.Time{}
	}
	switch {
	case len(keys) > 0 || len(ordinals) > 0:
		err = s.index(ctx, keys, ordinals)
	case i.end.IsZero():
		err = s.findUnindexed(ctx)
	}
	if err != nil {
		i.grown.Add(keys...)
		i.behind.Add(ordinals...)
		return false, err
	}
	// Those that have grown since are left to the next call.
	return len(keys) < textindex.Sessions && i.behind.Empty() && !i.end.IsZero(), nil
}

// findUnindexed looks at the next sessions for those whose index lags behind the log.
func (s *backend) findUnindexed(ctx context.Context) error {
	i := &s.indexing
	var found []int64
	seen, last := 0, int64(0)
	err := s.read(ctx, "looking for what was said", func(ctx context.Context, conn *pgxpool.Conn) error {
		found, seen = nil, 0
		rows, err := conn.Query(ctx, sqlUnindexed, i.walked, int64(textindex.Walk))
		if err != nil {
			return err
		}
		var lags bool
		_, err = pgx.ForEachRow(rows, []any{&last, &lags}, func() error {
			if seen++; lags {
				found = append(found, last)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	i.walked = last
	if seen < textindex.Walk {
		i.walked, i.end = 0, time.Now()
	}
	i.behind.Add(found...)
	return nil
}

// index indexes some of what is new of sessions.
func (s *backend) index(ctx context.Context, keys []session.Key, ordinals []int64) error {
	var later []int64
	err := s.write(ctx, "indexing what was said", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		later = nil
		all, err := grown(ctx, conn, keys)
		if err != nil {
			return err
		}
		all = append(all, ordinals...)
		if len(all) == 0 {
			return nil
		}
		return transact(ctx, conn, func(tx pgx.Tx) error {
			later, err = s.indexAll(ctx, tx, all)
			return err
		})
	})
	if err == nil {
		s.indexing.behind.Add(later...)
	}
	return err
}

// grown returns the ordinals of sessions.
func grown(ctx context.Context, conn *pgxpool.Conn, keys []session.Key) ([]int64, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	digests := make([][]byte, len(keys))
	for i, key := range keys {
		d := key.Digest()
		digests[i] = d[:]
	}
	rows, err := conn.Query(ctx, sqlGrown, digests)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// lag is a session with entries that are not indexed.
type lag struct {
	Ordinal                    int64
	Owner, Origin              []byte
	Seq, Rewound, Until, Rated int64 // until where texts and feedback are indexed
}

// from returns until where all of the log is indexed.
func (l *lag) from() int64 { return min(l.Until, l.Rated) }

// rewound reports whether something that is indexed may be rewound since. That is only
// known from the whole log.
func (l *lag) rewound() bool { return l.Rewound > l.from() }

// indexAll changes the index of sessions, and returns those of which there is more.
func (s *backend) indexAll(ctx context.Context, tx pgx.Tx, ordinals []int64) (later []int64, err error) {
	rows, err := tx.Query(ctx, sqlIndexLock, ordinals)
	if err != nil {
		return nil, err
	}
	if ordinals, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(ordinals) == 0 {
		return nil, err
	}
	b := &pgx.Batch{}
	b.Queue(sqlIndexFirst, ordinals)
	b.Queue(sqlIndexUntil, ordinals)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	if rows, err = tx.Query(ctx, sqlIndexLags, ordinals); err != nil {
		return nil, err
	}
	lags, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[lag])
	if err != nil {
		return nil, err
	}
	b = &pgx.Batch{}
	var next []*lag
	var parts []*part
	timeline := s.Timeline()
	logs := wholeLogs{tx: tx, left: textindex.Bytes}
	for _, l := range lags {
		if step, ok := s.indexing.kept.Take(textindex.Prefix([32]byte(l.Owner)), l.Ordinal, timeline, l.from(), l.Seq); ok && !l.rewound() && l.Until == l.Rated {
			parts = append(parts, &part{lag: l, kept: &step})
			continue
		}
		if !l.rewound() {
			next = append(next, l)
			continue
		}
		log, ok, err := logs.read(ctx, l)
		if err != nil {
			return nil, err
		}
		if !ok {
			later = append(later, l.Ordinal)
			continue
		}
		later = append(later, queueSteps(b, []*part{{lag: l, entries: log, ratings: rate(l, log)}})...)
	}
	entries, err := readLags(ctx, tx, next, indexEvents, textindex.Bytes, indexEach)
	if err != nil {
		return nil, err
	}
	for i, l := range next {
		p := &part{lag: l, entries: entries[i]}
		if textindex.Rates(p.entries, l.Rated) {
			log, ok, err := logs.read(ctx, l)
			if err != nil {
				return nil, err
			}
			if !ok {
				later = append(later, l.Ordinal)
				continue
			}
			p.ratings = rate(l, log)
		}
		parts = append(parts, p)
	}
	later = append(later, queueSteps(b, parts)...)
	return later, tx.SendBatch(ctx, b).Close()
}

// wholeLogs reads logs from their beginning, one at a time, so that no more than one is in
// memory, and the first ones only, so that a call does not take too long.
type wholeLogs struct {
	tx   pgx.Tx
	left int // bytes
}

// read returns the log of a session. ok is false if it is left to the next call.
func (w *wholeLogs) read(ctx context.Context, l *lag) (log []*session.Entry, ok bool, err error) {
	if w.left <= 0 {
		return nil, false, nil
	}
	all, err := readLags(ctx, w.tx, []*lag{{Ordinal: l.Ordinal, Seq: l.Seq}}, math.MaxInt64, math.MaxInt64, math.MaxInt64)
	if err != nil {
		return nil, false, err
	}
	for _, e := range all[0] {
		w.left -= len(e.JSON)
	}
	return all[0], true, nil
}

// part is what is read of a session to change its index.
type part struct {
	*lag
	kept    *textindex.Step  // nil if entries are read
	entries []*session.Entry // the next ones
	ratings *rated           // nil if the feedback has not changed
}

// rated is the feedback in a whole log.
type rated struct {
	rows  []*textindex.Opinion
	until int64 // sequence number of the last entry
}

func rate(l *lag, log []*session.Entry) *rated {
	r := &rated{rows: textindex.Feedback(log, l.Origin)}
	if n := len(log); n > 0 {
		r.until = log[n-1].Seq
	}
	return r
}

// readLags returns entries of each session that are not indexed.
func readLags(ctx context.Context, tx pgx.Tx, lags []*lag, most, bytes, each int64) ([][]*session.Entry, error) {
	all := make([][]*session.Entry, len(lags))
	var ordinals, after, until []int64
	for _, l := range lags {
		ordinals, after, until = append(ordinals, l.Ordinal), append(after, l.from()), append(until, l.Seq)
	}
	if len(lags) == 0 {
		return all, nil
	}
	rows, err := tx.Query(ctx, sqlIndexEntries, ordinals, after, until, most, bytes, each)
	if err != nil {
		return nil, err
	}
	var place, seq int64
	var text, sum []byte
	_, err = pgx.ForEachRow(rows, []any{&place, &seq, &text, &sum}, func() error {
		all[place-1] = append(all[place-1], session.Load(seq, slices.Clone(text), slices.Clone(sum)))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading logs: %w", err)
	}
	return all, nil
}

// queueSteps queues the changes of the indexes, and returns the sessions of which there is
// more.
func queueSteps(b *pgx.Batch, parts []*part) (later []int64) {
	var goneOf, gone, addedTo, seqs, times, ordinals, until, rated []int64
	var rates ratings
	var owners, events, authors, texts [][]byte
	var words []string
	for _, l := range parts {
		var step textindex.Step
		then := l.Rated
		if l.kept != nil {
			step, then = *l.kept, l.kept.Until
		} else {
			step = textindex.Next(textindex.Prefix([32]byte(l.Owner)), l.entries, l.Until, l.Rewound)
		}
		if l.ratings != nil {
			rates.replace(l.Ordinal, l.ratings.rows)
			then = max(then, l.ratings.until)
		} else if n := len(l.entries); n > 0 {
			then = max(then, l.entries[n-1].Seq)
		}
		if min(step.Until, then) < l.Seq {
			later = append(later, l.Ordinal)
		}
		ordinals, until, rated = append(ordinals, l.Ordinal), append(until, step.Until), append(rated, then)
		for _, seq := range step.Gone {
			goneOf, gone = append(goneOf, l.Ordinal), append(gone, seq)
		}
		for _, row := range step.Add {
			addedTo, owners = append(addedTo, l.Ordinal), append(owners, l.Owner)
			seqs, times = append(seqs, row.Seq), append(times, row.Time.UnixMicro())
			events, authors, texts = append(events, []byte(row.Event)), append(authors, []byte(row.Author)), append(texts, []byte(row.Text.Text))
			words = append(words, row.Terms)
		}
	}
	if len(gone) > 0 {
		b.Queue(sqlDeleteTexts, goneOf, gone)
	}
	if len(seqs) > 0 {
		b.Queue(sqlAddTexts, addedTo, seqs, owners, times, events, authors, texts, words)
	}
	rates.queue(b)
	if len(ordinals) > 0 {
		b.Queue(sqlIndexed, ordinals, until, rated)
	}
	return later
}

// Search implements session.Searcher.
func (s *backend) Search(ctx context.Context, app, user, query string, page session.Page) ([]*session.Found, string, error) {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	candidates := func(statement, token string, limit int, args ...any) (list []textindex.Candidate, err error) {
		from, err := textindex.After(token)
		if err != nil {
			return nil, err
		}
		args = append(args, owner[:], from.Time, from.Session, from.Seq, int64(limit))
		err = s.read(ctx, "searching", func(ctx context.Context, conn *pgxpool.Conn) error {
			list = nil
			rows, err := conn.Query(ctx, statement, args...)
			if err != nil {
				return err
			}
			var at textindex.At
			var id *string
			var event, author, text []byte
			_, err = pgx.ForEachRow(rows, []any{&at.Time, &at.Session, &at.Seq, &id, &event, &author, &text}, func() error {
				one := textindex.Candidate{Event: string(event), Author: string(author), Time: time.UnixMicro(at.Time).UTC(), Token: at.Token()}
				if id != nil { // without its text, it is not found
					one.Session, one.Text = *id, string(text)
				}
				list = append(list, one)
				return nil
			})
			return err
		})
		return list, err
	}
	read := func(q *textsearch.Query, token string, limit int) ([]textindex.Candidate, error) {
		return candidates(sqlSearch, token, limit, q.TSQuery(textindex.Prefix(owner)))
	}
	recent := func(token string, limit int) (list []textindex.Candidate, end string, err error) {
		if list, err = candidates(sqlNewest, token, limit); len(list) == limit {
			end = list[limit-1].Token
		}
		return list, end, err
	}
	return textindex.Search(query, page, read, recent)
}

// Search implements session.Searcher.
func (m *many) Search(ctx context.Context, app, user, query string, p session.Page) ([]*session.Found, string, error) {
	return paged(ctx, m, session.Key{App: app, User: user}, emptyPage[*session.Found], func(ctx context.Context, s *backend) ([]*session.Found, string, error) {
		return s.Search(ctx, app, user, query, p)
	})
}

// Index implements session.Searcher.
func (m *many) Index(ctx context.Context) (bool, error) {
	dones, err := available(ask(ctx, m, 0, func(ctx context.Context, s *backend) (bool, error) { return s.Index(ctx) }))
	return !slices.Contains(dones, false), err
}

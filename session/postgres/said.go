package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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
	sqlUnsaid = `SELECT s.ordinal, NOT s.hidden AND s.seq > coalesce(u.seq, 0) FROM parley_sessions s
		LEFT JOIN parley_said_until u ON u.session = s.ordinal WHERE s.ordinal > $1::bigint ORDER BY s.ordinal LIMIT $2::bigint`

	sqlGrown = `SELECT s.ordinal FROM parley_sessions s WHERE s.digest = ANY ($1::bytea[]) AND NOT s.hidden`

	// The sessions are locked first, as by all others, and cannot be deleted then. Those
	// that are being deleted are skipped.
	sqlSayLock = `SELECT s.ordinal FROM parley_sessions s WHERE s.ordinal = ANY ($1::bigint[]) AND NOT s.hidden
		ORDER BY s.ordinal FOR KEY SHARE SKIP LOCKED`

	sqlSayFirst = `INSERT INTO parley_said_until (session, seq) SELECT u.session, 0 FROM unnest($1::bigint[]) AS u (session)
		ORDER BY u.session ON CONFLICT DO NOTHING`

	// Another process that indexes a session waits here, and then sees what was added.
	sqlSayUntil = `SELECT u.session FROM parley_said_until u WHERE u.session = ANY ($1::bigint[]) ORDER BY u.session FOR UPDATE`

	sqlSayLags = `SELECT s.ordinal, s.owner, s.seq, s.rewound, u.seq FROM parley_sessions s
		JOIN parley_said_until u ON u.session = s.ordinal WHERE s.ordinal = ANY ($1::bigint[]) AND s.seq > u.seq ORDER BY s.ordinal`

	// As many as fit: $2 after, $3 until, $4 how many, $5 bytes.
	sqlSayEntries = `SELECT e.seq, e.json, e.sum FROM (
			SELECT v.*, sum(octet_length(v.json)) OVER (ORDER BY v.seq) - octet_length(v.json) AS before FROM (
				SELECT seq, json, sum FROM parley_events WHERE session = $1::bigint AND seq > $2::bigint AND seq <= $3::bigint ORDER BY seq LIMIT $4::bigint) AS v) AS e
		WHERE e.before < $5::bigint ORDER BY e.seq`

	sqlSayGone = `DELETE FROM parley_said WHERE session = $1::bigint AND seq = ANY ($2::bigint[])`

	sqlSay = `INSERT INTO parley_said (session, seq, owner, time, event, author, text, words)
		SELECT $1::bigint, u.seq, $2::bytea, u.time, u.event, u.author, u.text, array_to_tsvector(string_to_array(u.words, ' '))
		FROM unnest($3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[], $8::text[]) AS u (seq, time, event, author, text, words)`

	sqlSaid = `UPDATE parley_said_until SET seq = $2::bigint WHERE session = $1::bigint`

	// The index is made again.
	sqlUnsay = `WITH s AS (SELECT ordinal FROM parley_sessions WHERE digest = $1),
		t AS (DELETE FROM parley_said t USING s WHERE t.session = s.ordinal)
		DELETE FROM parley_said_until u USING s WHERE u.session = s.ordinal`

	// A session that was rewound is found when its index is. $1 words, $2 user, $3 to $5
	// the last one of the page before, $6 limit.
	sqlSearch = `SELECT t.time, t.session, t.seq, s.id, t.event, t.author, t.text FROM (
			SELECT * FROM parley_said WHERE words @@ $1::text::tsquery AND owner = $2::bytea
				AND (time, session, seq) < ($3::bigint, $4::bigint, $5::bigint)
			ORDER BY time DESC, session DESC, seq DESC LIMIT $6::bigint) AS t
		LEFT JOIN (parley_sessions s JOIN parley_said_until u ON u.session = s.ordinal AND s.rewound <= u.seq) ON s.ordinal = t.session AND NOT s.hidden
		ORDER BY t.time DESC, t.session DESC, t.seq DESC`
)

// saying is what Index has to do. The store notes the sessions that it has changed.
type saying struct {
	mu     sync.Mutex
	grown  textindex.Pending[session.Key]
	behind textindex.Pending[int64] // ordinals
	walked int64                    // ordinal of the last session that was looked at
	end    time.Time                // when all had been looked at; zero if they have not
}

var _ session.Searcher = (*backend)(nil)

// Index implements session.Searcher.
func (s *backend) Index(ctx context.Context) (done bool, err error) {
	i := &s.saying
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
		err = s.walkUnsaid(ctx)
	}
	if err != nil {
		i.grown.Add(keys...)
		i.behind.Add(ordinals...)
		return false, err
	}
	return i.grown.Empty() && i.behind.Empty() && !i.end.IsZero(), nil
}

// walkUnsaid looks for sessions that lag, of the next ones.
func (s *backend) walkUnsaid(ctx context.Context) error {
	i := &s.saying
	var found []int64
	seen, last := 0, int64(0)
	err := s.read(ctx, "looking for what was said", func(ctx context.Context, conn *pgxpool.Conn) error {
		found, seen = nil, 0
		rows, err := conn.Query(ctx, sqlUnsaid, i.walked, int64(textindex.Walk))
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
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			later, err = indexAll(ctx, tx, all)
			return err
		})
	})
	if err == nil {
		s.saying.behind.Add(later...)
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
	Ordinal             int64
	Owner               []byte
	Seq, Rewound, Until int64
}

// indexAll changes the index of sessions, and returns those of which there is more.
func indexAll(ctx context.Context, tx pgx.Tx, ordinals []int64) (later []int64, err error) {
	rows, err := tx.Query(ctx, sqlSayLock, ordinals)
	if err != nil {
		return nil, err
	}
	if ordinals, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(ordinals) == 0 {
		return nil, err
	}
	b := &pgx.Batch{}
	b.Queue(sqlSayFirst, ordinals)
	b.Queue(sqlSayUntil, ordinals)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	if rows, err = tx.Query(ctx, sqlSayLags, ordinals); err != nil {
		return nil, err
	}
	lags, err := pgx.CollectRows(rows, pgx.RowToStructByPos[lag])
	if err != nil {
		return nil, err
	}
	added := 0
	for i, l := range lags {
		if added >= textindex.Events {
			for _, rest := range lags[i:] {
				later = append(later, rest.Ordinal)
			}
			break
		}
		step, err := indexOne(ctx, tx, &l)
		if err != nil {
			return nil, err
		}
		if step.Until < l.Seq {
			later = append(later, l.Ordinal)
		}
		added += len(step.Add) + len(step.Gone)
	}
	return later, nil
}

// indexOne changes the index of a session.
func indexOne(ctx context.Context, tx pgx.Tx, l *lag) (textindex.Step, error) {
	after, most, bytes := l.Until, int64(textindex.Events), int64(textindex.Bytes)
	if l.Rewound > l.Until {
		after, most, bytes = 0, math.MaxInt64, math.MaxInt64
	}
	rows, err := tx.Query(ctx, sqlSayEntries, l.Ordinal, after, l.Seq, most, bytes)
	if err != nil {
		return textindex.Step{}, err
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.Entry, error) {
		var seq int64
		var text, sum []byte
		err := row.Scan(&seq, &text, &sum)
		return session.Load(seq, text, sum), err
	})
	if err != nil {
		return textindex.Step{}, fmt.Errorf("reading a log: %w", err)
	}
	step := textindex.Next(textindex.Prefix([32]byte(l.Owner)), entries, l.Until, l.Rewound)
	b := &pgx.Batch{}
	if len(step.Gone) > 0 {
		b.Queue(sqlSayGone, l.Ordinal, step.Gone)
	}
	if len(step.Add) > 0 {
		var seqs, times []int64
		var events, authors, texts [][]byte
		var words []string
		for _, row := range step.Add {
			seqs, times = append(seqs, row.Seq), append(times, row.Time.UnixMicro())
			events, authors, texts = append(events, []byte(row.Event)), append(authors, []byte(row.Author)), append(texts, []byte(row.Text.Text))
			words = append(words, row.Terms)
		}
		b.Queue(sqlSay, l.Ordinal, l.Owner, seqs, times, events, authors, texts, words)
	}
	b.Queue(sqlSaid, l.Ordinal, step.Until)
	return step, tx.SendBatch(ctx, b).Close()
}

// saidAt is the place of a text among those of a user.
type saidAt struct{ time, session, seq int64 }

func (p saidAt) token() string { return fmt.Sprintf("%d.%d.%d", p.time, p.session, p.seq) }

// saidAfter reads a token.
func saidAfter(token string) (saidAt, error) {
	if token == "" {
		return saidAt{math.MaxInt64, 0, 0}, nil
	}
	var n [3]int64
	parts := strings.Split(token, ".")
	for i, part := range parts {
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil || len(parts) != len(n) {
			return saidAt{}, session.ErrBadToken
		}
		n[i] = v
	}
	return saidAt{n[0], n[1], n[2]}, nil
}

// Search implements session.Searcher.
func (s *backend) Search(ctx context.Context, app, user, query string, page session.Page) ([]*session.Found, string, error) {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	return textindex.Search(query, page, func(q *textsearch.Query, token string, limit int) (list []textindex.Candidate, err error) {
		from, err := saidAfter(token)
		if err != nil {
			return nil, err
		}
		err = s.read(ctx, "searching", func(ctx context.Context, conn *pgxpool.Conn) error {
			list = nil
			rows, err := conn.Query(ctx, sqlSearch, q.TSQuery(textindex.Prefix(owner)), owner[:], from.time, from.session, from.seq, int64(limit))
			if err != nil {
				return err
			}
			var at saidAt
			var id *string
			var event, author, text []byte
			_, err = pgx.ForEachRow(rows, []any{&at.time, &at.session, &at.seq, &id, &event, &author, &text}, func() error {
				one := textindex.Candidate{Event: string(event), Author: string(author), Time: time.UnixMicro(at.time).UTC(), Token: at.token()}
				if id != nil { // without its text, it is not found
					one.Session, one.Text = *id, string(text)
				}
				list = append(list, one)
				return nil
			})
			return err
		})
		return list, err
	})
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

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	// One transaction at a time changes the memory of a session, which cannot be
	// deleted in the meantime.
	sqlRememberLock = `SELECT ordinal FROM parley_sessions WHERE digest = $1 FOR NO KEY UPDATE`

	sqlRemembered = `SELECT event FROM parley_memories WHERE session = $1::bigint`

	sqlRemember = `WITH m AS (
		INSERT INTO parley_memories (owner, session, event, author, time, content)
		VALUES ($1::bytea, $2::bigint, $3::bytea, $4::bytea, $5::timestamptz, $6::bytea) RETURNING id)
		INSERT INTO parley_memory_words (owner, word, memory)
		SELECT DISTINCT $1::bytea, u.word, m.id FROM m, unnest($7::bytea[]) AS u (word)`

	sqlForgetEvents = `DELETE FROM parley_memories WHERE session = $1::bigint AND event = ANY ($2::bytea[])`

	sqlForget = `DELETE FROM parley_memories WHERE owner = $1::bytea`

	sqlRecall = `WITH hits AS (
			SELECT w.word, w.memory FROM (SELECT DISTINCT u.word FROM unnest($2::bytea[]) AS u (word)) AS asked
			JOIN parley_memory_words w ON w.owner = $1::bytea AND w.word = asked.word),
		weights AS (SELECT word, 1.0::float8 / count(*) AS weight FROM hits GROUP BY word),
		best AS (SELECT memory, sum(weight) AS score FROM hits JOIN weights USING (word) GROUP BY memory)
		SELECT m.event, m.author, m.time, m.content FROM best JOIN parley_memories m ON m.id = best.memory
		WHERE m.owner = $1::bytea ORDER BY score DESC, m.time DESC, m.event LIMIT $3::bigint`

	// Those that were deleted have no content: they are not added again.
	sqlListMemories = `SELECT m.id, coalesce(s.id, ''), m.event, m.author, m.time, m.content FROM parley_memories m
		LEFT JOIN parley_sessions s ON s.ordinal = m.session
		WHERE m.owner = $1::bytea AND m.id < $3::bigint AND octet_length(m.content) > 0
			AND NOT EXISTS (SELECT 1 FROM unnest($2::bytea[]) AS u (word) WHERE NOT EXISTS (
				SELECT 1 FROM parley_memory_words w WHERE w.owner = $1::bytea AND w.word = u.word AND w.memory = m.id))
		ORDER BY m.id DESC LIMIT $4::bigint`

	sqlEditMemory = `UPDATE parley_memories SET content = $3::bytea WHERE id = $1::bigint AND owner = $2::bytea AND octet_length(content) > 0`

	sqlUnindexMemory = `DELETE FROM parley_memory_words WHERE memory = $1::bigint`

	sqlIndexMemory = `INSERT INTO parley_memory_words (owner, word, memory)
		SELECT DISTINCT $1::bytea, u.word, $2::bigint FROM unnest($3::bytea[]) AS u (word)`
)

// Remember implements session.Memories.
func (s *backend) Remember(ctx context.Context, key session.Key, all []*session.Remembered) error {
	digest, owner := key.Digest(), key.OwnerDigest()
	// It is idempotent.
	return s.write(ctx, "remembering a session", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		return transact(ctx, conn, func(tx pgx.Tx) error {
			var ordinal int64
			if err := tx.QueryRow(ctx, sqlRememberLock, digest[:]).Scan(&ordinal); none(err) {
				return session.ErrNotFound
			} else if err != nil {
				return err
			}
			rows, err := tx.Query(ctx, sqlRemembered, ordinal)
			if err != nil {
				return err
			}
			list, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
			if err != nil {
				return err
			}
			known := map[string]bool{}
			for _, event := range list {
				known[string(event)] = true
			}
			b := &pgx.Batch{}
			for _, one := range all {
				if known[one.Event] {
					delete(known, one.Event)
					continue
				}
				b.Queue(sqlRemember, owner[:], ordinal, []byte(one.Event), []byte(one.Author), one.Time, one.Content, bytesOf(one.Words))
			}
			var gone [][]byte
			for event := range known {
				gone = append(gone, []byte(event))
			}
			if len(gone) > 0 {
				b.Queue(sqlForgetEvents, ordinal, gone)
			}
			return tx.SendBatch(ctx, b).Close()
		})
	})
}

func bytesOf(words []string) [][]byte {
	list := make([][]byte, len(words))
	for i, word := range words {
		list[i] = []byte(word)
	}
	return list
}

// Recall implements session.Memories.
func (s *backend) Recall(ctx context.Context, app, user string, words []string, limit int) ([]*session.Remembered, error) {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	var found []*session.Remembered
	err := s.read(ctx, "recalling what was said", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlRecall, owner[:], bytesOf(words), int64(limit))
		if err != nil {
			return err
		}
		found = []*session.Remembered{}
		var event, author []byte
		var one session.Remembered
		_, err = pgx.ForEachRow(rows, []any{&event, &author, &one.Time, &one.Content}, func() error {
			next := one
			next.Event, next.Author = string(event), string(author)
			found = append(found, &next)
			one.Content = nil
			return nil
		})
		return err
	})
	return found, err
}

// Forget implements session.Memories.
func (s *backend) Forget(ctx context.Context, app, user string) error {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	return s.write(ctx, "forgetting a user", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		_, err := conn.Exec(ctx, sqlForget, owner[:])
		return err
	})
}

var _ session.MemoryEditor = (*backend)(nil)

// ListMemories implements session.MemoryEditor.
func (s *backend) ListMemories(ctx context.Context, app, user string, words []string, page session.Page) ([]*session.ListedMemory, string, error) {
	below, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	owner := session.Key{App: app, User: user}.OwnerDigest()
	var list []*session.ListedMemory
	err = s.read(ctx, "listing memories", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlListMemories, owner[:], bytesOf(words), below, page.Limit())
		if err != nil {
			return err
		}
		list = []*session.ListedMemory{}
		var event, author []byte
		var one session.ListedMemory
		_, err = pgx.ForEachRow(rows, []any{&one.ID, &one.Session, &event, &author, &one.Time, &one.Content}, func() error {
			next := one
			next.Event, next.Author = string(event), string(author)
			list = append(list, &next)
			one.Content = nil
			return nil
		})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	list, next := session.Cut(&page, list, func(l *session.ListedMemory) int64 { return l.ID })
	return list, next, nil
}

// DeleteMemory implements session.MemoryEditor.
func (s *backend) DeleteMemory(ctx context.Context, app, user string, id int64) error {
	return s.EditMemory(ctx, app, user, id, []byte{}, nil)
}

// EditMemory implements session.MemoryEditor.
func (s *backend) EditMemory(ctx context.Context, app, user string, id int64, content []byte, words []string) error {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	return s.write(ctx, "editing a memory", func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		return transact(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sqlEditMemory, id, owner[:], content)
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				if again && len(content) == 0 {
					return nil // the first attempt may have deleted it
				}
				return session.ErrNotFound
			}
			if _, err := tx.Exec(ctx, sqlUnindexMemory, id); err != nil || len(words) == 0 {
				return err
			}
			_, err = tx.Exec(ctx, sqlIndexMemory, owner[:], id, bytesOf(words))
			return err
		})
	})
}

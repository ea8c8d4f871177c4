package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/session"
)

// Remember implements session.Memories.
func (s *backend) Remember(ctx context.Context, key session.Key, all []*session.Remembered) error {
	err := s.write(ctx, func(c *conn) error {
		r, err := c.find(key)
		if err != nil {
			return err
		}
		known := map[string]bool{}
		err = c.each("SELECT event FROM memories WHERE session = ?", []any{r.ordinal}, func(scan func(...any) error) error {
			var event string
			err := scan(&event)
			known[event] = true
			return err
		})
		if err != nil {
			return err
		}
		for _, one := range all {
			if known[one.Event] {
				delete(known, one.Event)
				continue
			}
			if err := c.remember(r, one); err != nil {
				return err
			}
		}
		for event := range known {
			if err := c.forget("session = ? AND event = ?", r.ordinal, event); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remember a session: %w", err)
	}
	return nil
}

func (c *conn) remember(r *row, one *session.Remembered) error {
	owner := r.key.OwnerDigest()
	var id int64
	err := c.one("INSERT INTO memories (owner, session, event, author, time, content) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
		[]any{owner[:], r.ordinal, one.Event, one.Author, one.Time.UnixNano(), bytesOf(one.Content)}, &id)
	for _, word := range one.Words {
		if err == nil {
			err = c.exec("INSERT INTO memory_words (owner, word, memory) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", owner[:], []byte(word), id)
		}
	}
	return err
}

// forget deletes memories with their words.
func (c *conn) forget(where string, args ...any) error {
	return c.exec("DELETE FROM memories WHERE "+where, args...)
}

// Recall implements session.Memories.
func (s *backend) Recall(ctx context.Context, app, user string, words []string, limit int) ([]*session.Remembered, error) {
	// Words as hexadecimal numbers, because JSON cannot hold bytes.
	hex := make([]string, len(words))
	for i, word := range words {
		hex[i] = fmt.Sprintf("%x", word)
	}
	list, err := json.Marshal(hex)
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	var found []*session.Remembered
	err = s.read(ctx, func(c *conn) error {
		found = []*session.Remembered{}
		owner := session.Key{App: app, User: user}.OwnerDigest()
		return c.each(`WITH asked AS (SELECT DISTINCT unhex(value) AS word FROM json_each(?2)),
			hits AS (SELECT w.word, w.memory FROM asked CROSS JOIN memory_words w ON w.owner = ?1 AND w.word = asked.word),
			weights AS (SELECT word, 1.0 / count(*) AS weight FROM hits GROUP BY word),
			best AS (SELECT memory, sum(weight) AS score FROM hits JOIN weights USING (word) GROUP BY memory)
			SELECT m.event, m.author, m.time, m.content FROM best JOIN memories m ON m.id = best.memory
			WHERE m.owner = ?1 ORDER BY score DESC, m.time DESC, m.event LIMIT ?3`,
			[]any{owner[:], string(list), limit}, func(scan func(...any) error) error {
				one := &session.Remembered{}
				var at int64
				err := scan(&one.Event, &one.Author, &at, &one.Content)
				one.Time = moment(at)
				found = append(found, one)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	return found, nil
}

// Forget implements session.Memories.
func (s *backend) Forget(ctx context.Context, app, user string) error {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	if err := s.write(ctx, func(c *conn) error { return c.forget("owner = ?", owner[:]) }); err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	return nil
}

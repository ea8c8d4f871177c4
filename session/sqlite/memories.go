package sqlite

import (
	"context"
	"crypto/sha256"
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
	if err != nil {
		return err
	}
	return c.addWords(owner, id, one.Words)
}

// addWords adds the words of a memory to the index.
func (c *conn) addWords(owner [sha256.Size]byte, id int64, words []string) error {
	for _, word := range words {
		if err := c.exec("INSERT INTO memory_words (owner, word, memory) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", owner[:], []byte(word), id); err != nil {
			return err
		}
	}
	return nil
}

// hexList returns words as a JSON list of hexadecimal numbers, because JSON cannot hold
// bytes.
func hexList(words []string) (string, error) {
	hex := make([]string, len(words))
	for i, word := range words {
		hex[i] = fmt.Sprintf("%x", word)
	}
	list, err := json.Marshal(hex)
	return string(list), err
}

// forget deletes memories with their words.
func (c *conn) forget(where string, args ...any) error {
	return c.exec("DELETE FROM memories WHERE "+where, args...)
}

// Recall implements session.Memories.
func (s *backend) Recall(ctx context.Context, app, user string, words []string, limit int) ([]*session.Remembered, error) {
	list, err := hexList(words)
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
			[]any{owner[:], list, limit}, func(scan func(...any) error) error {
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

var _ session.MemoryEditor = (*backend)(nil)

// ListMemories implements session.MemoryEditor.
func (s *backend) ListMemories(ctx context.Context, app, user string, words []string, page session.Page) ([]*session.ListedMemory, string, error) {
	below, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	asked, err := hexList(words)
	if err != nil {
		return nil, "", fmt.Errorf("list memories: %w", err)
	}
	var list []*session.ListedMemory
	err = s.read(ctx, func(c *conn) error {
		list = []*session.ListedMemory{}
		owner := session.Key{App: app, User: user}.OwnerDigest()
		return c.each(`WITH asked AS (SELECT DISTINCT unhex(value) AS word FROM json_each(?2))
			SELECT m.id, coalesce(s.id, ''), m.event, m.author, m.time, m.content FROM memories m LEFT JOIN sessions s ON s.ordinal = m.session
			WHERE m.owner = ?1 AND m.id < ?3 AND length(m.content) > 0
				AND NOT EXISTS (SELECT 1 FROM asked WHERE NOT EXISTS (
					SELECT 1 FROM memory_words w WHERE w.owner = ?1 AND w.word = asked.word AND w.memory = m.id))
			ORDER BY m.id DESC LIMIT ?4`,
			[]any{owner[:], asked, below, page.Limit()}, func(scan func(...any) error) error {
				one := &session.ListedMemory{}
				var at int64
				err := scan(&one.ID, &one.Session, &one.Event, &one.Author, &at, &one.Content)
				one.Time = moment(at)
				list = append(list, one)
				return err
			})
	})
	if err != nil {
		return nil, "", fmt.Errorf("list memories: %w", err)
	}
	list, next := session.Cut(&page, list, func(l *session.ListedMemory) int64 { return l.ID })
	return list, next, nil
}

// EditMemory implements session.MemoryEditor.
func (s *backend) EditMemory(ctx context.Context, app, user string, id int64, content []byte, words []string) error {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	err := s.write(ctx, func(c *conn) error {
		found := false
		err := c.each("UPDATE memories SET content = ? WHERE id = ? AND owner = ? AND length(content) > 0 RETURNING id",
			[]any{bytesOf(content), id, owner[:]}, func(scan func(...any) error) error {
				found = true
				return scan(&id)
			})
		if err != nil {
			return err
		}
		if !found {
			return session.ErrNotFound
		}
		if err := c.exec("DELETE FROM memory_words WHERE memory = ?", id); err != nil {
			return err
		}
		return c.addWords(owner, id, words)
	})
	if err != nil {
		return fmt.Errorf("edit a memory: %w", err)
	}
	return nil
}

// DeleteMemory implements session.MemoryEditor. What is left of it, without a content
// and words, prevents that it is added again.
func (s *backend) DeleteMemory(ctx context.Context, app, user string, id int64) error {
	return s.EditMemory(ctx, app, user, id, nil, nil)
}

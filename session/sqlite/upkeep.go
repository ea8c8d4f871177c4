package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parley-run/parley/session"
)

const (
	// sweepBatch is the number of sessions that one Sweep visits.
	sweepBatch = 1000
	// sweepStep is the number that it deletes in one transaction, so that other
	// writers do not wait long.
	sweepStep = 20
)

// isOver selects expired sessions: ?1 is the time to live of those that have none
// of their own, ?2 is now.
const isOver = `(CASE WHEN ttl <> 0 THEN ttl ELSE ?1 END) > 0 AND ?2 - updated > (CASE WHEN ttl <> 0 THEN ttl ELSE ?1 END)
	AND NOT EXISTS (SELECT 1 FROM runs WHERE session = ordinal AND status IN ('queued', 'running'))`

// Sweep implements session.Upkeep. After a failure, the next call continues there.
func (s *backend) Sweep(ctx context.Context, ttl time.Duration) (deleted []session.Key, done bool, err error) {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	at := now()
	var seen, over []int64
	err = s.read(ctx, func(c *conn) error {
		seen, over = nil, nil
		return c.each("SELECT ordinal, "+isOver+" FROM sessions WHERE ordinal > ?3 ORDER BY ordinal LIMIT ?4",
			[]any{int64(ttl), at, s.swept, sweepBatch + 1}, func(scan func(...any) error) error {
				var ordinal int64
				var isOver bool
				err := scan(&ordinal, &isOver)
				seen = append(seen, ordinal)
				if isOver && len(seen) <= sweepBatch {
					over = append(over, ordinal)
				}
				return err
			})
	})
	for step := range slices.Chunk(over, sweepStep) {
		if err != nil {
			break
		}
		var gone []session.Key
		err = s.write(ctx, func(c *conn) error {
			gone = nil
			for _, ordinal := range step {
				// It may have changed since it was selected.
				n, err := c.remove(isOver+" AND ordinal = ?3", int64(ttl), at, ordinal)
				if err != nil {
					return err
				}
				gone = append(gone, n...)
			}
			return nil
		})
		if err == nil {
			deleted = append(deleted, gone...)
		}
	}
	if err != nil {
		return deleted, false, fmt.Errorf("sweep sessions: %w", err)
	}
	if len(seen) <= sweepBatch {
		s.swept = 0
		return deleted, true, nil
	}
	s.swept = seen[sweepBatch-1]
	return deleted, false, nil
}

// Rebuild implements session.Upkeep.
func (s *backend) Rebuild(ctx context.Context, key session.Key) (bool, error) {
	changed := false
	err := s.write(ctx, func(c *conn) error {
		r, err := c.find(key)
		if err != nil {
			return err
		}
		if r.active.Valid {
			return session.ErrFenced
		}
		if changed, err = c.rebuild(r); err == nil && changed {
			err = c.resetIndex(r.ordinal)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("rebuild session: %w", err)
	}
	return changed, nil
}

func (c *conn) rebuild(r *row) (changed bool, err error) {
	initial, stored := session.State{}, session.State{}
	if err := c.states("SELECT name, value FROM initial WHERE session = ?", initial, r.ordinal); err != nil {
		return false, err
	}
	if err := c.states("SELECT name, value FROM state WHERE owner = ?", stored, r.ordinal); err != nil {
		return false, err
	}
	s := &session.Session{Key: r.key, Ordinal: r.ordinal}
	if err := c.entries(s, 0, max(r.seq, 1)); err != nil {
		return false, err
	}
	if err := s.Damage(); err != nil {
		return false, err // the log cannot be decoded
	}
	log := s.Entries
	var seq, rewound int64
	if len(log) > 0 {
		seq = log[len(log)-1].Seq
	}
	if p := newPage(log); p.rewinds > 0 {
		rewound = log[p.rewinds-1].Seq
	}
	if seq != r.seq || rewound != r.rewound {
		changed = true
		if err := c.exec("UPDATE sessions SET seq = ?, rewound = ? WHERE ordinal = ?", seq, rewound, r.ordinal); err != nil {
			return false, err
		}
	}

	state := session.StateOf(initial, log)
	if !maps.EqualFunc(state, stored, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		changed = true
		if err := c.exec("DELETE FROM state WHERE owner = ?", r.ordinal); err != nil {
			return false, err
		}
		for name, value := range state {
			if err := c.set(r.ordinal, name, value); err != nil {
				return false, err
			}
		}
	}

	described, err := c.described(r, session.MetadataOf(state))
	if err != nil || described {
		return changed, err
	}
	return true, c.describe(r, session.MetadataOf(state))
}

// described reports whether the columns that lists are filtered by match m.
func (c *conn) described(r *row, m session.Metadata) (bool, error) {
	was := ""
	if err := c.one("SELECT title FROM sessions WHERE ordinal = ?", []any{r.ordinal}, &was); err != nil {
		return false, err
	}
	labels, own := map[string]string{}, true
	owner := r.key.OwnerDigest()
	err := c.each("SELECT name, value, owner = ? FROM labels WHERE session = ?", []any{owner[:], r.ordinal}, func(scan func(...any) error) error {
		var name, value string
		var isOwn bool
		err := scan(&name, &value, &isOwn)
		labels[name] = value
		own = own && isOwn
		return err
	})
	return own && was == title(m) && maps.Equal(labels, m.Labels), err
}

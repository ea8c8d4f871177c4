package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-run/parley/session"
)

var _ session.Recordings = (*backend)(nil)

// PutRecordings implements session.Recordings.
func (s *backend) PutRecordings(ctx context.Context, list []*session.Recording) error {
	err := s.write(ctx, func(c *conn) error {
		for _, one := range list {
			r, err := c.find(one.Key)
			if errors.Is(err, session.ErrNotFound) {
				continue
			}
			if err == nil {
				err = c.exec(`INSERT INTO recordings (session, run, attempt, created, json) VALUES (?, ?, ?, ?, ?)
					ON CONFLICT (session, run, attempt) DO UPDATE SET created = excluded.created, json = excluded.json`,
					r.ordinal, one.Run, one.Attempt, now(), one.JSON)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store recordings: %w", err)
	}
	return nil
}

// Recordings implements session.Recordings.
func (s *backend) Recordings(ctx context.Context, key session.Key, run string) ([]*session.Recording, error) {
	d := key.Digest()
	var list []*session.Recording
	err := s.read(ctx, func(c *conn) error {
		list = []*session.Recording{}
		return c.each(`SELECT attempt, created, json FROM recordings
			WHERE session = (SELECT ordinal FROM sessions WHERE digest = ?) AND run = ? ORDER BY attempt`, []any{d[:], run}, func(scan func(...any) error) error {
			one := &session.Recording{Key: key, Run: run}
			var created int64
			err := scan(&one.Attempt, &created, &one.JSON)
			one.Created = moment(created)
			list = append(list, one)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read recordings: %w", err)
	}
	return list, nil
}

// sweepRecordings is how many recordings are deleted at once.
const sweepRecordings = 100

// SweepRecordings implements session.Recordings.
func (s *backend) SweepRecordings(ctx context.Context, age time.Duration) (done bool, err error) {
	err = s.write(ctx, func(c *conn) error {
		n, err := c.count(`DELETE FROM recordings WHERE number IN (SELECT number FROM recordings WHERE created < ? ORDER BY created LIMIT ?)`,
			now()-int64(age), sweepRecordings)
		done = n < sweepRecordings
		return err
	})
	if err != nil {
		return false, fmt.Errorf("delete old recordings: %w", err)
	}
	return done, nil
}

package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/parley-run/parley/session"
)

var _ session.Recordings = (*backend)(nil)

// partOf is a part of the recordings of a session.
type partOf struct {
	session int64
	digest  [sha256.Size]byte
}

// PutRecordings implements session.Recordings.
func (s *backend) PutRecordings(ctx context.Context, list []*session.Recording) error {
	err := s.write(ctx, func(c *conn) error {
		known := map[partOf]bool{}
		for _, one := range list {
			r, err := c.find(one.Key)
			if errors.Is(err, session.ErrNotFound) {
				continue
			}
			var digests []byte // NULL for none
			for _, p := range one.Parts {
				digests = append(digests, p.Digest[:]...)
				if at := (partOf{r.ordinal, p.Digest}); err == nil && !known[at] {
					known[at] = true
					err = c.exec(`INSERT INTO recording_parts (session, digest, json) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, r.ordinal, p.Digest[:], p.JSON)
				}
			}
			if err == nil {
				err = c.exec(`INSERT INTO recordings (session, run, attempt, created, json, parts) VALUES (?, ?, ?, ?, ?, ?)
					ON CONFLICT (session, run, attempt) DO UPDATE SET created = excluded.created, json = excluded.json, parts = excluded.parts`,
					r.ordinal, one.Run, one.Attempt, now(), one.JSON, digests)
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
		var ordinal int64
		var parts []string // the digests of each
		err := c.each(`SELECT session, attempt, created, json, parts FROM recordings
			WHERE session = (SELECT ordinal FROM sessions WHERE digest = ?) AND run = ? ORDER BY attempt`, []any{d[:], run}, func(scan func(...any) error) error {
			one := &session.Recording{Key: key, Run: run}
			var created int64
			var digests []byte
			err := scan(&ordinal, &one.Attempt, &created, &one.JSON, &digests)
			one.Created = moment(created)
			list, parts = append(list, one), append(parts, string(digests))
			return err
		})
		for i := 0; i < len(list) && err == nil; i++ {
			list[i].Parts, err = c.parts(ordinal, parts[i])
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read recordings: %w", err)
	}
	return list, nil
}

// parts returns the parts of a recording.
func (c *conn) parts(ordinal int64, digests string) (list []*session.RecordingPart, err error) {
	for len(digests) >= sha256.Size && err == nil {
		p := &session.RecordingPart{Digest: [sha256.Size]byte([]byte(digests[:sha256.Size]))}
		err = c.one(`SELECT json FROM recording_parts WHERE session = ? AND digest = ?`, []any{ordinal, p.Digest[:]}, &p.JSON)
		list, digests = append(list, p), digests[sha256.Size:]
	}
	return list, err
}

// sweepRecordings is how many recordings are deleted at once.
const sweepRecordings = 100

// SweepRecordings implements session.Recordings.
func (s *backend) SweepRecordings(ctx context.Context, age time.Duration) (done bool, err error) {
	err = s.write(ctx, func(c *conn) error {
		of := map[int64]bool{} // the sessions
		n := 0
		err := c.each(`DELETE FROM recordings WHERE number IN (SELECT number FROM recordings WHERE created < ? ORDER BY created LIMIT ?) RETURNING session`,
			[]any{now() - int64(age), sweepRecordings}, func(scan func(...any) error) error {
				var ordinal int64
				err := scan(&ordinal)
				of[ordinal] = true
				n++
				return err
			})
		for ordinal := range of {
			if err == nil {
				err = c.exec(`DELETE FROM recording_parts WHERE session = ? AND NOT EXISTS (
					SELECT 1 FROM recordings r WHERE r.session = recording_parts.session AND instr(r.parts, recording_parts.digest) > 0)`, ordinal)
			}
		}
		done = n < sweepRecordings
		return err
	})
	if err != nil {
		return false, fmt.Errorf("delete old recordings: %w", err)
	}
	return done, nil
}

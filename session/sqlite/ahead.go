package sqlite

import (
	"cmp"
	"context"
	"errors"

	"github.com/parley-run/parley/session"
)

// logAhead is the log of a session, read before the transaction that returns it.
// Logs can be long, and all writes wait for the writer, so the transaction reads
// only later entries.
type logAhead struct {
	read    session.Read // as requested
	ordinal int64        // of the session of entries; 0 if there are none
	entries []*session.Entry
	damaged int64
}

// ahead reads a log, if more than its end is requested, and it is likely to be
// returned.
func (s *backend) ahead(ctx context.Context, key session.Key, read session.Read, likely func(*conn, *row) bool) (*logAhead, error) {
	a := &logAhead{read: read}
	if read.NoEvents || read.After > 0 {
		return a, nil
	}
	err := s.read(ctx, func(c *conn) error {
		r, err := c.find(key)
		if err != nil || !likely(c, r) {
			return err
		}
		s := &session.Session{Ordinal: r.ordinal}
		err = c.entries(s, 0, r.seq)
		a.ordinal, a.entries, a.damaged = r.ordinal, s.Entries, s.Damaged
		return err
	})
	if errors.Is(err, session.ErrNotFound) {
		return a, nil // or it is being created: the transaction decides
	}
	return a, err
}

// rest returns what remains to be read.
func (a *logAhead) rest() session.Read {
	read := a.read
	if len(a.entries) > 0 {
		read.After, read.Of = int64(len(a.entries)), a.ordinal
	}
	return read
}

// complete joins both parts. If the session was replaced in the meantime, the
// transaction has read all of it.
func (a *logAhead) complete(s *session.Session) {
	if len(a.entries) > 0 && a.ordinal == s.Ordinal {
		s.Entries = append(a.entries, s.Entries...)
		s.Damaged = cmp.Or(a.damaged, s.Damaged)
	}
}

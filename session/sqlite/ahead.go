package sqlite

import (
	"cmp"
	"context"
	"errors"

	"github.com/parley-run/parley/session"
)

// logAhead is the log of a session, read before a transaction that answers with
// it. Logs can be long, and everybody waits for the writer: so it reads only
// what has come since.
type logAhead struct {
	read    session.Read // what was asked for
	ordinal int64        // of the session that entries are of; 0 if there are none
	entries []*session.Entry
	damaged int64
}

// ahead reads a log, if more than the end of it is asked for, and it is likely
// to be answered with.
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
		return a, nil // or it is made right now: the transaction knows
	}
	return a, err
}

// rest is what remains to be read.
func (a *logAhead) rest() session.Read {
	read := a.read
	if len(a.entries) > 0 {
		read.After, read.Of = int64(len(a.entries)), a.ordinal
	}
	return read
}

// complete puts both parts together. If the session is another one by now, all
// of it was read.
func (a *logAhead) complete(s *session.Session) {
	if len(a.entries) > 0 && a.ordinal == s.Ordinal {
		s.Entries = append(a.entries, s.Entries...)
		s.Damaged = cmp.Or(a.damaged, s.Damaged)
	}
}

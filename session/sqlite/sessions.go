package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/session"
)

// row is a row of the table of sessions.
type row struct {
	key              session.Key
	ordinal          int64
	seq, rewound     int64
	created, updated int64
	epoch            int64
	active           sql.NullInt64 // number of the running run
	origin           []byte        // JSON; nil for a session that is not a fork
}

const rowColumns = "ordinal, app, user, id, seq, rewound, created, updated, epoch, active, origin"

func (r *row) fields() []any {
	return []any{&r.ordinal, &r.key.App, &r.key.User, &r.key.ID, &r.seq, &r.rewound, &r.created, &r.updated, &r.epoch, &r.active, &r.origin}
}

// find returns the row of a session.
func (c *conn) find(key session.Key) (*row, error) {
	return c.findWith(key, "")
}

// findWith is like find, with more columns.
func (c *conn) findWith(key session.Key, columns string, into ...any) (*row, error) {
	r := &row{key: key}
	d := key.Digest()
	err := c.one("SELECT ordinal, seq, rewound, created, updated, epoch, active, origin"+columns+" FROM sessions WHERE digest = ?", []any{d[:]},
		append([]any{&r.ordinal, &r.seq, &r.rewound, &r.created, &r.updated, &r.epoch, &r.active, &r.origin}, into...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, session.ErrNotFound
	}
	return r, err
}

// Create implements session.Sessions.
func (s *backend) Create(ctx context.Context, n session.NewSession) (*session.Session, error) {
	p := newPage(n.Log)
	own := session.State{}.Apply(session.ScopeSession, n.State)
	p.delta = session.StateOf(own, n.Log)
	for name, value := range n.State {
		if scope := session.ScopeOf(name); scope == session.ScopeUser || scope == session.ScopeApp {
			p.delta[name] = value
		}
	}
	var made *session.Session
	err := s.write(ctx, func(c *conn) error {
		r, err := c.insert(n)
		if err != nil {
			return err
		}
		for name, value := range own {
			if err := c.exec("INSERT INTO initial (session, name, value) VALUES (?, ?, ?)", r.ordinal, name, []byte(value)); err != nil {
				return err
			}
		}
		if len(p.entries) == 0 {
			err = c.apply(r, p.delta)
		} else if err = c.append(r, p); err == nil {
			err = c.save(r)
		}
		if err != nil {
			return err
		}
		made, err = c.snapshot(r, session.Read{NoEvents: true})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	p.number(0)
	made.Entries = slices.Clone(n.Log)
	return made, nil
}

func (c *conn) insert(n session.NewSession) (*row, error) {
	at := now()
	r := &row{key: n.Key, created: at, updated: at}
	d, owner, root := n.Key.Digest(), n.Key.OwnerDigest(), ""
	if n.Origin != nil {
		var err error
		if r.origin, err = json.Marshal(n.Origin); err != nil {
			return nil, err
		}
		root = n.Origin.Root
	}
	changed := c.changed
	result, err := c.change(`INSERT INTO sessions (digest, owner, app, user, id, hidden, ttl, created, updated, origin, root)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING`,
		d[:], owner[:], n.Key.App, n.Key.User, n.Key.ID, n.Key.Hidden(), int64(n.TTL), at, at, r.origin, root)
	if err != nil {
		return nil, err
	}
	if added, err := result.RowsAffected(); err != nil || added == 0 {
		c.changed = changed // not by this: the writer need not repeat other changes
		return nil, errors.Join(err, session.ErrExists)
	}
	r.ordinal, err = result.LastInsertId()
	return r, err
}

// Get implements session.Sessions.
func (s *backend) Get(ctx context.Context, key session.Key, read session.Read) (*session.Session, error) {
	var got *session.Session
	err := s.read(ctx, func(c *conn) error {
		r, err := c.find(key)
		if err != nil {
			return err
		}
		if got, err = c.snapshot(r, read); err == nil && !read.Damaged {
			err = got.Damage()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	return got, nil
}

// snapshot returns the current session.
func (c *conn) snapshot(r *row, read session.Read) (*session.Session, error) {
	s, err := r.session()
	if err != nil {
		return nil, err
	}
	user, app := r.key.OwnerDigest(), r.key.AppDigest()
	err = c.states("SELECT name, value FROM state WHERE owner IN (?, ?, ?)", s.State, r.ordinal, user[:], app[:])
	if err == nil && read.Initial {
		s.Initial = session.State{}
		err = c.states("SELECT name, value FROM initial WHERE session = ?", s.Initial, r.ordinal)
	}
	if err == nil && !read.NoEvents {
		after := min(max(read.After, 0), r.seq)
		if read.Of != 0 && read.Of != r.ordinal {
			after = 0
		}
		err = c.entries(s, after, r.seq-after)
	}
	return s, err
}

// session converts the row.
func (r *row) session() (*session.Session, error) {
	s := &session.Session{
		Key: r.key, State: session.State{}, Ordinal: r.ordinal, Seq: r.seq, Rewound: r.rewound,
		Created: moment(r.created), Updated: moment(r.updated),
	}
	if r.origin != nil {
		if err := json.Unmarshal(r.origin, &s.Origin); err != nil {
			return nil, fmt.Errorf("origin of the session: %w", err)
		}
	}
	return s, nil
}

// states scans names and values into a state.
func (c *conn) states(query string, into session.State, args ...any) error {
	return c.each(query, args, func(scan func(...any) error) error {
		var name string
		var value []byte
		if err := scan(&name, &value); err != nil {
			return err
		}
		into[name] = value
		return nil
	})
}

// entries reads the log of s after a sequence number. count is an estimate of their
// number.
func (c *conn) entries(s *session.Session, after, count int64) error {
	s.Entries = make([]*session.Entry, 0, count)
	if count == 0 {
		return nil
	}
	return c.each("SELECT seq, json, sum FROM events WHERE session = ? AND seq > ? ORDER BY seq", []any{s.Ordinal, after}, addEntry(s))
}

// addEntry returns a function that adds a row to the entries of a session.
func addEntry(s *session.Session) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var seq int64
		var text, sum []byte
		err := scan(&seq, &text, &sum)
		if err == nil {
			s.Add(session.Load(seq, text, sum))
		}
		return err
	}
}

// Delete implements session.Sessions.
func (s *backend) Delete(ctx context.Context, key session.Key) error {
	err := s.write(ctx, func(c *conn) error {
		r, err := c.find(key)
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.forget("session = ?", r.ordinal); err != nil {
			return err
		}
		_, err = c.remove("ordinal = ?", r.ordinal)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// remove deletes sessions, and with them the rows that refer to them.
func (c *conn) remove(where string, args ...any) (keys []session.Key, err error) {
	var gone []int64
	err = c.each("DELETE FROM sessions WHERE "+where+" RETURNING ordinal, app, user, id", args, func(scan func(...any) error) error {
		gone, keys = append(gone, 0), append(keys, session.Key{})
		key := &keys[len(keys)-1]
		return scan(&gone[len(gone)-1], &key.App, &key.User, &key.ID)
	})
	for _, ordinal := range gone {
		if err == nil {
			err = c.exec("DELETE FROM state WHERE owner = ?", ordinal)
		}
	}
	return keys, err
}

// Patch implements session.Sessions.
func (s *backend) Patch(ctx context.Context, key session.Key, entry *session.Entry) error {
	p := newPage([]*session.Entry{entry})
	var r *row
	err := s.write(ctx, func(c *conn) (err error) {
		if r, err = c.find(key); err != nil {
			return err
		}
		if err := c.append(r, p); err != nil {
			return err
		}
		return c.save(r)
	})
	if err != nil {
		return fmt.Errorf("patch session: %w", err)
	}
	p.number(r.seq - 1)
	return nil
}

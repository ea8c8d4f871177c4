package sqlite

import (
	"maps"
	"strings"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// page is the effect of entries on a session, besides being in its log. It is
// computed before the transaction, because all writes share the writer.
type page struct {
	entries []*session.Entry
	rewinds int64         // position in entries, from 1 on, of the last one that rewinds the log
	delta   session.State // in all scopes but temp:, null to delete
}

// newPage computes the effect of entries. Entries that cannot be decoded change
// nothing.
func newPage(entries []*session.Entry) *page {
	p := &page{entries: entries}
	for i, e := range entries {
		ev, err := e.Decode()
		if err != nil {
			continue
		}
		p.add(ev.Actions.StateDelta)
		if ev.Actions.RewindBeforeInvocationID != "" {
			p.rewinds = int64(i) + 1
		}
	}
	return p
}

func (p *page) add(delta session.State) {
	if len(delta) == 0 {
		return
	}
	if p.delta == nil {
		p.delta = make(session.State, len(delta))
	}
	maps.Copy(p.delta, delta)
}

// number assigns sequence numbers to the entries, after seq. The caller of the
// store calls it when the transaction is committed.
func (p *page) number(seq int64) {
	for i, e := range p.entries {
		e.Seq = seq + int64(i) + 1
	}
}

// append writes a page to the end of a log. The caller must save the row.
func (c *conn) append(r *row, p *page) error {
	if len(p.entries) == 0 {
		return nil
	}
	for i, e := range p.entries {
		err := c.exec("INSERT INTO events (session, seq, json, sum) VALUES (?, ?, ?, ?)", r.ordinal, r.seq+int64(i)+1, e.JSON, session.Sum(e.JSON))
		if err != nil {
			return err
		}
	}
	if p.rewinds > 0 {
		r.rewound = r.seq + p.rewinds
	}
	r.seq += int64(len(p.entries))
	c.grown = append(c.grown, r.ordinal)
	r.updated = max(r.updated, now()) // clocks may go back
	return c.apply(r, p.delta)
}

// save updates the changed columns of a row.
func (c *conn) save(r *row) error {
	return c.exec("UPDATE sessions SET seq = ?, rewound = ?, updated = ?, epoch = ?, active = ? WHERE ordinal = ?",
		r.seq, r.rewound, r.updated, r.epoch, r.active, r.ordinal)
}

// apply changes the state of the session and the shared state.
func (c *conn) apply(r *row, delta session.State) error {
	var user, app []byte
	for name, value := range delta {
		var err error
		switch session.ScopeOf(name) {
		case session.ScopeSession:
			err = c.set(r.ordinal, name, value)
		case session.ScopeUser:
			if user == nil {
				d := r.key.OwnerDigest()
				user = d[:]
			}
			err = c.set(user, name, value)
		case session.ScopeApp:
			if app == nil {
				d := r.key.AppDigest()
				app = d[:]
			}
			err = c.set(app, name, value)
		default: // temp:, which is not stored
		}
		if err != nil {
			return err
		}
	}
	if _, ok := delta[session.MetadataKey]; ok {
		return c.describe(r, session.MetadataOf(delta))
	}
	return nil
}

// set changes one key of a state.
func (c *conn) set(owner any, name string, value []byte) error {
	if sessionrt.IsNull(value) {
		return c.exec("DELETE FROM state WHERE owner = ? AND name = ?", owner, name)
	}
	return c.exec("INSERT INTO state (owner, name, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", owner, name, value)
}

// describe updates what lists are filtered by.
func (c *conn) describe(r *row, m session.Metadata) error {
	if err := c.exec("UPDATE sessions SET title = ? WHERE ordinal = ?", title(m), r.ordinal); err != nil {
		return err
	}
	if err := c.exec("DELETE FROM labels WHERE session = ?", r.ordinal); err != nil {
		return err
	}
	owner := r.key.OwnerDigest()
	for name, value := range m.Labels {
		err := c.exec("INSERT INTO labels (owner, name, value, session) VALUES (?, ?, ?, ?)", owner[:], name, value, r.ordinal)
		if err != nil {
			return err
		}
	}
	return nil
}

// title returns a title as it is searched, in lower case. SQLite only knows the
// cases of ASCII.
func title(m session.Metadata) string { return strings.ToLower(m.Title) }

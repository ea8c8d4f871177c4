package sqlite

import (
	"maps"
	"strings"

	"github.com/parley-run/parley/session"
)

// page is what some entries do to a session, besides being in its log. It is
// worked out before the transaction: the writer's time is everybody's.
type page struct {
	entries []*session.Entry
	rewinds int64         // place in entries, from 1 on, of the last one that takes others back
	delta   session.State // in all scopes but temp:, null to delete
}

// newPage looks at entries. What cannot be decoded changes nothing.
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

// number tells the entries their places, when they are in the log after seq. It
// is called by who has handed them over, when they are there for good.
func (p *page) number(seq int64) {
	for i, e := range p.entries {
		e.Seq = seq + int64(i) + 1
	}
}

// append writes a page to the end of a log. The row has to be saved then.
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
	r.updated = max(r.updated, now()) // clocks are set back, now and then
	return c.apply(r, p.delta)
}

// save writes what has changed of a row.
func (c *conn) save(r *row) error {
	return c.exec("UPDATE sessions SET seq = ?, rewound = ?, updated = ?, epoch = ?, active = ? WHERE ordinal = ?",
		r.seq, r.rewound, r.updated, r.epoch, r.active, r.ordinal)
}

// apply changes the state, the session's and what it shares.
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
	if session.IsNull(value) {
		return c.exec("DELETE FROM state WHERE owner = ? AND name = ?", owner, name)
	}
	return c.exec("INSERT INTO state (owner, name, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", owner, name, value)
}

// describe keeps what lists are filtered by.
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

// title is a title as it is searched, which is in lower case. SQLite knows the
// cases of ASCII only.
func title(m session.Metadata) string { return strings.ToLower(m.Title) }

package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parley-run/parley/session"
)

// List implements session.Sessions.
func (s *backend) List(ctx context.Context, app, user string, page session.Page) ([]*session.Session, string, error) {
	from, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	owner := session.Key{App: app, User: user}
	var list []*session.Session
	next := ""
	err = s.read(ctx, func(c *conn) error {
		query, args := listQuery(owner, from, page)
		var rows []*row
		err := c.each(query, args, func(scan func(...any) error) error {
			r := &row{}
			rows = append(rows, r)
			return scan(r.fields()...)
		})
		if err != nil {
			return err
		}
		rows, next = session.Cut(&page, rows, func(r *row) int64 { return r.ordinal })
		if list, err = c.listed(owner, rows); err == nil && page.Ends > 0 {
			err = c.ends(list, page.Ends)
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	return list, next, nil
}

// ends adds their first and last entries to sessions.
func (c *conn) ends(list []*session.Session, n int) error {
	for _, s := range list {
		err := c.each(`SELECT seq, json, sum FROM events WHERE session = ? AND seq <= ? AND length(json) <= ?
			UNION ALL SELECT seq, json, sum FROM events WHERE session = ? AND seq > ? AND length(json) <= ? ORDER BY seq`,
			[]any{s.Ordinal, n, session.MaxEnd, s.Ordinal, max(int64(n), s.Seq-int64(n)), session.MaxEnd}, addEntry(s))
		if err != nil {
			return err
		}
	}
	return nil
}

// listQuery selects the sessions of a page by their index, or by that of a label.
func listQuery(key session.Key, from int64, page session.Page) (query string, args []any) {
	owner := key.OwnerDigest()
	var q strings.Builder
	order := "ordinal"
	names := slices.Sorted(maps.Keys(page.Labels))
	if len(names) == 0 {
		q.WriteString("SELECT " + rowColumns + " FROM sessions WHERE sessions.owner = ? AND ordinal < ?")
		args = append(args, owner[:], from)
	} else {
		// The table of labels is in the order of the list, too: no more is read
		// than the page needs. CROSS JOIN says that it comes first.
		q.WriteString("SELECT " + rowColumns + " FROM labels AS l CROSS JOIN sessions ON ordinal = l.session" +
			" WHERE l.owner = ? AND l.name = ? AND l.value = ? AND l.session < ?")
		args = append(args, owner[:], names[0], page.Labels[names[0]], from)
		order = "l.session"
		for _, name := range names[1:] {
			q.WriteString(" AND EXISTS (SELECT 1 FROM labels AS m WHERE m.owner = l.owner AND m.name = ? AND m.value = ? AND m.session = l.session)")
			args = append(args, name, page.Labels[name])
		}
	}
	q.WriteString(" AND hidden = 0")
	if page.Title != "" {
		q.WriteString(" AND instr(title, ?) > 0")
		args = append(args, strings.ToLower(page.Title))
	}
	if !page.Since.IsZero() {
		q.WriteString(" AND updated >= ?")
		args = append(args, nanos(page.Since))
	}
	if !page.Before.IsZero() {
		q.WriteString(" AND updated < ?")
		args = append(args, nanos(page.Before))
	}
	if page.Root != "" {
		root := session.Key{App: key.App, User: key.User, ID: page.Root}.Digest()
		q.WriteString(` AND ordinal IN (SELECT b.ordinal FROM sessions AS b WHERE b.owner = ? AND b.root = ? AND b.root <> ''
			UNION SELECT b.ordinal FROM sessions AS b WHERE b.digest = ?)`)
		args = append(args, owner[:], page.Root, root[:])
	}
	q.WriteString(" ORDER BY " + order + " DESC LIMIT ?")
	return q.String(), append(args, page.Limit())
}

// listed adds their states to sessions of one user.
func (c *conn) listed(key session.Key, rows []*row) ([]*session.Session, error) {
	list := make([]*session.Session, len(rows))
	if len(list) == 0 {
		return list, nil
	}
	shared := session.State{}
	user, app := key.OwnerDigest(), key.AppDigest()
	if err := c.states("SELECT name, value FROM state WHERE owner IN (?, ?)", shared, user[:], app[:]); err != nil {
		return nil, err
	}
	for i, r := range rows {
		var err error
		if list[i], err = r.session(); err != nil {
			return nil, err
		}
		maps.Copy(list[i].State, shared)
		if err := c.states("SELECT name, value FROM state WHERE owner = ?", list[i].State, r.ordinal); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Walk implements session.Upkeep.
func (s *backend) Walk(ctx context.Context, page session.Page) ([]session.Key, string, error) {
	after, err := page.After()
	if err != nil {
		return nil, "", err
	}
	keys := []session.Key{}
	next := ""
	err = s.read(ctx, func(c *conn) error {
		var rows []*row
		err := c.each("SELECT "+rowColumns+" FROM sessions WHERE ordinal > ? ORDER BY ordinal LIMIT ?", []any{after, page.Limit()},
			func(scan func(...any) error) error {
				r := &row{}
				rows = append(rows, r)
				return scan(r.fields()...)
			})
		if err != nil {
			return err
		}
		rows, next = session.Cut(&page, rows, func(r *row) int64 { return r.ordinal })
		keys = keys[:0]
		for _, r := range rows {
			keys = append(keys, r.key)
		}
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("walk sessions: %w", err)
	}
	return keys, next, nil
}

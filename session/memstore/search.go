package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/textsearch"
	"github.com/parley-run/parley/session"
)

const (
	// searchPage is the size of a page of a search that has none.
	searchPage = 100
	// maxScan is the number of bytes that a search in memory reads.
	maxScan = 64 << 20
)

// parseQuery reads the query of a search.
func parseQuery(query string) (*textsearch.Query, error) {
	q, err := textsearch.Parse(query)
	if err != nil {
		return nil, fmt.Errorf("%w: it %w", session.ErrBadQuery, err)
	}
	return q, nil
}

// hit is an event that a search in memory has found.
type hit struct {
	session.Found

	order, seq int64
}

// compare orders events by time, the latest first.
func (s *hit) compare(o *hit) int {
	return cmp.Or(o.Time.Compare(s.Time), cmp.Compare(o.order, s.order), cmp.Compare(o.seq, s.seq))
}

func (s *hit) token() string {
	return fmt.Sprintf("%d.%d.%d", s.Time.UnixMicro(), s.order, s.seq)
}

// hitAt reads a token.
func hitAt(token string) (*hit, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, session.ErrBadToken
	}
	var n [3]int64
	for i, part := range parts {
		var err error
		if n[i], err = strconv.ParseInt(part, 10, 64); err != nil {
			return nil, session.ErrBadToken
		}
	}
	return &hit{Found: session.Found{Time: time.UnixMicro(n[0]).UTC()}, order: n[1], seq: n[2]}, nil
}

var _ session.Searcher = (*Backend)(nil)

// Index implements session.Searcher. There is no index: a search reads the logs.
func (m *Backend) Index(context.Context) (bool, error) { return true, nil }

// Search implements session.Searcher. It reads the newest sessions first, and of all at most
// 64 MiB.
func (m *Backend) Search(ctx context.Context, app, name, query string, page session.Page) ([]*session.Found, string, error) {
	q, err := parseQuery(query)
	if err != nil {
		return nil, "", err
	}
	var after *hit
	if page.Token != "" {
		if after, err = hitAt(page.Token); err != nil {
			return nil, "", err
		}
	}
	var all []*hit
	budget := maxScan
	for _, rec := range m.visible(app, name) {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		log := rec.log()
		for _, e := range log {
			budget -= len(e.JSON)
		}
		if budget < 0 {
			break
		}
		for _, e := range log {
			if one := search(q, e); one != nil {
				one.Session, one.order = rec.key.ID, rec.order
				if after == nil || after.compare(one) < 0 {
					all = append(all, one)
				}
			}
		}
	}
	slices.SortFunc(all, (*hit).compare)
	size := cmp.Or(max(page.Size, 0), searchPage)
	next := ""
	if len(all) > size {
		all = all[:size]
		next = all[size-1].token()
	}
	found := make([]*session.Found, len(all))
	for i, one := range all {
		found[i] = &one.Found
	}
	return found, next, nil
}

// visible returns the sessions of a user that are listed, the newest first.
func (m *Backend) visible(app, user string) []*record {
	m.mu.RLock()
	defer m.mu.RUnlock()
	u := m.users[owner{app, user}]
	if u == nil {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(u.sessions), func(r *record) bool { return r.key.Hidden() })
	slices.Reverse(list)
	return list
}

// log returns the entries that are not rewound. It decodes copies of them, so that an
// idle session stays packed.
func (r *record) log() []*session.Entry {
	entries, rewound := r.copies()
	if rewound > 0 {
		return session.Visible(entries)
	}
	return entries
}

// copies returns copies of all entries, and the sequence number of the last one that
// rewinds the log.
func (r *record) copies() (entries []*session.Entry, rewound int64) {
	r.mu.Lock()
	entries, rewound = slices.Clone(r.entries), r.rewound
	r.mu.Unlock()
	for i, e := range entries {
		entries[i] = &session.Entry{}
		e.CopyTo(entries[i])
	}
	return entries, rewound
}

// search returns what is found of an entry, or nil.
func search(q *textsearch.Query, e *session.Entry) *hit {
	ev := &event.Event{}
	if e.Damaged() || ev.UnmarshalJSON(e.JSON) != nil {
		return nil
	}
	text := textsearch.Of(ev)
	if text == nil {
		return nil
	}
	pieces, ok := q.Match(text.Text)
	if !ok {
		return nil
	}
	return &hit{Found: session.Found{Event: text.Event, Author: text.Author, Time: text.Time, Snippet: snippet(pieces)}, seq: e.Seq}
}

func snippet(pieces []textsearch.Piece) []session.Snippet {
	list := make([]session.Snippet, len(pieces))
	for i, p := range pieces {
		list[i] = session.Snippet(p)
	}
	return list
}

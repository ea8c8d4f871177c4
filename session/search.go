package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/textsearch"
)

// ErrBadQuery rejects a search for nothing, or for too much.
var ErrBadQuery = errors.New("invalid search")

// Found is an event that a search has found.
type Found struct {
	Session string // its id
	Event   string // its id
	Author  string
	Time    time.Time // of the event
	// Snippet is the part of the text around the first match. The texts of its
	// pieces follow one another.
	Snippet []Snippet
}

// Snippet is a part of the text of an event.
type Snippet struct {
	Text  string
	Match bool // it is what was searched for
}

// Searcher is the part of a Store that searches in what was said: in the text parts
// of the events that are not rewound, without thoughts, calls and results of tools,
// and files. Of a long text, only the beginning can be found.
type Searcher interface {
	// Search returns the events of a user that have all words of the query, the
	// latest first. It ignores case, and omits hidden sessions. Words in quotes have
	// to follow one another. The last word may be incomplete. Only the size and the
	// token of the page are used. A page may have fewer items than requested, and
	// still another page after it. A query without words, or with too many, fails
	// with ErrBadQuery.
	Search(ctx context.Context, app, user, query string, page Page) (found []*Found, next string, err error)

	// Index makes a limited number of events findable that are not yet, and reports
	// whether there are no more of those that were stored before the call. The server
	// calls it every second, or less often if there are many.
	Index(ctx context.Context) (done bool, err error)
}

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
		return nil, fmt.Errorf("%w: it %w", ErrBadQuery, err)
	}
	return q, nil
}

// hit is an event that a search in memory has found.
type hit struct {
	Found

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
		return nil, ErrBadToken
	}
	var n [3]int64
	for i, part := range parts {
		var err error
		if n[i], err = strconv.ParseInt(part, 10, 64); err != nil {
			return nil, ErrBadToken
		}
	}
	return &hit{Found: Found{Time: time.UnixMicro(n[0]).UTC()}, order: n[1], seq: n[2]}, nil
}

var _ Searcher = (*Memory)(nil)

// Index implements Searcher. There is no index: a search reads the logs.
func (m *Memory) Index(context.Context) (bool, error) { return true, nil }

// Search implements Searcher. It reads the newest sessions first, and of all at most
// 64 MiB.
func (m *Memory) Search(ctx context.Context, app, name, query string, page Page) ([]*Found, string, error) {
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
	found := make([]*Found, len(all))
	for i, one := range all {
		found[i] = &one.Found
	}
	return found, next, nil
}

// visible returns the sessions of a user that are listed, the newest first.
func (m *Memory) visible(app, name string) []*record {
	m.mu.RLock()
	defer m.mu.RUnlock()
	u := m.users[owner{app, name}]
	if u == nil {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(u.sessions), func(r *record) bool { return r.key.Hidden() })
	slices.Reverse(list)
	return list
}

// log returns the entries that are not rewound. It decodes copies of them, so that an
// idle session stays packed.
func (r *record) log() []*Entry {
	entries, rewound := r.copies()
	if rewound > 0 {
		return Visible(entries)
	}
	return entries
}

// copies returns copies of all entries, and the sequence number of the last one that
// rewinds the log.
func (r *record) copies() (entries []*Entry, rewound int64) {
	r.mu.Lock()
	entries, rewound = slices.Clone(r.entries), r.rewound
	r.mu.Unlock()
	for i, e := range entries {
		entries[i] = &Entry{Seq: e.Seq, JSON: e.JSON, damaged: e.damaged}
	}
	return entries, rewound
}

// search returns what is found of an entry, or nil.
func search(q *textsearch.Query, e *Entry) *hit {
	ev := &event.Event{}
	if e.damaged || ev.UnmarshalJSON(e.JSON) != nil {
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
	return &hit{Found: Found{Event: text.Event, Author: text.Author, Time: text.Time, Snippet: snippet(pieces)}, seq: e.Seq}
}

func snippet(pieces []textsearch.Piece) []Snippet {
	list := make([]Snippet, len(pieces))
	for i, p := range pieces {
		list[i] = Snippet(p)
	}
	return list
}

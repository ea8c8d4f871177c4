// Package textindex has what the stores with an index of texts share: what has to be added to it and removed from it, and
// how pages of a search are read. Package textsearch says what is found. The index of feedback is written with it.
package textindex

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/parley-run/parley/internal/textsearch"
	"github.com/parley-run/parley/session"
)

// Limits of Index.
const (
	// Sessions is how many sessions are indexed together.
	Sessions = 128
	// Walk is how many sessions are looked at together.
	Walk = 1000
	// Again is how often all sessions are looked at: processes may have ended before they
	// have indexed what they had stored.
	Again = time.Hour
	// Events and Bytes is how much of a log is read together.
	Events = 100
	Bytes  = 4 << 20
)

// Prefix returns what the words of a user begin with, so that a search does not depend on what others have said. Two
// users may have the same prefix.
func Prefix(owner [32]byte) string { return hex.EncodeToString(owner[:4]) }

// Row is a text to be added.
type Row struct {
	textsearch.Text

	Seq   int64
	Terms string // the words, with spaces in between
}

// Step is a change of the index of a session.
type Step struct {
	Add  []Row
	Gone []int64 // sequence numbers of entries that are rewound now
	// Until is the sequence number of the last entry that is indexed then.
	Until int64
}

// Next returns the next change of an index that has the entries of a log until a sequence number. rewound is that of the
// last entry that rewinds the log. If it is greater, entries are the whole log; otherwise they are some that follow, and
// maybe some before them.
func Next(prefix string, entries []*session.Entry, until, rewound int64) Step {
	step := Step{Until: until}
	visible := entries
	if rewound > until {
		visible = session.Visible(entries)
		seen := make(map[int64]bool, len(visible))
		for _, e := range visible {
			seen[e.Seq] = true
		}
		for _, e := range entries {
			if e.Seq <= until && !seen[e.Seq] {
				step.Gone = append(step.Gone, e.Seq)
			}
		}
	}
	for _, e := range visible {
		if e.Seq <= until {
			continue
		}
		if len(step.Add) == Events {
			return step
		}
		step.Until = e.Seq
		ev, err := e.Decode()
		if err != nil {
			continue // damaged
		}
		if text := textsearch.Of(ev); text != nil {
			step.Add = append(step.Add, Row{*text, e.Seq, textsearch.Terms(prefix, text.Text)})
		}
	}
	if len(entries) > 0 {
		step.Until = max(until, entries[len(entries)-1].Seq)
	}
	return step
}

// Candidate is a text that has all words of a query.
type Candidate struct {
	Session, Event, Author string
	Time                   time.Time
	Text                   string
	Token                  string // for the candidates that follow
}

const (
	// defaultSize is the size of a page that has none.
	defaultSize = 100
	// maxRead is the number of candidates that one call reads.
	maxRead = 2000
)

// Recent returns the texts of a user among the limit texts of a store that follow the one of the token, or that are the
// newest ones if it is empty. end is the token of the last one that was looked at, empty if there are no more.
type Recent func(token string, limit int) (list []Candidate, end string, err error)

const (
	// scanned is the number of texts that are looked at together, and maxScanned that of one call.
	scanned, maxScanned = 200, 2000
	// Of enough texts, so many have to match for the search to go on without the index: 1 of frequent.
	enough, frequent = 100, 20
)

// Search returns a page of a search. read returns at most limit candidates that follow the one of the token, or the first
// ones if it is empty.
//
// An index finds all texts with the beginning of a word before it returns the newest of them, which takes long if most
// texts have one. Such a page is soon full if the newest texts are looked at one by one: recent returns them. It may be
// nil.
func Search(query string, page session.Page, read func(q *textsearch.Query, token string, limit int) ([]Candidate, error), recent Recent) (found []*session.Found, next string, err error) {
	q, err := textsearch.Parse(query)
	if err != nil {
		return nil, "", fmt.Errorf("%w: it %w", session.ErrBadQuery, err)
	}
	p := &paging{q: q, size: cmp.Or(max(page.Size, 0), defaultSize), found: []*session.Found{}, token: page.Token}
	if _, begun := q.Terms(); begun != "" && recent != nil {
		if over, err := p.scan(recent); err != nil || over {
			return p.found, p.next, err
		}
	}
	for done := 0; done < maxRead; {
		// One more shows whether there is another page. If few match, more are read at once: each time, the index finds
		// all candidates.
		limit := max(p.size-len(p.found)+1, min(2*done, maxRead/4))
		if q.Phrases() {
			limit = max(limit, maxRead/4)
		}
		list, err := read(q, p.token, limit)
		if err != nil {
			return nil, "", err
		}
		if slices.ContainsFunc(list, p.take) {
			return p.found, p.next, nil
		}
		if len(list) < limit {
			return p.found, "", nil
		}
		done += len(list)
	}
	if len(p.found) == p.size {
		return p.found, p.next, nil
	}
	return p.found, p.token, nil
}

// paging is a page that is being filled.
type paging struct {
	q     *textsearch.Query
	size  int
	found []*session.Found
	token string // of the last text that was looked at
	next  string // of the last one of a full page
}

// take looks at the next text. It reports whether the page is full and there is another one.
func (p *paging) take(c Candidate) (full bool) {
	p.token = c.Token
	pieces, ok := p.q.Match(c.Text)
	switch {
	case !ok:
		return false
	case len(p.found) == p.size:
		return true
	}
	p.found = append(p.found, foundOf(c, pieces))
	p.next = c.Token
	return false
}

// scan looks at the newest texts, as long as many match. It reports whether the search is over.
func (p *paging) scan(recent Recent) (over bool, err error) {
	looked := 0
	for done := 0; done < maxScanned; done += scanned {
		list, end, err := recent(p.token, scanned)
		if err != nil {
			p.found, p.next = nil, ""
			return false, err
		}
		if slices.ContainsFunc(list, p.take) {
			return true, nil
		}
		if end == "" {
			p.next = ""
			return true, nil
		}
		p.token = end
		if looked += len(list); looked >= enough && len(p.found)*frequent < looked {
			break
		}
	}
	return false, nil
}

func foundOf(c Candidate, pieces []textsearch.Piece) *session.Found {
	one := &session.Found{Session: c.Session, Event: c.Event, Author: c.Author, Time: c.Time, Snippet: make([]session.Snippet, len(pieces))}
	for i, p := range pieces {
		one.Snippet[i] = session.Snippet(p)
	}
	return one
}

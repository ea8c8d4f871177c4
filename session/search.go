package session

import (
	"context"
	"errors"
	"time"
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

// Package session holds what a conversation is on disk or in memory: an
// append-only log of events with a dense sequence, the state that follows from
// it, and the epoch that says who may write.
package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
)

// Failures that a caller can act on. Everything else is the store's own.
var (
	ErrNotFound = errors.New("session not found")
	ErrExists   = errors.New("session already exists")
	// ErrFenced refuses an append: the session has been taken by somebody
	// else, released, or deleted since the epoch was given out.
	ErrFenced = errors.New("session is owned by another run")
)

// Entry is one event of the log, with the one encoding that everybody gets.
type Entry struct {
	Seq  int64
	JSON []byte
	// Event is the same, decoded. A store that has only the bytes leaves it
	// nil; see Decode.
	Event *event.Event
}

// NewEntry encodes ev. Its place in the log is given by the store.
func NewEntry(ev *event.Event) (*Entry, error) {
	// The bytes are kept for as long as the session is: they get just the room
	// that they need.
	scratch, _ := buffers.Get().(*[]byte)
	defer buffers.Put(scratch)
	b, err := ev.AppendJSON((*scratch)[:0])
	if err != nil {
		return nil, err
	}
	if cap(b) <= maxScratch {
		*scratch = b
	}
	return &Entry{JSON: slices.Clip(bytes.Clone(b)), Event: ev}, nil
}

// maxScratch keeps a single large event from staying in the pool.
const maxScratch = 64 << 10

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Decode returns the event.
func (e *Entry) Decode() (*event.Event, error) {
	if e.Event != nil {
		return e.Event, nil
	}
	ev := &event.Event{}
	if err := ev.UnmarshalJSON(e.JSON); err != nil {
		return nil, err
	}
	return ev, nil
}

// Session is a snapshot: it does not change when the session does. Its state
// and entries may be shared with other readers and must not be changed.
type Session struct {
	Key
	// State is what the session, its user and its application have, merged,
	// with the prefixes of the scopes in the keys.
	State   State
	Seq     int64    // of the last entry, 0 for an empty log
	Entries []*Entry // as asked for, in the order of their sequence
	Created time.Time
	Updated time.Time
}

// State maps keys to JSON values.
type State map[string]json.RawMessage

// Scope says how widely a key of the state is shared.
type Scope int

// The scopes, by the prefix of the key.
const (
	ScopeSession Scope = iota // no prefix
	ScopeUser                 // user:
	ScopeApp                  // app:
	ScopeTemp                 // temp:, for one run, never stored
)

// ScopeOf tells the scope of a key.
func ScopeOf(key string) Scope {
	switch {
	case strings.HasPrefix(key, "user:"):
		return ScopeUser
	case strings.HasPrefix(key, "app:"):
		return ScopeApp
	case strings.HasPrefix(key, "temp:"):
		return ScopeTemp
	}
	return ScopeSession
}

// Apply sets the keys of delta that belong to scope; null deletes. The state
// may be nil, and is returned because it may have to be made.
func (s State) Apply(scope Scope, delta State) State {
	for k, v := range delta {
		if ScopeOf(k) != scope {
			continue
		}
		if IsNull(v) {
			delete(s, k)
			continue
		}
		if s == nil {
			s = State{}
		}
		s[k] = v
	}
	return s
}

// IsNull reports whether v is the JSON null, which deletes a key.
func IsNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// WithoutTemp returns delta without the keys of one run. It is delta itself
// when there are none.
func WithoutTemp(delta map[string]json.RawMessage) map[string]json.RawMessage {
	for k := range delta {
		if ScopeOf(k) == ScopeTemp {
			rest := maps.Clone(delta)
			maps.DeleteFunc(rest, func(k string, _ json.RawMessage) bool { return ScopeOf(k) == ScopeTemp })
			return rest
		}
	}
	return delta
}

// Read says how much of the log Get returns.
type Read struct {
	NoEvents bool
	After    int64 // entries with a greater sequence only
}

// Page asks for a part of a list: at most Size sessions (0 for all) after the
// one that Token, the answer of the page before, stands for.
type Page struct {
	Size  int
	Token string
}

// ErrBadToken refuses a Page.Token that no list has given out.
var ErrBadToken = errors.New("invalid page token")

// Store keeps sessions. All methods are safe for concurrent use, and every one
// is atomic: it happens entirely or, with an error, not at all. Sessions that
// were not there are ErrNotFound.
//
// Entries that are handed to a store are the store's from then on: it gives
// them their sequence.
//
// What a store does not do: it starts no runs, makes no identifiers, and never
// changes the bytes of an entry.
type Store interface {
	// Create makes a session with the given state and log. The user: and app:
	// keys of the state go to where they are shared. Of any number of creates
	// with one key, one wins; the others are ErrExists.
	Create(ctx context.Context, key Key, state State, log []*Entry) (*Session, error)

	// Get reads a session.
	Get(ctx context.Context, key Key, read Read) (*Session, error)

	// List reads the sessions of a user without their events, the newest
	// first, hidden ones left out. next is the token of the page after, empty
	// at the end. Sessions that are made or deleted between two pages neither
	// repeat nor hide others.
	List(ctx context.Context, app, user string, page Page) (sessions []*Session, next string, err error)

	// Delete removes a session. Removing one that is not there is no error.
	// State that it shares with others stays.
	Delete(ctx context.Context, key Key) error

	// Acquire takes the session for a run: it returns the session with its
	// whole log, and a state that is the caller's to change, and an epoch greater than any that was given out before, by
	// this or by another process. Whoever held the session before cannot
	// append any more.
	Acquire(ctx context.Context, key Key) (*Session, int64, error)

	// Append writes entries under an epoch: each gets the next sequence, and
	// its state delta (without temp: keys, which must not be in it) is
	// applied. ErrFenced when the epoch is not the session's.
	Append(ctx context.Context, key Key, epoch int64, entries ...*Entry) error

	// Release gives the session back. It does nothing when the epoch is not
	// the session's any more.
	Release(ctx context.Context, key Key, epoch int64) error

	// Patch appends one entry from outside of any run, whoever owns the
	// session.
	Patch(ctx context.Context, key Key, entry *Entry) error
}

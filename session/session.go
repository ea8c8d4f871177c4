// Package session holds what a conversation is on disk or in memory: an
// append-only log of events with a dense sequence, the state that follows from
// it, and the epoch that says who may write.
package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	// Event is the same, decoded, if whoever made the entry had it; see Decode.
	Event *event.Event

	decoded atomic.Pointer[event.Event]
	damaged bool
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

// Decode returns the event, which must not be changed. It is decoded once.
func (e *Entry) Decode() (*event.Event, error) {
	if e.Event != nil {
		return e.Event, nil
	}
	if e.damaged {
		return nil, errDamaged
	}
	if ev := e.decoded.Load(); ev != nil {
		return ev, nil
	}
	ev := &event.Event{}
	if err := ev.UnmarshalJSON(e.JSON); err != nil {
		return nil, err
	}
	e.decoded.Store(ev)
	return ev, nil
}

// Session is a snapshot: it does not change when the session does. Its state
// and entries may be shared with other readers and must not be changed.
type Session struct {
	Key
	// State is what the session, its user and its application have, merged,
	// with the prefixes of the scopes in the keys.
	State State
	// Ordinal tells sessions apart that had the same key one after the other. A
	// later session has a greater one.
	Ordinal int64
	Seq     int64    // of the last entry, 0 for an empty log
	Entries []*Entry // as asked for, in the order of their sequence
	// Calls is the index of the function calls in the log, if a store or a cache
	// keeps one.
	Calls *CallIndex
	// Rewound is the sequence of the last entry that takes others back, 0 when
	// there is none; see Visible.
	Rewound int64
	// Damaged is the sequence of the first of the Entries that is not what was
	// written, 0 for none; see Damage.
	Damaged int64
	// Initial is the state that the session was made with, its own scope only.
	// It is there when it was asked for.
	Initial State
	// Origin is where a fork comes from, nil for a session that is none. It must
	// not be changed.
	Origin  *Origin
	Created time.Time
	Updated time.Time
}

// Origin says of which session another one is a branch. That session may be gone.
type Origin struct {
	Session string `json:"session"`
	// Event is the last one that both have, empty when they have none.
	Event string `json:"event,omitempty"`
	// Root is the session that is no fork itself and from which all branches come.
	Root string `json:"root"`
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

// Read says how much of a session is read.
type Read struct {
	NoEvents bool
	After    int64 // entries with a greater sequence only
	// Of is the Ordinal of the session that After is about: of another one, the
	// whole log is read. 0 stands for any.
	Of      int64
	Initial bool // the state that it was made with, too
	// Damaged reads a session although some of its entries are damaged, which is
	// a *CorruptError otherwise. Begin and Claim always do.
	Damaged bool
}

// Filter leaves sessions out of a list. Its zero value leaves out none.
type Filter struct {
	Title  string            // must be part of the title, in any case of letters
	Labels map[string]string // must all be there
	// Bounds of the last change, Since inclusive and Before exclusive. Zero
	// means none.
	Since, Before time.Time
	// Root leaves only that session, and those that have it as the root of their
	// Origin.
	Root string
}

// Store keeps sessions and their runs. All methods are safe for concurrent use,
// and every one is atomic: it happens entirely or, with an error, not at all.
// Sessions that were not there are ErrNotFound. A store that cannot be used now
// fails with an *UnavailableError; calls that Insist wait for it first.
//
// Entries that are handed to a store are the store's from then on: it gives
// them their sequence.
//
// What a store does not do: it works on no runs, makes no identifiers, and never
// changes the bytes of an entry.
type Store interface {
	// Create makes a session. Of any number of creates with one key, one wins;
	// the others are ErrExists.
	Create(ctx context.Context, s NewSession) (*Session, error)

	// Get reads a session.
	Get(ctx context.Context, key Key, read Read) (*Session, error)

	// List reads the sessions of a user without their events, the newest
	// first, hidden ones left out. next is the token of the page after, empty
	// at the end. Sessions that are made or deleted between two pages neither
	// repeat nor hide others.
	List(ctx context.Context, app, user string, page Page) (sessions []*Session, next string, err error)

	// Delete removes a session with its runs, and with what is remembered of it.
	// Removing one that is not there is no error. State that it shares with
	// others stays.
	Delete(ctx context.Context, key Key) error

	// Patch appends one entry from outside of any run, whoever owns the
	// session.
	Patch(ctx context.Context, key Key, entry *Entry) error

	Runs
	Secrets
	Memories
	Ledger
	Upkeep

	// Close gives back what the store has opened.
	Close() error
}

// Upkeep is the part of a Store that is for whoever looks after it.
type Upkeep interface {
	// Sweep deletes sessions that have not changed for their time to live, or,
	// if they have none of their own, for ttl (0: for ever), and have no run
	// that is not over. It looks at a limited number of sessions, goes on
	// where the last call stopped, and tells whether it has come to the end. With
	// an error, it tells which sessions it has deleted all the same.
	Sweep(ctx context.Context, ttl time.Duration) (deleted []Key, done bool, err error)

	// Walk lists the sessions of everybody, the oldest first, hidden ones too.
	// It is paged like List.
	Walk(ctx context.Context, page Page) (keys []Key, next string, err error)

	// Ready reports why nothing can be stored now: it is an *UnavailableError. It
	// takes a moment at most, and may be called often.
	Ready(ctx context.Context) error

	// Rebuild makes what follows from a session's log anew from it: its own
	// state, its sequence, and what lists are filtered by. It reports whether
	// something was not as it should be. ErrFenced while a run is running.
	Rebuild(ctx context.Context, key Key) (changed bool, err error)
}

// NewSession is a session to be made.
type NewSession struct {
	Key Key
	// State has the user: and app: keys, too; they go to where they are shared.
	State State
	// Log is the history with which the session begins. Its state deltas apply
	// to the session, and not to what it shares with others: that may have
	// moved on since.
	Log []*Entry
	// TTL is how long the session is kept after its last change. 0 leaves that
	// to the server.
	TTL time.Duration
	// Origin is where a fork comes from.
	Origin *Origin
}

// Events are the events that the session has read and that were not taken back,
// decoded anew for the caller.
func (s *Session) Events() ([]*event.Event, error) {
	entries := s.Seen()
	events := make([]*event.Event, len(entries))
	for i, e := range entries {
		ev := &event.Event{}
		if err := ev.UnmarshalJSON(e.JSON); err != nil {
			return nil, fmt.Errorf("event %d of the session %s: %w", e.Seq, s.ID, err)
		}
		events[i] = ev
	}
	return events, nil
}

// Package session keeps conversations. A session is an append-only log of events
// with a dense sequence, the state that follows from it, and an epoch that fences
// writers: only the run that holds the epoch may append.
//
// A Store is an open database. NewMemory opens one in memory, and the packages
// sqlite, postgres and agentengine open others. Its parts are small interfaces:
// Sessions, Runs, Leases, Secrets, Memories, Ledger, Upkeep and APIKeys. A database
// of an author's own implements Backend, is made a Store by NewStore, and is tested
// with the package storetest.
package session

import (
	"bytes"
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
	// ErrFenced refuses an append: the session has been claimed by another
	// process, released, or deleted since the epoch was given out.
	ErrFenced = errors.New("session is owned by another run")
)

// Entry is one event of the log, with its only encoding.
type Entry struct {
	Seq  int64
	JSON []byte
	// Event is the same, decoded, if the entry was made of it; see Decode.
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

// Size is about how many bytes of memory an entry takes, its decoded event
// included. Caches count with it.
func (e *Entry) Size() int64 {
	const structures = 512
	return int64(len(e.JSON)) + structures
}

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

// Events returns the events that were read and not taken back, decoded anew for
// the caller.
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

// Package session stores conversations. A session is an append-only log of events
// with dense sequence numbers, the state that follows from it, and an epoch that
// fences writers: only the run that holds the epoch may append.
//
// A Store is an open database. Package memstore opens one in memory, and the packages
// sqlite, postgres and agentengine open others. Its parts are small interfaces. Every
// store has Sessions, Runs, Leases, Secrets, Memories, Ledger and Upkeep, which together
// are a Backend. The other fields of Store are optional parts, such as APIKeys and
// Schedules. A third-party database implements Backend and the optional parts that it
// can, becomes a Store with NewStore, and is tested with the package storetest.
package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/event"
)

// Errors that a caller can act on. All others are internal to the store.
var (
	ErrNotFound = errors.New("session not found")
	ErrExists   = errors.New("session already exists")
	// ErrFenced means that the session has been claimed by another process,
	// released, or deleted since the epoch was assigned.
	ErrFenced = errors.New("session is owned by another run")
)

// Entry is one event of the log, with its only encoding.
type Entry struct {
	Seq  int64
	JSON []byte
	// Event is the decoded event, if the entry was created from it; see Decode.
	Event *event.Event

	decoded atomic.Pointer[event.Event]
	damaged bool
}

// NewEntry encodes ev. The store assigns its sequence number.
func NewEntry(ev *event.Event) (*Entry, error) {
	// The bytes are kept as long as the session, so they get no spare capacity.
	// The buffer that they are encoded in is used again: BenchmarkNewEntry allocates
	// 3,072 bytes instead of 913 without.
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

// maxScratch keeps large buffers out of the pool.
const maxScratch = 64 << 10

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Size returns the approximate memory size of an entry, including its decoded
// event. Caches use it.
func (e *Entry) Size() int64 {
	const structures = 512
	return int64(len(e.JSON)) + structures
}

// CopyTo makes other, a new entry, a copy that has the same bytes and, if e is decoded,
// the same event, which Release drops. A store that keeps entries in memory keeps
// copies: an entry that a caller has made keeps its event.
func (e *Entry) CopyTo(other *Entry) {
	other.Seq, other.JSON, other.damaged = e.Seq, e.JSON, e.damaged
	if e.Event != nil {
		other.decoded.Store(e.Event)
	} else {
		other.decoded.Store(e.decoded.Load())
	}
}

// Release drops the decoded event, which Decode decodes again.
func (e *Entry) Release() { e.decoded.Store(nil) }

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

// Session is a snapshot: it does not change when the session does. Its state and
// entries may be shared with other readers and must not be changed.
type Session struct {
	Key
	// State is the merged state of the session, its user and its application, with
	// the prefixes of the scopes in the keys.
	State State
	// Ordinal distinguishes successive sessions with the same key. A later session
	// has a greater one.
	Ordinal int64
	Seq     int64    // of the last entry; 0 for an empty log
	Entries []*Entry // as requested, in order of their sequence numbers
	// Calls is the index of the function calls in the log, if a store or a cache
	// has one.
	Calls *CallIndex
	// Rewound is the sequence number of the last entry that rewinds the log; 0 if
	// there is none; see Visible.
	Rewound int64
	// Damaged is the sequence number of the first damaged one of Entries; 0 for
	// none; see Damage.
	Damaged int64
	// Initial is the state with which the session was created, its own scope only.
	// It is set if it was requested.
	Initial State
	// Origin is the origin of a fork; nil for a session that is not a fork. It must
	// not be changed.
	Origin  *Origin
	Created time.Time
	Updated time.Time
}

// Origin identifies the session that a fork was created from, which may have been
// deleted.
type Origin struct {
	Session string `json:"session"`
	// Event is the last common event, empty if there is none.
	Event string `json:"event,omitempty"`
	// Root is the session at the root of all branches, which is not a fork itself.
	Root string `json:"root"`
	// Replay is the run that the fork repeats, empty if it repeats none.
	Replay string `json:"replay,omitempty"`
}

// State maps keys to JSON values.
type State map[string]json.RawMessage

// Scope defines which sessions share a key of the state.
type Scope int

// The scopes, by the prefix of the key.
const (
	ScopeSession Scope = iota // no prefix
	ScopeUser                 // user:
	ScopeApp                  // app:
	ScopeTemp                 // temp:, for one run, never stored
)

// ScopeOf returns the scope of a key.
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

// Apply sets the keys of delta that belong to scope; null deletes a key. The state
// may be nil; Apply returns it because it may have to create it.
func (s State) Apply(scope Scope, delta State) State {
	for k, v := range delta {
		if ScopeOf(k) != scope {
			continue
		}
		if isNull(v) {
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

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// Read selects how much of a session is read.
type Read struct {
	NoEvents bool  // without entries
	After    int64 // only entries with a greater sequence number
	// Of is the Ordinal of the session that After refers to: of another one, the
	// whole log is read. 0 means any.
	Of      int64
	Initial bool // also the initial state
	// Damaged reads a session although some of its entries are damaged; otherwise
	// that is a *CorruptError. Begin and Claim always do so.
	Damaged bool
}

// Filter selects sessions of a list. The zero value selects all.
type Filter struct {
	Title  string            // a part of the title, ignoring case
	Labels map[string]string // all of them are required
	// Bounds of the last change, Since inclusive and Before exclusive. Zero means
	// no bound.
	Since, Before time.Time
	// Root selects only that session, and those that have it as the root of their
	// Origin.
	Root string
}

// Events returns the events that were read and are not rewound, decoded separately
// for the caller.
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

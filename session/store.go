package session

import (
	"context"
	"time"
)

// Store is an open database: sessions, their runs, and what belongs to them. Its
// parts are separate interfaces, so that a consumer takes only those that it uses.
//
// All methods of all parts are safe for concurrent use, and every one is atomic:
// it happens entirely or, with an error, not at all. A session that does not exist
// is ErrNotFound. A store that is unavailable fails with an
// *UnavailableError; calls whose context is marked by Insist wait for it first.
//
// A store owns the entries that are passed to it: it sets their sequence numbers.
// A store does not execute runs, creates no identifiers, and never
// changes the bytes of an entry.
//
// The package storetest has the tests that every store must pass.
type Store struct {
	Sessions
	Runs
	Leases
	Secrets
	Memories
	Ledger
	Upkeep

	// Keys are the API keys of callers; nil for a store without them.
	Keys APIKeys
	// Outbox notes what is to be sent to receivers; nil for a store without one.
	Outbox Outbox
	// Recordings keeps what models and tools answered; nil for a store without them.
	Recordings Recordings
	// Schedules keeps schedules of users; nil for a store without them.
	Schedules Schedules
	// Inbox lists the runs that wait; nil for a store that cannot.
	Inbox Inbox
	// Searcher searches in what was said; nil for a store that cannot.
	Searcher Searcher
	// Feedback lists feedback of all sessions; nil for a store that cannot.
	Feedback FeedbackLister
	// RunLister lists the runs of all sessions; nil for a store that cannot.
	RunLister RunLister
	// MemoryEditor shows and changes single memories; nil for a store that cannot.
	MemoryEditor MemoryEditor
	// Spender counts usage outside of runs; nil for a store that cannot.
	Spender Spender
	// Closer releases the resources of the store.
	Closer
}

// Backend is a type that implements all parts of a Store except Keys, Outbox,
// Recordings, Schedules, Inbox, Searcher, Feedback, RunLister, MemoryEditor and Spender.
type Backend interface {
	Sessions
	Runs
	Leases
	Secrets
	Memories
	Ledger
	Upkeep
	Closer
}

// Closer is the part of a Store that closes it.
type Closer interface {
	Close() error
}

// NewStore returns a Store whose parts are all b, without Keys. It has an Outbox,
// Recordings, Schedules, an Inbox, a Searcher, Feedback, a RunLister, a MemoryEditor
// and a Spender if b implements them.
func NewStore(b Backend) Store {
	s := Store{Sessions: b, Runs: b, Leases: b, Secrets: b, Memories: b, Ledger: b, Upkeep: b, Closer: b}
	if o, ok := b.(Outbox); ok {
		s.Outbox = o
	}
	if r, ok := b.(Recordings); ok {
		s.Recordings = r
	}
	if l, ok := b.(Schedules); ok {
		s.Schedules = l
	}
	if i, ok := b.(Inbox); ok {
		s.Inbox = i
	}
	if f, ok := b.(Searcher); ok {
		s.Searcher = f
	}
	if f, ok := b.(FeedbackLister); ok {
		s.Feedback = f
	}
	if l, ok := b.(RunLister); ok {
		s.RunLister = l
	}
	if e, ok := b.(MemoryEditor); ok {
		s.MemoryEditor = e
	}
	if m, ok := b.(Spender); ok {
		s.Spender = m
	}
	return s
}

// Sessions is the part of a Store that stores sessions.
type Sessions interface {
	// Create creates a session. Of several calls with one key, one succeeds; the
	// others fail with ErrExists.
	Create(ctx context.Context, s NewSession) (*Session, error)

	// Get returns a session.
	Get(ctx context.Context, key Key, read Read) (*Session, error)

	// List returns the sessions of a user without their events, newest first. It
	// omits hidden sessions. next is the token of the next page, empty at the end.
	// Sessions that are created or deleted between two pages neither repeat nor
	// hide others.
	List(ctx context.Context, app, user string, page Page) (sessions []*Session, next string, err error)

	// Patch appends one entry outside of a run, even while a run holds the session.
	Patch(ctx context.Context, key Key, entry *Entry) error

	// Delete deletes a session with its runs, its secrets, its subscriptions, its
	// recordings, and its memories.
	// Deleting a session that does not exist is not an error. State that it shares
	// with others stays.
	Delete(ctx context.Context, key Key) error
}

// Upkeep is the part of a Store that maintains it.
type Upkeep interface {
	// Waits returns runs that have been Waiting for longer than age, and that no
	// Completed or Waiting run resumes. Of those that ended after the given one, or
	// of all if it is nil, it returns the first ones to end, at most limit of them.
	Waits(ctx context.Context, age time.Duration, after *Run, limit int) ([]*Run, error)

	// Expire ends unanswered waits: outside of a run, it appends entries that do
	// not change the state. Of the runs with the given ids, those that are Waiting get
	// the failure and its status. It fails with ErrFenced if a run of the session has not ended, or if
	// seq is not the sequence number of the last entry of the log.
	Expire(ctx context.Context, key Key, seq int64, runs []string, failure *Failure, entries ...*Entry) error

	// Sweep deletes sessions that have not changed for their own time to live or,
	// if they have none, for ttl (0 means no limit), and whose runs have all ended.
	// It visits a limited number of sessions, continues where the last call
	// stopped, and reports whether it has reached the end. If it fails, it still
	// returns the deleted sessions.
	Sweep(ctx context.Context, ttl time.Duration) (deleted []Key, done bool, err error)

	// Walk returns all sessions, including hidden ones, and of each user the oldest
	// first. It is paged like List.
	Walk(ctx context.Context, page Page) (keys []Key, next string, err error)

	// Ready returns the reason why nothing can be stored now, as an
	// *UnavailableError, or nil. If that is so for some users only, it is a
	// *PartialError. It returns soon, and may be called often.
	Ready(ctx context.Context) error

	// Rebuild derives from a session's log what follows from it: its own state, its
	// sequence number, and what lists are filtered by. It reports whether anything
	// was wrong. It fails with ErrFenced while a run is Running.
	Rebuild(ctx context.Context, key Key) (changed bool, err error)
}

// NewSession is a session to be created.
type NewSession struct {
	Key Key
	// State may have user: and app: keys, which are stored in their scopes.
	State State
	// Log is the initial history of the session. Its state deltas apply to the
	// session only, not to shared state, which may have changed since.
	Log []*Entry
	// TTL is how long the session is kept after its last change. 0 means the
	// default of the server.
	TTL time.Duration
	// Origin is the origin of a fork.
	Origin *Origin
}

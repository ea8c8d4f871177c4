package session

import (
	"context"
	"time"
)

// Store is an open database: sessions, their runs, and what belongs to them. Its
// parts are interfaces of their own, so that a consumer takes those that it uses.
//
// All methods of all parts are safe for concurrent use, and every one is atomic:
// it happens entirely or, with an error, not at all. Sessions that do not exist
// are ErrNotFound. A store that cannot be used now fails with an
// *UnavailableError; calls whose context is marked by Insist wait for it first.
//
// Entries that are passed to a store belong to the store from then on: it sets
// their sequence. A store does not work on runs, makes no identifiers, and never
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

	// Keys are the API keys of callers; nil for a store that keeps none.
	Keys APIKeys
	// Closer releases what the store has opened.
	Closer
}

// Backend is a type that implements all parts of a Store but its Keys.
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

// NewStore returns a Store whose parts are all b, without Keys.
func NewStore(b Backend) Store {
	return Store{Sessions: b, Runs: b, Leases: b, Secrets: b, Memories: b, Ledger: b, Upkeep: b, Closer: b}
}

// Sessions is the part of a Store that keeps sessions.
type Sessions interface {
	// Create makes a session. Of any number of creates with one key, one wins;
	// the others are ErrExists.
	Create(ctx context.Context, s NewSession) (*Session, error)

	// Get reads a session.
	Get(ctx context.Context, key Key, read Read) (*Session, error)

	// List reads the sessions of a user without their events, the newest first.
	// Hidden sessions are left out. next is the token of the next page, empty at
	// the end. Sessions that are made or deleted between two pages neither repeat
	// nor hide others.
	List(ctx context.Context, app, user string, page Page) (sessions []*Session, next string, err error)

	// Patch appends one entry from outside of any run, also while a run holds the
	// session.
	Patch(ctx context.Context, key Key, entry *Entry) error

	// Delete removes a session with its runs, its secrets, and its memories.
	// Removing a session that does not exist is not an error. State that it
	// shares with others stays.
	Delete(ctx context.Context, key Key) error
}

// Upkeep is the part of a Store that maintains it.
type Upkeep interface {
	// Waits finds runs that have been Waiting for longer than age, and that no
	// run resumes which is Completed or Waiting in turn. Of those that ended after
	// the given one, or of all if it is nil, it returns the first ones to end, at
	// most limit of them.
	Waits(ctx context.Context, age time.Duration, after *Run, limit int) ([]*Run, error)

	// Expire ends waits that were not answered: it appends entries, which change
	// no state, from outside of any run, and makes those of the runs Failed that
	// are Waiting. ErrFenced when a run of the session has not ended, or when seq
	// is not the sequence of the last entry of the log.
	Expire(ctx context.Context, key Key, seq int64, runs []string, failure *Failure, entries ...*Entry) error

	// Sweep deletes sessions that have not changed for their time to live, or, if
	// they have none of their own, for ttl (0 is no limit), and whose runs have
	// all ended. It looks at a limited number of sessions, continues where the
	// last call stopped, and reports whether it has come to the end. With an
	// error, it still returns which sessions it has deleted.
	Sweep(ctx context.Context, ttl time.Duration) (deleted []Key, done bool, err error)

	// Walk lists all sessions, the oldest first, hidden ones too. It is paged like
	// List.
	Walk(ctx context.Context, page Page) (keys []Key, next string, err error)

	// Ready reports why nothing can be stored now, as an *UnavailableError. It
	// returns soon, and may be called often.
	Ready(ctx context.Context) error

	// Rebuild derives anew what follows from a session's log: its own state, its
	// sequence, and what lists are filtered by. It reports whether something was
	// wrong. ErrFenced while a run is Running.
	Rebuild(ctx context.Context, key Key) (changed bool, err error)
}

// NewSession is a session to be made.
type NewSession struct {
	Key Key
	// State may have user: and app: keys, which are stored where they are shared.
	State State
	// Log is the history with which the session begins. Its state deltas apply to
	// the session, and not to what it shares with others: that may have changed
	// since.
	Log []*Entry
	// TTL is how long the session is kept after its last change. 0 leaves that to
	// the server.
	TTL time.Duration
	// Origin is where a fork comes from.
	Origin *Origin
}

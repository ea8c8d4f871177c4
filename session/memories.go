package session

import (
	"context"
	"time"
)

// Remembered is a message of a session that other sessions of its user can find.
type Remembered struct {
	Event   string // the id of its event
	Author  string
	Time    time.Time
	Content []byte // JSON
	// Words are the search terms. A store compares them byte by byte, and does not
	// return them.
	Words []string
}

// Memories is the part of a Store that searches earlier sessions. Every user of
// every application has a separate memory.
type Memories interface {
	// Remember replaces what is remembered of a session: it adds new items, and
	// deletes those that are not in the list.
	Remember(ctx context.Context, key Key, all []*Remembered) error

	// Recall returns at most limit items with at least one of the words.
	// A word counts more the fewer items of the user have it; of items with
	// the same rank, the latest is first.
	//
	// The memory of a session can be found until a caller deletes the
	// session. It stays when the session expires.
	Recall(ctx context.Context, app, user string, words []string, limit int) ([]*Remembered, error)

	// Forget deletes the memory of a user.
	Forget(ctx context.Context, app, user string) error
}

// ListedMemory is what is remembered of a message, for people.
type ListedMemory struct {
	Remembered

	// ID is unique among the memories of the user.
	ID int64
	// Session is the id of the session; empty if it does not exist any more.
	Session string
}

// MemoryEditor is the part of a Store that shows and changes single memories.
type MemoryEditor interface {
	// ListMemories returns the memories of a user that have all words, those that
	// were added last first. Only the size and the token of the page are used.
	ListMemories(ctx context.Context, app, user string, words []string, page Page) (list []*ListedMemory, next string, err error)

	// EditMemory replaces the content and the words of a memory. It stays so when
	// its session is remembered again. It fails with ErrNotFound if there is no such
	// memory.
	EditMemory(ctx context.Context, app, user string, id int64, content []byte, words []string) error

	// DeleteMemory deletes a memory, for as long as its session exists: the session
	// may be remembered again without it. It fails with ErrNotFound if there is no
	// such memory.
	DeleteMemory(ctx context.Context, app, user string, id int64) error
}

package session

import (
	"context"
	"crypto/sha256"
	"time"
)

// Recording is what the models and tools of a run were asked, and what they
// answered. A store does not interpret it.
type Recording struct {
	Key Key
	Run string
	// Attempt counts the processes that worked on the run. Each has a recording of
	// its own.
	Attempt int
	Created time.Time // by the clock of the store
	JSON    []byte
	// Parts are what other recordings of the session may have too, in the order in
	// which JSON refers to them. A session has each of them once.
	Parts []*RecordingPart
}

// RecordingPart is a part that recordings of a session share. It is not changed.
type RecordingPart struct {
	Digest [sha256.Size]byte // of JSON
	JSON   []byte
}

// NewRecordingPart returns a part of recordings.
func NewRecordingPart(doc []byte) *RecordingPart {
	return &RecordingPart{sha256.Sum256(doc), doc}
}

// Recordings is the part of a Store that keeps recordings of runs. They are deleted
// with their session.
type Recordings interface {
	// PutRecordings stores recordings. It ignores those of sessions that do not
	// exist, and replaces those that have the same run and attempt. It does not keep the
	// recordings, which are used again, but may keep their JSON and their parts, which are
	// not changed.
	PutRecordings(ctx context.Context, list []*Recording) error

	// Recordings returns the recordings of a run, by attempt; none if there is no
	// session.
	Recordings(ctx context.Context, key Key, run string) ([]*Recording, error)

	// SweepRecordings deletes a limited number of recordings that are older than age,
	// with the parts that no other recording has, and reports whether there are no more.
	SweepRecordings(ctx context.Context, age time.Duration) (done bool, err error)
}

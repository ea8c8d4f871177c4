package session

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/parley-run/parley/event"
)

// Refusals of what is asked of runs.
var (
	ErrRunNotFound = errors.New("run not found")
	// ErrRunExists refuses the id of another run of the session.
	ErrRunExists = errors.New("a run with this id already exists")
	// ErrIdle means that there is nothing to be claimed.
	ErrIdle = errors.New("no run of the session can be taken")
	// ErrReused refuses an idempotency key that was used for another request.
	ErrReused = errors.New("the idempotency key has been used for a different request")
	// ErrQueueFull refuses a run because too many are queued.
	ErrQueueFull = errors.New("too many runs of the session are waiting")
)

// BusyError refuses a run with the policy Reject.
type BusyError struct{ Run string }

func (e *BusyError) Error() string { return "The session is busy with the run " + e.Run }

// Status is where a run is in its life.
type Status string

// The statuses of a run. A run that waits is over for the server that worked on it: the
// answer starts another one, and when that one ends, the run that waited is
// Completed and has a ResumedBy. If no answer comes it is Failed in the end.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Waiting   Status = "waiting"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Ended reports whether the run is neither Queued nor Running.
func (s Status) Ended() bool { return s != Queued && s != Running }

// Failure says why a run failed, in words for a client.
type Failure struct { //nolint:errname // first of all it is a fact about a run
	Type    string `json:"type"`
	Message string `json:"message"`
	// Reported means that an event of the run says the same.
	Reported bool `json:"reported,omitempty"`
}

func (f *Failure) Error() string { return f.Message }

// Stop is how a run that is under way was asked to end.
type Stop string

// With combines two requests: a rollback stays one.
func (s Stop) With(other Stop) Stop {
	if s == StopRollback {
		return s
	}
	return other
}

// The ways to ask.
const (
	StopNot      Stop = ""
	StopCancel   Stop = "cancel"
	StopRollback Stop = "rollback" // and to leave nothing behind
)

// Policy is what a new run does when its session is busy.
type Policy string

// The policies.
const (
	Enqueue   Policy = "enqueue"   // wait for its turn
	Reject    Policy = "reject"    // be refused, with a *BusyError
	Interrupt Policy = "interrupt" // cancel what is running and queued
	Rollback  Policy = "rollback"  // cancel it and undo it
)

// Run is a run as it is stored, at one moment.
type Run struct {
	ID  string // the invocation id of its events
	Key Key
	// Number counts the runs of a store in the order in which they came.
	Number int64
	Status Status
	Stop   Stop
	// Epoch under which it runs or ran, 0 while it is queued.
	Epoch int64
	// Attempt counts the workers that the run has had: 1 for most runs.
	Attempt int
	// First and Last are the sequences of its first entry, which is its message,
	// and, when it has ended, of the last entry of the log at that time. 0 means
	// none yet.
	First, Last int64
	// Resumes is the run whose wait this one ends, if any.
	Resumes string
	// ResumedBy is the run whose message has answered all that this one waited
	// for. Only a run that is Completed has one.
	ResumedBy string
	Failure   *Failure
	Usage     event.Usage
	// Request is what NewRun.Request made, nil when it is not needed any more.
	Request []byte
	Created time.Time
	Ended   time.Time // zero until then
}

// NewRun asks for a run.
type NewRun struct {
	ID  string
	Key Key
	// Request makes what another process needs to do the run.
	Request func() ([]byte, error)
	// Message is appended as the first entry when the run begins at once. nil
	// leaves that to a later Append.
	Message *Entry
	Busy    Policy
	// MaxQueue is how many runs may be queued for another one to join them; 0 for
	// any number.
	MaxQueue int
	// IdempotencyKey makes a second request with the same key and Fingerprint,
	// in the same session, the first one. Empty for none.
	IdempotencyKey string
	Fingerprint    string
	// Read says how much of the log the answer holds.
	Read Read
}

// Begun is a run with the session that it has been given.
type Begun struct {
	Run *Run
	// Session is as it was before the run's message was appended. It is nil when
	// the run has not begun: it is queued, or was there already (see Repeat).
	Session *Session
	// Repeat means that Run is an earlier one with the same idempotency key.
	Repeat bool
	// Journal has the notes of earlier workers on the run. The map belongs to the
	// caller.
	Journal Journal
	// Deaths counts the owners that Claim took the run from because their leases
	// had expired, and that have not renewed a lease since: processes that ended
	// without handing the run over.
	Deaths int
}

// Journal has the notes of a run for a process that may have to take it over. A
// nil value deletes. It is deleted when the run ends.
type Journal map[string][]byte

// End is how a run ends.
type End struct {
	Status  Status
	Failure *Failure
	Usage   event.Usage
	Resumes string
	Entries []*Entry // appended last
	// Settled is what becomes of the waits of other runs of the session.
	Settled []Settled
	// Discard deletes the run. It must not have appended anything.
	Discard bool
}

// Settled is what becomes of the wait of a run when another one ends. It changes
// only runs that are Waiting, or that have a ResumedBy.
type Settled struct {
	Run    string
	Status Status
	By     string // the run's ResumedBy
}

// Options of a store that several processes may share.
type Options struct {
	// Owner names the process, and no other one that uses the store.
	Owner string
	// Lease is how long an owner keeps a run without renewing it. A negative one
	// ends at once.
	Lease time.Duration
	Log   *slog.Logger
}

// Held is a run that is leased to a store's owner.
type Held struct {
	Key   Key
	Run   string
	Epoch int64
	Stop  Stop
}

// Runs is the part of a Store that knows the runs of sessions, for those who ask
// for runs.
type Runs interface {
	// Begin adds a run. If the session is free the run begins: it is Running, with
	// an epoch greater than any that was given out before, by this or by another
	// process. Otherwise Busy decides. ErrNotFound without the session, ErrReused
	// for an idempotency key with another fingerprint, ErrRunExists for an id that a
	// run of the session has, if it is not a repetition of that run.
	Begin(ctx context.Context, run NewRun) (*Begun, error)

	// Look returns what Begin would return for a run that it does not add: the
	// earlier run that it repeats, or the error. The run is nil when Begin would
	// add it, as far as can be known before. Nothing is changed.
	Look(ctx context.Context, run NewRun) (*Run, error)

	// Run finds a run of a session. ErrRunNotFound when there is none.
	Run(ctx context.Context, key Key, id string) (*Run, error)

	// ListRuns lists the runs of a session, the newest first.
	ListRuns(ctx context.Context, key Key, page Page) (runs []*Run, next string, err error)

	// StopRun asks for the end of a run. One that is Queued is Cancelled at once;
	// one that is Running is ended by its owner; one that has ended stays as it
	// is. It returns the run as it is then.
	StopRun(ctx context.Context, key Key, id string, how Stop) (*Run, error)

	// CountQueued returns how many runs are Queued, of all sessions.
	CountQueued(ctx context.Context) (int64, error)
}

// Leases is the part of a Store for the process that works on runs.
//
// A session has at most one run that is Running. It holds the session's epoch, and
// a lease that its owner has to renew, by the clock of the store: when the lease
// is over, any process that shares the store may claim the run. The owner and the
// length of leases are given when a store is opened.
type Leases interface {
	// Claim takes the run of a session that should be worked on and is not: the
	// Running one when its lease is over, else, when none is Running, the one that
	// has been Queued longest. The owner before cannot append any more. ErrIdle
	// when there is none.
	Claim(ctx context.Context, key Key, read Read) (*Begun, error)

	// Idle finds sessions of which Claim would take a run, at most limit of them.
	Idle(ctx context.Context, limit int) ([]Key, error)

	// Append writes entries and notes under an epoch: each entry gets the next
	// sequence, and its state delta (which must not have temp: keys) is applied.
	// ErrFenced when the epoch is not the session's.
	Append(ctx context.Context, key Key, epoch int64, notes Journal, entries ...*Entry) error

	// End appends the last entries of a run, ends it and frees the session. queued
	// reports whether another run is Queued. ErrFenced when the epoch is not the
	// session's any more.
	End(ctx context.Context, key Key, epoch int64, end End) (queued bool, err error)

	// HandOver ends the lease on a run, so that any process may claim it, and the
	// epoch with it. It does nothing when the epoch is not the session's any more.
	HandOver(ctx context.Context, key Key, epoch int64) error

	// Renew extends the leases of this store's owner to their length from now, and
	// returns the runs that they are on. A lease that is over counts as long as
	// the run was neither claimed nor handed over. Runs that were claimed from the
	// owner do not count it as a death any more: it lives.
	Renew(ctx context.Context) ([]Held, error)

	// Watch calls changed with the Hint of every session that another process has
	// changed, soon after it has, until ctx is done. Several changes may come as
	// one; after a gap, changed is called with 0, for any session. It is a hint:
	// what is true is what is read.
	Watch(ctx context.Context, changed func(hint uint64))
}

package session

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/parley-run/parley/event"
)

// Errors of requests about runs.
var (
	ErrRunNotFound = errors.New("run not found")
	// ErrRunExists means that another run of the session has the id.
	ErrRunExists = errors.New("a run with this id already exists")
	// ErrIdle means that there is no run to claim.
	ErrIdle = errors.New("no run of the session can be taken")
	// ErrReused refuses an idempotency key that was used for another request.
	ErrReused = errors.New("the idempotency key has been used for a different request")
	// ErrQueueFull refuses a run because too many are queued.
	ErrQueueFull = errors.New("too many runs of the session are waiting")
)

// BusyError refuses a run with the policy Reject.
type BusyError struct{ Run string }

func (e *BusyError) Error() string { return "The session is busy with the run " + e.Run }

// Status is the status of a run.
type Status string

// The statuses of a run. A waiting run has ended for the server that worked on it: the
// answer starts another run, and when that one ends, the waiting run is Completed and
// has a ResumedBy. Without an answer, it is Failed in the end.
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

// Failure describes why a run failed, for clients.
type Failure struct { //nolint:errname // first of all it is a fact about a run
	Type    string `json:"type"`
	Message string `json:"message"`
	// Reported means that an event of the run has the same failure.
	Reported bool `json:"reported,omitempty"`
}

func (f *Failure) Error() string { return f.Message }

// FailureCancelled is the type of the failure of a Cancelled run.
const FailureCancelled = "cancelled"

// Status returns the status of a run with the failure.
func (f *Failure) Status() Status {
	if f.Type == FailureCancelled {
		return Cancelled
	}
	return Failed
}

// Stop is a request to end an active run.
type Stop string

// With combines two requests: a rollback stays a rollback.
func (s Stop) With(other Stop) Stop {
	if s == StopRollback {
		return s
	}
	return other
}

// The values of Stop.
const (
	StopNot      Stop = ""
	StopCancel   Stop = "cancel"
	StopRollback Stop = "rollback" // and to undo the run
)

// Policy decides what happens to a new run of a busy session.
type Policy string

// The policies.
const (
	Enqueue   Policy = "enqueue"   // queue the run
	Reject    Policy = "reject"    // refuse the run with a *BusyError
	Interrupt Policy = "interrupt" // cancel active and queued runs
	Rollback  Policy = "rollback"  // cancel and undo them
)

// Run is the stored state of a run at one point in time.
type Run struct {
	ID  string // the invocation id of its events
	Key Key
	// Number numbers the runs of a user in order of arrival.
	Number int64
	Status Status
	Stop   Stop
	// Epoch under which it runs or ran; 0 while it is queued.
	Epoch int64
	// Attempt counts the workers on the run: 1 for most runs.
	Attempt int
	// First and Last are the sequence numbers of its first entry, which is its
	// message, and, when it has ended, of the last entry of the log at that time. 0
	// means none yet.
	First, Last int64
	// Resumes is the run whose wait this one ends, if any.
	Resumes string
	// ResumedBy is the run whose message has answered everything that this one
	// waited for. Only a Completed run has one.
	ResumedBy string
	Failure   *Failure
	Usage     event.Usage
	// Models has the usage by model; nil for runs that were stored before it was
	// known.
	Models []ModelUsage
	// Worker is the Options.Address of the process that works on the run; empty if
	// there is none, or if it has no address. It is not for clients.
	Worker string
	// Request is the result of NewRun.Request; nil when it is no longer needed.
	Request []byte
	Created time.Time
	Ended   time.Time // zero until then
}

// NewRun requests a run.
type NewRun struct {
	ID  string
	Key Key
	// Request returns what another process needs to execute the run.
	Request func() ([]byte, error)
	// Message is appended as the first entry if the run begins immediately. If it
	// is nil, a later Append does that.
	Message *Entry
	Busy    Policy
	// MaxQueue limits the number of queued runs; 0 means no limit.
	MaxQueue int
	// IdempotencyKey makes a second request with the same key and Fingerprint, in
	// the same session, return the run of the first. Empty for none.
	IdempotencyKey string
	Fingerprint    string
	// Read selects how much of the log the result has.
	Read Read
}

// Begun is a run with its session.
type Begun struct {
	Run *Run
	// Session is the snapshot before the run's message was appended. It is nil if
	// the run has not begun, because it is queued, or existed before (see Repeat).
	Session *Session
	// Repeat means that Run is an earlier one with the same idempotency key.
	Repeat bool
	// Journal holds the notes of earlier workers on the run. The map belongs to the
	// caller.
	Journal Journal
	// Deaths counts the owners from which Claim took the run because their leases
	// had expired, and that have not renewed a lease since: processes that ended
	// without handing the run over.
	Deaths int
}

// Journal holds the notes of a run for a process that may take it over. A nil value
// deletes a note. It is deleted when the run ends.
type Journal map[string][]byte

// End describes the end of a run.
type End struct {
	Status  Status
	Failure *Failure
	Usage   event.Usage
	Models  []ModelUsage // the same by model, ordered by name
	Resumes string
	Entries []*Entry // appended last
	// Settled is what changes about the waits of other runs of the session.
	Settled []Settled
	// Trace is that of the Deliveries about the end.
	Trace string
	// Discard deletes the run, which must not have appended anything.
	Discard bool
}

// Settled is a change to the wait of a run when another one ends. It only applies
// to runs that are Waiting, or that have a ResumedBy.
type Settled struct {
	Run    string
	Status Status
	By     string // the run's ResumedBy
}

// Options configures a store that several processes may share.
type Options struct {
	// Owner is a unique name of the process among those that use the store, without
	// line breaks.
	Owner string
	// Address is how the other processes reach this one; empty if they do not. It is
	// stored with the leases, and is the Worker of their runs. A store does not
	// interpret it. It may contain a secret of the processes that share the store.
	Address string
	// Lease is how long an owner keeps a run without renewing the lease. A lease
	// that is negative, or longer than MaxLease, expires immediately.
	Lease time.Duration
	// Log receives log records; nil means that they are discarded.
	Log *slog.Logger
}

// MaxLease is the longest lease. One that ends later was granted by a clock that was
// ahead, or ours is behind, as after a backup was restored on another machine:
// it counts as expired, because its owner may have stopped long ago.
const MaxLease = 2 * time.Hour

// Held is a run that is leased to the owner of a store.
type Held struct {
	Key   Key
	Run   string
	Epoch int64
	Stop  Stop
}

// Runs is the part of a Store with the runs of sessions, for clients of runs.
type Runs interface {
	// Begin adds a run. If the session is free, the run begins: it is Running, with
	// an epoch that no other run has, and that is greater than all epochs before it
	// of sessions of the user. If the session has a run, run.Busy decides what
	// happens. It fails with ErrNotFound if there is no session, with
	// ErrReused for an idempotency key with another fingerprint, and with
	// ErrRunExists for the id of an existing run that the request does not repeat.
	Begin(ctx context.Context, run NewRun) (*Begun, error)

	// Look returns what Begin would return, without adding a run: the earlier run
	// that it repeats, or the error. The run is nil if Begin would add one, as far
	// as that can be known. Nothing changes.
	Look(ctx context.Context, run NewRun) (*Run, error)

	// Run returns a run of a session. It fails with ErrRunNotFound if there is
	// none.
	Run(ctx context.Context, key Key, id string) (*Run, error)

	// ListRuns returns the runs of a session, newest first.
	ListRuns(ctx context.Context, key Key, page Page) (runs []*Run, next string, err error)

	// RecentRuns returns the newest runs of a user, newest first. It considers the
	// first maxSessions sessions that List would return and that have runs, and returns
	// at most maxRuns runs of each. A store should need only one query.
	RecentRuns(ctx context.Context, app, user string, maxSessions, maxRuns int) ([]*Run, error)

	// StopRun requests the end of a run. A Queued run is Cancelled immediately; a
	// Running one is ended by its owner; one that has ended does not change. It
	// returns the resulting run.
	StopRun(ctx context.Context, key Key, id string, how Stop) (*Run, error)

	// CountQueued returns the number of Queued runs of all sessions.
	CountQueued(ctx context.Context) (int64, error)
}

// Leases is the part of a Store for the process that works on runs.
//
// A session has at most one Running run. That run holds the session's epoch, and
// a lease that its owner must renew, by the clock of the store: when the lease
// expires, any process that shares the store may claim the run. The owner and the
// duration of leases are set when a store is opened.
type Leases interface {
	// Claim takes the run of a session that no process works on: the Running one if
	// its lease has expired or, if none is Running, the oldest Queued one. The
	// previous owner can no longer append. It fails with ErrIdle if there is none.
	Claim(ctx context.Context, key Key, read Read) (*Begun, error)

	// Idle returns at most limit sessions of which Claim would take a run.
	Idle(ctx context.Context, limit int) ([]Key, error)

	// Append writes entries and notes under an epoch: each entry gets the next
	// sequence number, and its state delta (which must not have temp: keys) is
	// applied. It fails with ErrFenced if the epoch is not that of the session.
	Append(ctx context.Context, key Key, epoch int64, notes Journal, entries ...*Entry) error

	// End appends the last entries of a run, ends it and frees the session. queued
	// reports whether another run is Queued. It fails with ErrFenced if the epoch
	// is no longer that of the session.
	End(ctx context.Context, key Key, epoch int64, end End) (queued bool, err error)

	// HandOver ends the lease on a run and its epoch, so that any process may claim
	// the run. It has no effect if the epoch is no longer that of the session.
	HandOver(ctx context.Context, key Key, epoch int64) error

	// Renew extends the leases of this store's owner to their duration from now,
	// and returns their runs. It includes expired leases of runs that were neither
	// claimed nor handed over. Of runs that were claimed from the owner,
	// Begun.Deaths no longer counts that claim, because the owner is alive. If Renew
	// fails, the owner may hold more runs than it returns.
	Renew(ctx context.Context) ([]Held, error)

	// Watch calls changed with the Hint of every session that another process has
	// changed, soon after the change, until ctx is done. Several changes may be
	// merged into one call; after a gap, changed is called with 0, which means any
	// session. It is a hint: callers must read the store.
	Watch(ctx context.Context, changed func(hint uint64))
}

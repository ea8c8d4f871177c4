package storetest

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/parley-run/parley/session"
)

// RunShared runs the tests for a store that several processes share, and that
// outlives them. It calls open once for each test. open makes an empty database and
// returns a function that opens a store on it each time it is called, and closes
// it with t.Cleanup; a test may close a store before that. Stores that are open at
// the same time have different owners. The tests run in parallel.
func RunShared(t *testing.T, open func(t *testing.T) func(session.Options) session.Store) {
	t.Helper()
	runPlaces(t, open, slices.Concat(sharedSessionTests, sharedRunTests))
}

// RunSharedSessions is RunShared for a store of which processes share the
// sessions, but not their runs: each process knows its own, they end with it, and
// nothing keeps two processes from writing to one session at the same time.
func RunSharedSessions(t *testing.T, open func(t *testing.T) func(session.Options) session.Store) {
	t.Helper()
	runPlaces(t, open, sharedSessionTests)
}

type sharedTest struct {
	name string
	test func(*place)
}

func runPlaces(t *testing.T, open func(t *testing.T) func(session.Options) session.Store, tests []sharedTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(&place{T: t, open: open(t)})
		})
	}
}

// sharedSessionTests are about sessions in which no two processes are running at
// the same time.
var sharedSessionTests = []sharedTest{
	{"Reopen/Sessions", reopenSessions},
	{"Reopen/Again", reopenAgain},

	{"Owners/Create", ownersCreate},
	{"Owners/Append", ownersAppend},
	{"Owners/SharedState", ownersSharedState},
}

// sharedRunTests are about runs that any process sees, and may take over.
var sharedRunTests = []sharedTest{
	{"Reopen/Runs", reopenRuns},
	{"Reopen/Keys", reopenKeys},
	{"Reopen/Epochs", reopenEpochs},
	{"Reopen/Journal", reopenJournal},

	{"Owners/Renew", ownersRenew},
	{"Owners/LeaseProtects", ownersLeaseProtects},
	{"Owners/LeaseFromTheFuture", ownersLeaseFromTheFuture},
	{"Owners/LeaseOver", ownersLeaseOver},
	{"Owners/RenewRevives", ownersRenewRevives},
	{"Owners/HandOver", ownersHandOver},
	{"Owners/Address", ownersAddress},
	{"Owners/Deaths", ownersDeaths},
	{"Owners/Line", ownersLine},
	{"Owners/Stop", ownersStop},
	{"Owners/Interrupt", ownersInterrupt},
	{"Owners/Request", ownersRequest},
	{"Owners/RequestFails", ownersRequestFails},
	{"Owners/SameKey", ownersSameKey},
	{"Owners/SameID", ownersSameID},
	{"Owners/Fenced", ownersFenced},
	{"Owners/Delete", ownersDelete},

	{"Scramble/HandOver", scrambleHandOver},
	{"Scramble/LeasesOver", scrambleLeasesOver},

	{"Watch", watchTells},
	{"Watch/Ends", watchEnds},
}

// place is one test and where the stores are that it opens.
type place struct {
	*testing.T
	open func(session.Options) session.Store
}

// as opens the place for one of the processes that share it.
func (p *place) as(owner string, lease time.Duration) *kit {
	p.Helper()
	return p.with(session.Options{Owner: owner, Lease: lease})
}

func (p *place) with(o session.Options) *kit {
	p.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	return &kit{T: p.T, store: taker{p.open(o)}}
}

// two processes whose leases do not end during a test.
func (p *place) two() (a, b *kit) {
	p.Helper()
	return p.as("a", time.Hour), p.as("b", time.Hour)
}

func (k *kit) close() {
	k.Helper()
	if err := k.store.Close(); err != nil {
		k.Fatalf("Close: %v", err)
	}
}

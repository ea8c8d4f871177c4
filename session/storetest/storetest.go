// Package storetest has the tests that every session.Store must pass. What a store
// does beyond the contract is tested beside that store.
//
// A store of an author's own runs the suite from a test of its package:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, lease time.Duration) session.Store {
//			store, err := mystore.Open(t.Context(), t.TempDir(), session.Options{Owner: "test", Lease: lease})
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { store.Close() })
//			return store
//		})
//	}
//
// A store that several processes may share also runs RunShared. RunSharedSessions is for
// one whose sessions are shared, and whose runs are not. A store with an optional part
// runs its tests, too: RunAPIKeys, RunOutbox, RunRecordings, RunSchedules, RunSearch and
// RunFeedback. RunOldRuns, RunOldFeedback and RunRecordingParts are for stores that
// upgrade data of earlier versions, or that count the parts that recordings share.
//
// The contract is the documentation of the interfaces in session.Store. Each test
// says which promise it checks, and what breaks without it.
package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/parley-run/parley/session"
)

type test struct {
	name string
	do   func(*kit)
}

// Run runs the suite. It calls open once for each test, with the t of that test.
// open returns an empty store whose leases have the given length (a negative one
// ends at once), and closes it with t.Cleanup. The tests run in parallel.
func Run(t *testing.T, open func(t *testing.T, lease time.Duration) session.Store) {
	t.Helper()
	for lease, tests := range map[time.Duration][]test{-1: slices.Concat(sessionTests, secretTests, memoryTests), time.Hour: runTests} {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				tt.do(&kit{T: t, store: taker{open(t, lease)}})
			})
		}
	}
}

// sessionTests take sessions from their owners: their leases end at once.
var sessionTests = []test{
	{"Create/RoundTrip", createRoundTrip},
	{"Create/OneWins", createOneWins},
	{"Create/SeenWhole", createSeenWhole},
	{"Create/RefusedChangesNothing", createRefusedChangesNothing},
	{"Create/Namesakes", createNamesakes},
	{"Create/WithLog", createWithLog},
	{"Create/SameLogTwice", createSameLogTwice},

	{"Get/Missing", getMissing},
	{"Get/After", getAfter},
	{"Get/NoEvents", getNoEvents},
	{"Get/Snapshot", getSnapshot},
	{"Get/SnapshotUnderWriters", getSnapshotUnderWriters},

	{"Log/Dense", logDense},
	{"Log/Batch", logBatch},
	{"Log/NothingToAppend", logNothingToAppend},
	{"Log/EqualTimestamps", logEqualTimestamps},
	{"Log/OwnerBesidePatches", logOwnerBesidePatches},
	{"Log/NoHalfBatch", logNoHalfBatch},
	{"Log/Long", logLong},

	{"Epoch/Increases", epochIncreases},
	{"Epoch/Stale", epochStale},
	{"Epoch/Foreign", epochForeign},
	{"Epoch/RefusedChangesNothing", epochRefusedChangesNothing},
	{"Epoch/StaleRelease", epochStaleRelease},
	{"Epoch/LeavesNoMark", epochLeavesNoMark},
	{"Epoch/LastOfMany", epochLastOfMany},
	{"Epoch/Scramble", epochScramble},
	{"Epoch/Takeover", epochTakeover},

	{"State/Scopes", stateScopes},
	{"State/AtCreate", stateAtCreate},
	{"State/NullDeletes", stateNullDeletes},
	{"State/NullAtCreate", stateNullAtCreate},
	{"State/TempIsNowhere", stateTempIsNowhere},
	{"State/ConcurrentFirstWrites", stateConcurrentFirstWrites},
	{"State/ConcurrentFirstCreates", stateConcurrentFirstCreates},
	{"State/ConcurrentCounters", stateConcurrentCounters},

	{"Bytes/Entries", bytesEntries},
	{"Bytes/Layout", bytesLayout},
	{"Bytes/State", bytesState},
	{"Bytes/StateKeys", bytesStateKeys},

	{"List/Empty", listEmpty},
	{"List/NewestFirst", listNewestFirst},
	{"List/Content", listContent},
	{"List/Ends", listEnds},
	{"List/Others", listOthers},
	{"List/Hidden", listHidden},
	{"List/Pages", listPages},
	{"List/RestAfterPage", listRestAfterPage},
	{"List/ChangesBetweenPages", listChangesBetweenPages},
	{"List/ConcurrentChanges", listConcurrentChanges},
	{"List/BadToken", listBadToken},

	{"Delete/Idempotent", deleteIdempotent},
	{"Delete/SharedStateStays", deleteSharedStateStays},
	{"Delete/FreshAfterwards", deleteFreshAfterwards},
	{"Delete/UnderWriters", deleteUnderWriters},

	{"Time/CreatedStays", timeCreatedStays},
	{"Time/UpdatedMoves", timeUpdatedMoves},

	{"Cancelled/Create", cancelledCreate},
	{"Cancelled/Append", cancelledAppend},
	{"Cancelled/Patch", cancelledPatch},
	{"Cancelled/Delete", cancelledDelete},
	{"Cancelled/Acquire", cancelledAcquire},
	{"Cancelled/Release", cancelledRelease},
	{"Cancelled/Read", cancelledRead},
	{"Cancelled/Begin", cancelledBegin},
	{"Cancelled/End", cancelledEnd},
	{"Cancelled/Stop", cancelledStop},

	{"Model/Sessions", agreesWithModel},

	{"Busy/LeaseOver", busyLeaseOver},
	{"Claim/Takeover", claimTakeover},
	{"Idle/LeaseOver", idleLeaseOver},
	{"Journal/Keeps", journalKeeps},
	{"Journal/Atomic", journalAtomic},
	{"Journal/Gone", journalGone},
	{"Journal/Bytes", journalBytes},
	{"Journal/Snapshot", journalSnapshot},
}

// runTests are about runs that stay with their owners: their leases do not end.
var runTests = []test{
	{"Begin/Free", beginFree},
	{"Begin/WithoutMessage", beginWithoutMessage},
	{"Begin/Read", beginRead},
	{"Begin/Missing", beginMissing},
	{"Begin/TakenID", beginTakenID},
	{"Begin/Epochs", beginEpochs},
	{"Begin/Together", beginTogether},
	{"Begin/SeenWhole", beginSeenWhole},

	{"Busy/Enqueue", busyEnqueue},
	{"Busy/Reject", busyReject},
	{"Busy/Interrupt", busyInterrupt},
	{"Busy/InterruptLine", busyInterruptLine},
	{"Busy/Free", busyFree},
	{"Busy/MaxQueue", busyMaxQueue},

	{"Idempotent/Repeat", idempotentRepeat},
	{"Idempotent/Reused", idempotentReused},
	{"Idempotent/Keys", idempotentKeys},
	{"Idempotent/Forgotten", idempotentForgotten},
	{"Idempotent/Together", idempotentTogether},

	{"Claim/Held", claimHeld},
	{"Claim/Missing", claimMissing},
	{"Claim/Together", claimTogether},
	{"Idle/Finds", idleFinds},
	{"CountQueued", countQueued},
	{"HandOver", handOver},

	{"End/Keeps", endKeeps},
	{"End/Entries", endEntries},
	{"End/EntriesOnly", endEntriesOnly},
	{"End/Once", endOnce},
	{"End/Discard", endDiscard},
	{"End/Settles", endSettles},

	{"Usage/Sums", usageSums},
	{"Usage/Filter", usageFilter},
	{"Usage/Groups", usageGroups},
	{"Usage/Pages", usagePages},
	{"Usage/Together", usageTogether},
	{"Usage/Stays", usageStays},
	{"Usage/Models", usageModels},
	{"Usage/Spend", usageSpend},
	{"Usage/ModelsTogether", usageModelsTogether},
	{"Usage/Unpriced", usageUnpriced},

	{"Stop/Queued", stopQueued},
	{"Stop/Running", stopRunning},
	{"Stop/HandedOver", stopHandedOver},
	{"Stop/Ended", stopEnded},
	{"Stop/Missing", stopMissing},
	{"Renew/Lists", renewLists},

	{"Waits/Find", waitsFind},
	{"Waits/Resumed", waitsResumed},
	{"Inbox/List", needsInbox(inboxList)},
	{"Inbox/Pages", needsInbox(inboxPages)},
	{"Expire/Ends", expireEnds},
	{"Expire/Refused", expireRefused},

	{"Runs/NewestFirst", runsNewestFirst},
	{"Runs/BetweenPages", runsBetweenPages},
	{"Runs/BadToken", runsBadToken},
	{"Runs/Deleted", runsDeleted},
	{"Runs/Recent", runsRecent},
	{"Runs/Found", runsFound},
	{"Runs/FoundBetweenPages", runsFoundBetweenPages},
	{"Runs/FoundTogether", runsFoundTogether},
	{"Runs/Snapshot", runsSnapshot},

	{"Filter/Title", filterTitle},
	{"Filter/Labels", filterLabels},
	{"Filter/OddMetadata", filterOddMetadata},
	{"Filter/Follows", filterFollows},
	{"Filter/Times", filterTimes},
	{"Filter/BetweenPages", filterBetweenPages},

	{"Rewound", rewoundMark},
	{"Initial", initialStays},
	{"Origin", originKept},
	{"Import", importOwnScope},
	{"Ordinal", ordinalDistinguishes},

	{"Sweep/Old", sweepOld},
	{"Sweep/Changed", sweepChanged},
	{"Sweep/Busy", sweepBusy},
	{"Sweep/All", sweepAll},
	{"Walk/All", walkAll},
	{"Walk/BetweenPages", walkBetweenPages},
	{"Rebuild/Intact", rebuildIntact},

	{"Model/Runs", runsAgreeWithModel},
}

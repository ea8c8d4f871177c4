// Package storetest is what a session.Store must do, as tests. Every store runs
// the whole of it; what one store does beyond that is tested beside that store.
//
// The contract is written at session.Store. Each test here says which promise
// it holds a store to, and who would be hurt if it broke.
package storetest

import (
	"testing"

	"github.com/parley-run/parley/internal/session"
)

// Run runs the suite. open is called once for each test, from the test that is
// going to use the store: it returns an empty store and leaves the closing of
// it to t.Cleanup. The tests run in parallel.
func Run(t *testing.T, open func(t *testing.T) session.Store) {
	t.Helper()
	for _, tt := range []struct {
		name string
		test func(*kit)
	}{
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
		{"List/Others", listOthers},
		{"List/Hidden", listHidden},
		{"List/Pages", listPages},
		{"List/RestAfterPage", listRestAfterPage},
		{"List/ChangesBetweenPages", listChangesBetweenPages},
		{"List/ChangesMeanwhile", listChangesMeanwhile},
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

		{"Model", agreesWithModel},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(&kit{T: t, store: open(t)})
		})
	}
}

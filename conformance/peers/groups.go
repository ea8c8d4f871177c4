package main

import (
	"regexp"
	"slices"
	"strings"
)

// group says which promise a case is about.
type group int

const (
	contract group = iota // what clients of all of these servers use
	robust                // the same endpoints, with failures and several requests at once
	errorsOf              // statuses and bodies of errors
	spelling              // requests in snake_case
	own                   // what only Parley has
	notRun                // needs a server with settings of its own
)

var groupNames = []struct{ title, reason string }{
	contract: {"Contract", "the endpoints of adk-python, which Parley follows member by member"},
	robust:   {"Failures and concurrency", "the same endpoints while something fails or several requests come at once; only Parley documents what happens then"},
	errorsOf: {"Errors", "status and body of an error, as adk-python has them; the others promise neither"},
	spelling: {"snake_case", "requests in snake_case, which adk-python and Parley accept; the others do not promise it"},
	own:      {"Parley's own", "endpoints and options that only Parley has: runs that are started, followed and cancelled by themselves, policies for busy sessions, idempotency keys, fork and rewind, pages, raw artifacts, limits, request ids, questions of the model"},
}

// Cases by group. A numbered case that is not here is about the contract, any
// other one about failures and concurrency.
var listed = map[group]string{
	errorsOf: `TestC08_CreateExisting TestC16_GetMissing TestC19_PatchRefused TestC25_C26_NoSession TestC27_NoApp TestC28_NotJSON
		TestC29_MissingMember TestC30_NoParts TestC45_FunctionCall TestRunRefused TestArtifactRefusals TestWrongContentType
		TestUnknownPath TestWrongMethod TestConfirmationRefused TestLongRunningRefused TestHostileIdentifiers TestOddIdentifiers`,
	spelling: `TestC18_PatchInSnakeCase TestC22_RunInSnakeCase TestConfirmationSnakeCase`,
	own: `TestRunInTheBackground TestRunsOfOtherRoutes TestRunThatResumes TestRunList TestRunOfAnotherSession TestFollowFromEverywhere
		TestFollowAgainAndAgain TestFollowPieces TestCancelTwice TestPrefer TestForkEverywhere TestForkWhole TestForkBefore
		TestRewindTwice TestRewindOfABusySession TestExportImport TestImportOfWaitingCalls TestSecretsAreForTools TestImportOfNonsense
		TestImportOfAnExport TestImportRefused TestReject TestRejectAtOnce TestInterruptAndRollback TestRollbackOfState
		TestIdempotentRepeats TestManyRepeatsAtOnce TestHangUpInLine TestHangUpAndCancel TestBadRunOptions TestPaging TestPagingEdges
		TestListFilters TestTTL TestLimitsOfARun TestTooLargeByDefault TestRawArtifact TestNestedArtifact TestInput TestChoice
		TestRequestIDs TestMemory TestOwnOrigin TestC71_ForeignOrigin TestC78_AppInfo TestC02_Version TestC15_ListHidesEvaluations`,
	notRun: `TestLargeArtifact TestTooLarge TestAllowedOrigin TestPreflight TestRequestsPerMinute TestTokensOfADay
		TestConcurrentRunsOfACaller TestQueueDepth TestQuestionsSurviveRestarts TestC79_Shutdown TestArtifactsAreKept TestSaveInputFiles`,
}

var numbered = regexp.MustCompile(`^TestC\d`)

func groupOf(name string) group {
	for g, names := range listed {
		if slices.Contains(strings.Fields(names), name) {
			return g
		}
	}
	if numbered.MatchString(name) {
		return contract
	}
	return robust
}

// causes are failures that were traced, where the first difference does not tell
// the reason.
var causes = map[string]map[string]string{
	"adk-js": {
		"TestC05_CreateWithRawState":     rawState,
		"TestC11_Import":                 "ignores `events` in the body",
		"TestC21_Run":                    "`turnComplete` and `partial` are missing, and `timestamp` is in milliseconds",
		"TestC32_Pieces":                 pieceIDs,
		"TestC36_StateDeltaOfARun":       "keeps keys that were set to null",
		"TestC44_LongRunning":            "accepts a second answer to the same call",
		"TestC46_ConfirmationRequest":    "sends no response of the tool while it waits",
		"TestConfirmationInWorkflow":     workflowGoesOn,
		"TestLongRunningAnswers":         "passes answers that are not objects on as they are",
		"TestLongRunningWithoutReceipt":  "sends no response of the tool while it waits",
		"TestParallelCalls":              sequential,
		"TestSameTurnEverywhere":         sequential,
		"TestLongRunningUpdates":         "accepts a second answer to the same call",
		"TestLongRunningRefused":         "runs the agent when the answer cannot be used",
		"TestConfirmationRefused":        "runs the agent when the answer cannot be used",
		"TestC10_CreateWithIDInBody":     "ignores `sessionId` in the body",
		"TestC06_CreateWithWrappedState": rawState,
	},
	"adk-go": {
		"TestC05_CreateWithRawState":     rawState,
		"TestC06_CreateWithWrappedState": rawState,
		"TestC10_CreateWithIDInBody":     "ignores `sessionId` in the body",
		"TestC11_Import":                 "keeps neither the times nor, where they are missing, makes ids of events in the body",
		"TestC21_Run":                    noTimestamp,
		"TestC32_Pieces":                 pieceIDs,
		"TestC36_StateDeltaOfARun":       "keeps keys that were set to null, and shows `temp:` keys",
		"TestC37_StateScopes":            "shows `temp:` keys",
		"TestC44_LongRunning":            "accepts a second answer to the same call",
		"TestC46_ConfirmationRequest":    "sends the response of the tool before the request for confirmation",
		"TestConfirmationInWorkflow":     workflowGoesOn,
		"TestLongRunningWithoutReceipt":  "sends no response of the tool while it waits",
		"TestLongRunningUpdates":         "accepts a second answer to the same call",
		"TestConfirmationRefused":        "runs the agent when the answer cannot be used",
	},
}

// In @google/adk, handleFunctionCallList in agents/functions.js awaits each call
// before it starts the next. The tool of these cases waits for the other call.
const (
	sequential     = "runs the calls of one response one after the other; the case needs both at once"
	rawState       = "does not take a body that is the state itself, without `state` around it"
	pieceIDs       = "gives each piece an id of its own; the contract has one for all"
	workflowGoesOn = "runs the next agent of the sequence without waiting for the answer"
)

// In google.golang.org/adk/v2 v2.2.0, the type Event in
// server/adkrest/internal/models/event.go, which is what clients get, has no member
// for the time of an event, under any name. The other two are left out if false, and
// a model that does not stream sets neither.
const noTimestamp = "`timestamp` is missing, and `turnComplete` and `partial` are omitted"

package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// scenario is one thing that is measured. It may give several results.
type scenario struct {
	name string
	run  func(context.Context, *bench) ([]result, error)
}

func scenarios() []scenario {
	return []scenario{
		cost(createSession),
		cost(runTurn),
		extraCost(runRecorded, runTurn),
		cost(runSSE),
		cost(runSSEPieces),
		cost(runAGUI),
		cost(runAISDK),
		cost(runResponses),
		cost(runA2A),
		cost(runMCP),
		cost(runTypeScript),
		cost(runSSETypeScript),
		cost(runGraph),
		longSession(inMemory, limitGrowth),
		longConversation(inMemory),
		longAnswers(inMemory),
		{"idle_sessions", idleSessions},
		{"open_streams", openStreams},
		{"first_event", firstEvent},
		{"start_typescript", startTypeScript},
		{"wait_typescript", waitTypeScript},
		{"engines", engines},
		{"run_sqlite", runSQLite},
		{"run_postgres", runPostgres},
		{"load_sqlite", loadSQLite},
		{"load_postgres", loadPostgres},
		longSession(inSQLite, limitGrowthStored),
		longSession(inPostgres, limitGrowthStored),
		longConversation(inSQLite),
		longConversation(inPostgres),
		longAnswers(inSQLite),
		longAnswers(inPostgres),
		{"get_session", readSession},
		{"list_page", listPage},
		{"takeover", takeover},
		{"replicas", replicas},
		{"due_schedules", dueSchedules},
	}
}

func names() []string {
	var list []string
	for _, s := range scenarios() {
		list = append(list, s.name)
	}
	return list
}

// bench is one run of the load generator.
type bench struct {
	sizes
	profiles string // directory, empty for none
	before   string // program of another version, empty for none
	log      io.Writer
	postgres *lazyPostgres
}

func (b *bench) logf(format string, args ...any) { fmt.Fprintf(b.log, format+"\n", args...) }

// sizes say how much is done.
type sizes struct {
	conns   int // connections that send requests
	clients int // and with databases
	rounds  int // measurements of one thing, of which the median counts
	slices  int // parts of a round between which the servers take turns

	grown    int // turns of a long session
	parallel int // long sessions that grow at the same time
	window   int // turns of all of them that are measured together
	read     int // turns of a session that is read

	idle    int           // sessions that are held
	rest    time.Duration // in which they are not used
	streams int           // streams that are open at the same time
	over    time.Duration // in which they are opened
	waiting int           // calls in TypeScript that wait at the same time

	lease time.Duration // of runs that are taken over

	due    int           // schedules of the same minute
	asked  int           // runs that clients start in the meantime
	asking time.Duration // in which they do
}

var (
	full = sizes{
		conns: 16, clients: 64, rounds: 7, slices: 8,
		grown: 5000, parallel: 4, window: 400, read: 500,
		idle: 100_000, rest: time.Minute, streams: 5000, over: 2 * time.Second, waiting: 1000,
		lease: 2 * time.Second,
		due:   10_000, asked: 200, asking: 2 * time.Second,
	}
	short = sizes{
		conns: 16, clients: 64, rounds: 3, slices: 2,
		grown: 1000, parallel: 4, window: 400, read: 500,
		idle: 10_000, rest: 40 * time.Second, streams: 500, over: 200 * time.Millisecond, waiting: 1000,
		lease: time.Second,
		due:   10_000, asked: 50, asking: 500 * time.Millisecond,
	}
)

// What the figures should stay within. Not all of them do.
const (
	limitRun              = 2.0  // times the bare server's CPU
	limitPieces           = 2.0  // times the bare server's CPU
	limitRecorded         = 1.1  // times the CPU without recording
	limitGrowth           = 1.3  // times the CPU of an early turn
	limitIdle             = 600  // bytes per session
	limitTurn             = 3072 // bytes per turn
	limitStream           = 24   // KB per stream, beside what the bare server takes
	limitStreams          = 2.0  // times what the bare server takes for one
	limitFirstEvent       = 3.0  // times the bare server's 99th percentile
	limitTypeScript       = 3.5  // times the bare server's CPU
	limitPiecesTypeScript = 2.8  // times the bare server's CPU
	limitStart            = 1000 // ms
	limitStartAgain       = 200  // ms
	limitNode             = 300  // ms, besides the start of Node.js
	limitResident         = 80   // MB

	limitIdleResident = 120 // MB, with 100,000 idle sessions

	limitWait = 1000 // ms

	// With databases.
	floorStored       = 0.5 // times the same statements without Parley
	limitTransactions = 1   // for a run, if many are active
	limitAlone        = 3.2 // the same, of one client, with the start and all upkeep of the server; a run alone has three
	limitDatabase     = 0.6 // ms of CPU of the database for such a run
	limitGrowthStored = 1.3 // times an early turn
	limitGet          = 3.0 // times writing the same bytes
	limitPage         = 5   // ms
	limitDue          = 2.0 // times the same without schedules that are due
)

// turnsPerSession is how long a conversation is where its length is not what
// is measured.
const turnsPerSession = 20

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// loadSQLite measures runs on SQLite, beside another version of this program if there
// is one.
func loadSQLite(ctx context.Context, b *bench) ([]result, error) {
	results, loads, err := b.load(ctx, "load_sqlite", inSQLite, b.clients)
	drop(loads)
	return results, err
}

// loadPostgres measures runs on Postgres, by one client and by many, and what they cost
// the database, beside another version of this program if there is one.
func loadPostgres(ctx context.Context, b *bench) ([]result, error) {
	const name = "load_postgres"
	var results []result
	for _, clients := range []int{1, b.clients} {
		some, loads, err := b.load(ctx, name, inPostgres, clients)
		defer drop(loads)
		if err != nil {
			return nil, err
		}
		results = append(results, some...)
		limits := []float64{limitAlone, 0}
		if clients > 1 {
			limits = []float64{limitTransactions, limitDatabase}
		}
		each := []result{
			{Unit: fmt.Sprintf("transactions a run, %d clients", clients), ValueLimit: limits[0]},
			{Unit: fmt.Sprintf("ms of database CPU a run, %d clients", clients), ValueLimit: limits[1]},
		}
		for i, l := range loads {
			values, err := l.database(ctx, b)
			if err != nil {
				return nil, err
			}
			for j := range each {
				each[j].Scenario = name
				if i == 0 {
					each[j].Parley = values[j]
				} else {
					each[j].Baseline, each[j].Ratio = values[j], each[j].Parley/values[j]
				}
			}
		}
		results = append(results, each...)
	}
	return results, nil
}

func drop(loads []*loaded) {
	for _, l := range loads {
		l.drop()
	}
}

// loaded is a server under load.
type loaded struct {
	place  place
	drop   func() // removes the place
	server *child
	crowd  *crowd
	rates  []float64
	cpu    []float64 // ms of the server for a run
	spent  float64   // CPU seconds of the database
}

// database returns the transactions and the milliseconds of CPU of a run.
func (l *loaded) database(ctx context.Context, b *bench) ([2]float64, error) {
	each, err := b.counted(ctx, l.place.program, len(l.crowd.clients))
	return [2]float64{each, 1000 * l.spent / float64(l.crowd.runs)}, err
}

// countedRuns is how many runs there are at least for the number of transactions, so
// that those of the start of a server are few beside them.
const countedRuns = 1000

// counted returns the transactions of a run in a database of its own, where autovacuum is
// off: Postgres does not tell its transactions, a thousand each minute, from those of clients.
func (b *bench) counted(ctx context.Context, program string, clients int) (each float64, err error) {
	server, err := b.postgres.get(ctx)
	if err != nil {
		return 0, err
	}
	set := func(ctx context.Context, statement string) error {
		return onPostgres(ctx, server.URL(), func(conn *pgx.Conn) error {
			for _, one := range []string{statement, "SELECT pg_reload_conf()"} {
				if _, err := conn.Exec(ctx, one); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := set(ctx, "ALTER SYSTEM SET autovacuum = off"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, set(context.WithoutCancel(ctx), "ALTER SYSTEM RESET autovacuum")) }()
	where, drop, err := b.place(ctx, inPostgres)
	if err != nil {
		return 0, err
	}
	defer drop()
	where.program = program
	c, err := b.startOn(ctx, where, kindParley, runTurn, "load_postgres-counted")
	if err != nil {
		return 0, err
	}
	load, err := newCrowd([]*child{c}, clients)
	if err != nil {
		c.stop()
		return 0, err
	}
	for part := 0; load.runs < countedRuns; part++ {
		load.talk(fmt.Sprintf("counted-%d", part))
	}
	load.Close()
	c.stop()
	if err := load.first.Load(); err != nil {
		return 0, *err
	}
	return transactions(ctx, b, where, load)
}

// load has clients talk to a server and to one of the other version, in turns. The
// caller drops the places, also after an error.
func (b *bench) load(ctx context.Context, name, kind string, clients int) (results []result, loads []*loaded, err error) {
	programs := []string{""}
	if b.before != "" {
		programs = append(programs, b.before)
	}
	defer func() {
		for _, l := range loads {
			if l.crowd != nil {
				l.crowd.Close()
			}
			if l.server != nil {
				l.server.stop()
			}
		}
	}()
	for _, program := range programs {
		l := &loaded{}
		if l.place, l.drop, err = b.place(ctx, kind); err != nil {
			return nil, loads, err
		}
		loads = append(loads, l)
		l.place.program = program
		if l.server, err = b.startOn(ctx, l.place, kindParley, runTurn, name); err != nil {
			return nil, loads, err
		}
	}
	for round := range b.rounds + 1 {
		turns := slices.Clone(loads)
		if round%2 == 1 { // neither version always has the database after the other
			slices.Reverse(turns)
		}
		for _, l := range turns {
			if l.crowd == nil { // a server closes connections that send nothing at first
				if l.crowd, err = newCrowd([]*child{l.server}, clients); err != nil {
					return nil, loads, err
				}
			}
			before, err := b.databaseCPU(ctx, kind)
			if err != nil {
				return nil, loads, err
			}
			rate := 0.0
			parts := max(4, 8/clients) // what a server does later must be a part of the time
			runs := l.crowd.runs
			cpu, err := l.server.spend(ctx, func() error {
				for part := range parts {
					rate += l.crowd.talk(fmt.Sprintf("round-%d-%d", round, part)) / float64(parts)
				}
				return nil
			})
			if err != nil {
				return nil, loads, err
			}
			l.rates, l.cpu = append(l.rates, rate), append(l.cpu, 1000*cpu/float64(l.crowd.runs-runs))
			after, err := b.databaseCPU(ctx, kind)
			if err != nil {
				return nil, loads, err
			}
			l.spent += after - before
			if round == 0 && kind == inPostgres { // as the database itself does, within a minute
				if err := execPostgres(ctx, l.place, "ANALYZE"); err != nil {
					return nil, loads, err
				}
			}
			b.logf("%s: %d clients, round %d of %d: %.0f runs/s %s", name, clients, round, b.rounds, l.rates[round], l.place.program)
		}
	}
	this := loads[0]
	const warm = 1 // the first round is not counted
	speed, cpu := fmt.Sprintf("runs/s, %d clients", clients), fmt.Sprintf("ms of server CPU a run, %d clients", clients)
	if len(loads) == 1 {
		results = append(results, result{Scenario: name, Unit: speed, Parley: median(this.rates[warm:])}, result{Scenario: name, Unit: cpu, Parley: median(this.cpu[warm:])})
	} else {
		other := loads[1]
		if err := other.crowd.first.Load(); err != nil {
			return nil, loads, fmt.Errorf("%d requests of the other version failed, the first: %w", other.crowd.errs.Load(), *err)
		}
		results = append(results, rates(name, speed+", to the other version", this.rates[warm:], other.rates[warm:], 0),
			compared(name, cpu, this.cpu[warm:], other.cpu[warm:], 0))
	}
	return append(results, loads[0].crowd.faults(name, b)), loads, nil
}

// databaseCPU is the CPU time of all processes of the database so far. It is 0 where
// there is no /proc to ask, and without a server.
func (b *bench) databaseCPU(ctx context.Context, kind string) (seconds float64, err error) {
	if kind != inPostgres {
		return 0, nil
	}
	server, err := b.postgres.get(ctx)
	if err != nil {
		return 0, err
	}
	err = onPostgres(ctx, server.URL(), func(conn *pgx.Conn) error {
		parent := processStat(int(conn.PgConn().PID())).parent
		all, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			return err
		}
		for _, path := range all {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				continue
			}
			switch s := processStat(pid); {
			case pid == parent:
				seconds += s.own + s.children
			case s.parent == parent && parent != 0:
				seconds += s.own
			}
		}
		return nil
	})
	return seconds, err
}

// stat is what /proc tells of a process: the zero value if there is none.
type stat struct {
	parent        int
	own, children float64 // CPU seconds; children are those that have ended
}

func processStat(pid int) (s stat) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(text), ") ") // after the name, which may contain spaces
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) < 15 {
		return stat{}
	}
	number := func(i int) float64 {
		n, _ := strconv.ParseFloat(fields[i], 64)
		return n
	}
	const ticks = 100 // a second, on all systems that have /proc
	s.parent = int(number(1))
	s.own, s.children = (number(11)+number(12))/ticks, (number(13)+number(14))/ticks
	return s
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/internal/retry"
)

// sizingCommand measures what one needs for a load: what turns and reads cost the
// servers and the database, for one server and for several on one Postgres.
//
// Servers, database and clients share this machine, so the turns in a second are what
// all of them together can do here. What one turn costs does not depend on that.
const sizingCommand = "sizing"

// sizing says how much is done.
type sizing struct {
	*bench
	servers int
	last    time.Duration // of each measurement
}

// sizedLoad is what clients do all the time.
type sizedLoad struct {
	workload
	words   string // that name it
	clients int    // of each server
}

// lateness is how long the model of lateApp takes for an answer. A turn has two.
const lateness = 500 * time.Millisecond

func (s sizing) loads() []sizedLoad {
	return []sizedLoad{
		{runTurn, "turns, the model answers at once", s.clients},
		{runLate, "turns of a second", 2 * s.clients},
		{getSession, fmt.Sprintf("reads of sessions with %d turns", turnsPerSession), s.clients / 4},
	}
}

func runSizing(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := sizing{bench: &bench{sizes: full, log: stderr, postgres: &lazyPostgres{}}}
	defer s.postgres.Close()
	flags := flag.NewFlagSet(sizingCommand, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.servers, "servers", 4, "servers, at most")
	flags.IntVar(&s.clients, "clients", s.clients, "clients of each server; twice as many where a turn takes a second")
	flags.DurationVar(&s.last, "for", 10*time.Second, "how long each measurement takes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.servers < 1 || s.clients < 4 || s.last <= 0 {
		return errors.New("there must be a server, four clients, and time")
	}
	if err := raiseFileLimit(); err != nil {
		return err
	}
	list, err := s.run(ctx)
	if err != nil {
		return err
	}
	return printSizes(stdout, list)
}

// sized is what came of one measurement.
type sized struct {
	sizedLoad
	servers  int
	rate     float64 // in a second
	inFlight float64 // at the same time, on average
	server   float64 // ms of CPU for one, of all servers together
	database float64 // ms of CPU for one
}

func (s sizing) run(ctx context.Context) ([]sized, error) {
	where, drop, err := s.place(ctx, inPostgres)
	if err != nil {
		return nil, err
	}
	defer drop()
	var servers []*child
	var list []sized
	for n := range s.servers {
		server, err := s.startOn(ctx, where, kindParley, runTurn, fmt.Sprintf("%s-%d", sizingCommand, n))
		if err != nil {
			return nil, err
		}
		defer server.stop()
		servers = append(servers, server)
		for _, load := range s.loads() {
			one, err := s.measure(ctx, servers, load)
			if err != nil {
				return nil, fmt.Errorf("%s, %d servers: %w", load.words, len(servers), err)
			}
			s.logf("sizing: %d servers, %s: %.0f/s, %.0f in flight, %.3f ms of server CPU, %.3f ms of database CPU",
				one.servers, one.words, one.rate, one.inFlight, one.server, one.database)
			list = append(list, one)
		}
	}
	return list, nil
}

// measure has clients send one request after the other, and measures what that costs
// after some time to warm up.
func (s sizing) measure(ctx context.Context, servers []*child, load sizedLoad) (sized, error) {
	f := &faults{}
	var done, busy atomic.Int64
	until, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for i := range load.clients * len(servers) {
		c, err := dial(servers[i%len(servers)].addr)
		if err != nil {
			return sized{}, err
		}
		wg.Go(func() {
			defer c.Close()
			for n := 0; until.Err() == nil; n++ {
				session := fmt.Sprintf("%s-%d-%d-%d", load.name, len(servers), i, n/turnsPerSession)
				if load.name == getSession.name {
					// One that another client has talked in, most likely at another server.
					session = fmt.Sprintf("%s-%d-%d-%d", runTurn.name, len(servers), (i+1)%(s.clients*len(servers)), 0)
				} else if n%turnsPerSession == 0 {
					if err := c.do(create(load.app, user, session)); err != nil {
						f.add(err)
						return
					}
				}
				began := time.Now()
				if err := c.do(load.request(session)); err != nil {
					f.add(err)
					return
				}
				busy.Add(int64(time.Since(began)))
				done.Add(1)
			}
		})
	}
	if err := retry.Sleep(ctx, s.last/4); err != nil {
		return sized{}, err
	}
	type reading struct {
		at               time.Time
		done, busy       int64
		server, database float64
	}
	read := func() (r reading, err error) {
		for _, server := range servers {
			u, err := server.usage(ctx, false)
			if err != nil {
				return r, err
			}
			r.server += u.CPU
		}
		if r.database, err = s.databaseCPU(ctx, inPostgres); err != nil {
			return r, err
		}
		r.at, r.done, r.busy = time.Now(), done.Load(), busy.Load()
		return r, nil
	}
	before, err := read()
	if err != nil {
		return sized{}, err
	}
	pause := s.last
	for done.Load() == before.done && f.count.Load() == 0 {
		if err := retry.Sleep(ctx, pause); err != nil {
			return sized{}, err
		}
		pause = 10 * time.Millisecond // until there is one, at least
	}
	after, err := read()
	if err != nil {
		return sized{}, err
	}
	if err := f.first.Load(); err != nil {
		return sized{}, *err
	}
	count, took := float64(after.done-before.done), after.at.Sub(before.at)
	return sized{
		sizedLoad: load, servers: len(servers), rate: count / took.Seconds(),
		inFlight: float64(after.busy-before.busy) / float64(took),
		server:   1000 * (after.server - before.server) / count, database: 1000 * (after.database - before.database) / count,
	}, nil
}

// printSizes prints the table in Markdown, and what 500 turns of a second and 500 reads
// need by it.
func printSizes(w io.Writer, list []sized) error {
	perCore := func(ms float64) string {
		if ms == 0 {
			return "" // it cannot be told here
		}
		return fmt.Sprintf("%.0f", 1000/ms)
	}
	var b strings.Builder
	b.WriteString("| load | servers | a second | in flight | server CPU, ms | Postgres CPU, ms | a second, for each server core | for each Postgres core |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|\n")
	const each = 500
	var need [2]float64 // cores
	for _, s := range list {
		fmt.Fprintf(&b, "| %s | %d | %.0f | %.0f | %.2f | %.2f | %s | %s |\n", s.words, s.servers, s.rate, s.inFlight, s.server, s.database, perCore(s.server), perCore(s.database))
		if s.servers == list[len(list)-1].servers && s.name != runTurn.name {
			need[0] += each * s.server / 1000
			need[1] += each * s.database / 1000
		}
	}
	fmt.Fprintf(&b, "\n%d turns of a second and %[1]d reads in a second take %.2f cores for the servers, and %.2f for Postgres.\n", each, need[0], need[1])
	_, err := io.WriteString(w, b.String())
	return err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/internal/retry"
)

// The soak asks whether servers stay as they are. It finds out how many turns they
// complete in a second, and then has them do half as many for a long time, while many
// streams stay open and get an event occasionally, each on another server than the one
// that works on its run. Whatever grows in that time, grows forever: sessions come, have
// some turns, and are deleted. In the end, what each stream has had is compared with the
// log.
//
// A server is the command parley api_server with agents in TypeScript, in a process of
// its own. All of them share a Postgres of our own.

// soakCommand is the soak.
const soakCommand = "soak"

// soak says how much is done.
type soak struct {
	*bench
	servers   int
	calibrate time.Duration // in which the speed is found out
	last      time.Duration // the soak itself
	every     time.Duration // between samples
	streams   int           // that stay open
	tickers   int           // runs that they follow
	tick      time.Duration // between the events of such a run
}

func runSoak(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := soak{bench: &bench{sizes: full, log: stderr, postgres: &lazyPostgres{}}, tick: 5 * time.Second}
	defer s.postgres.Close()
	flags := flag.NewFlagSet(soakCommand, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.servers, "servers", 3, "servers; with one, the streams are read where their runs are worked on")
	flags.DurationVar(&s.last, "for", 10*time.Minute, "how long it takes")
	flags.DurationVar(&s.calibrate, "calibrate", 30*time.Second, "how long it takes to find out the speed of the servers")
	flags.DurationVar(&s.every, "every", 30*time.Second, "time between samples")
	flags.IntVar(&s.streams, "streams", 1000, "streams that stay open")
	flags.IntVar(&s.tickers, "runs", 50, "runs that the streams follow")
	flags.IntVar(&s.clients, "clients", s.clients, "clients that send messages")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.servers < 1 || s.streams < 1 || s.tickers < 1 || s.clients < 1 || s.every <= 0 {
		return errors.New("there must be servers, streams, runs, clients, and time between samples")
	}
	if err := raiseFileLimit(); err != nil {
		return err
	}
	result, err := s.run(ctx)
	if err != nil {
		return err
	}
	return result.print(stdout)
}

// soaked is what came of a soak.
type soaked struct {
	soak
	speed   float64 // turns in a second, at most
	samples []sample
	heard   heard // what the streams have had
	faults  *faults
}

func (s soak) run(ctx context.Context) (*soaked, error) {
	where, drop, err := s.place(ctx, inPostgres)
	if err != nil {
		return nil, err
	}
	defer drop()
	var servers []*child
	for range s.servers {
		server, err := s.spawn(ctx, kindParley, serveSoakCommand, where.url)
		if err != nil {
			return nil, err
		}
		defer server.stop()
		servers = append(servers, server)
	}
	result := &soaked{soak: s, faults: &faults{}}
	if result.speed, err = s.atMost(ctx, servers, result.faults); err != nil {
		return nil, err
	}
	s.logf("soak: %.0f turns/s at most", result.speed)
	listeners, err := s.follow(ctx, servers, result.faults)
	if err != nil {
		return nil, err
	}
	defer listeners.close()
	result.samples, err = s.steady(ctx, servers, result.speed/2, listeners, result.faults)
	if err != nil {
		return nil, err
	}
	if err := listeners.end(ctx); err != nil {
		result.faults.add(err)
		return result, nil
	}
	result.heard = listeners.compare()
	return result, nil
}

// faults are what went wrong.
type faults struct {
	count atomic.Int64
	first atomic.Pointer[error]
}

func (f *faults) add(err error) {
	f.count.Add(1)
	f.first.CompareAndSwap(nil, &err)
}

// talker is a client that has one conversation after the other: a session is
// made, has some turns, and is deleted.
type talker struct {
	*client
	addr   string
	user   string
	count  int // of sessions so far
	turns  int // of this one
	faults *faults
}

func newTalker(addr string, number int, f *faults) (*talker, error) {
	c, err := dial(addr)
	return &talker{client: c, addr: addr, user: fmt.Sprintf("user-%d", number), faults: f}, err
}

func (t *talker) session() string { return fmt.Sprintf("s-%d", t.count) }

// turn has one turn, and what has to be done around it.
func (t *talker) turn() {
	if t.turns == 0 {
		t.send(create(weatherApp, t.user, t.session()))
	}
	t.send(request{"POST", "/run", fmt.Appendf(nil,
		`{"appName":%q,"userId":%q,"sessionId":%q,"newMessage":{"role":"user","parts":[{"text":"What is the weather in Paris?"}]}}`,
		weatherApp, t.user, t.session())})
	if t.turns++; t.turns == turnsPerSession {
		t.send(remove(weatherApp, t.user, t.session()))
		t.turns, t.count = 0, t.count+1
	}
}

// send counts an error, and then continues over a new connection.
func (t *talker) send(r request) {
	if err := t.do(r); err != nil {
		t.faults.add(err)
		t.Close()
		if again, err := dial(t.addr); err == nil {
			t.client = again
		}
	}
}

// atMost is how many turns the servers complete in a second, when as many as there
// are clients wait for them all the time.
func (s soak) atMost(ctx context.Context, servers []*child, f *faults) (float64, error) {
	var done atomic.Int64
	until, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	for i := range s.clients {
		t, err := newTalker(servers[i%len(servers)].addr, i, f)
		if err != nil {
			return 0, err
		}
		wg.Go(func() {
			defer t.Close()
			for until.Err() == nil {
				t.turn()
				done.Add(1)
			}
		})
	}
	for done.Load() == 0 && ctx.Err() == nil { // they have much to do before their first turn
		_ = retry.Sleep(ctx, 10*time.Millisecond)
	}
	_ = retry.Sleep(ctx, s.calibrate/3) // to warm up
	before, began := done.Load(), time.Now()
	_ = retry.Sleep(ctx, s.calibrate-s.calibrate/3)
	rate := float64(done.Load()-before) / time.Since(began).Seconds()
	stop()
	wg.Wait()
	if err := f.first.Load(); err != nil {
		return 0, *err
	}
	if rate == 0 {
		return 0, errors.Join(errors.New("the servers have completed no turn"), ctx.Err())
	}
	return rate, ctx.Err()
}

// steady has turns at an even rate, and looks at the servers from time to time.
func (s soak) steady(ctx context.Context, servers []*child, rate float64, l *listeners, f *faults) ([]sample, error) {
	until, stop := context.WithCancel(ctx)
	defer stop()
	took := &latencies{}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	each := time.Duration(float64(s.clients) / rate * float64(time.Second))
	begin := time.Now()
	for i := range s.clients {
		t, err := newTalker(servers[i%len(servers)].addr, s.clients+i, f)
		if err != nil {
			return nil, err
		}
		wg.Go(func() {
			defer t.Close()
			due := begin.Add(each * time.Duration(i) / time.Duration(s.clients))
			for ; ; due = due.Add(each) {
				if retry.Sleep(until, time.Until(due)) != nil {
					return
				}
				t.turn()
				// From when the turn was due: a server that holds us up must not
				// profit from it.
				took.add(time.Since(due))
			}
		})
	}
	var list []sample
	for at := s.every; at <= s.last; at += s.every {
		if retry.Sleep(ctx, time.Until(begin.Add(at))) != nil {
			return nil, ctx.Err()
		}
		one := sample{At: time.Since(begin), Streams: int(l.open.Load()), Errors: f.count.Load()}
		for _, server := range servers {
			var v vitals
			if err := server.ask(ctx, "/vitals", &v); err != nil {
				return nil, err
			}
			one.add(v)
		}
		one.measure(took.take(), s.every)
		s.logf("soak: %s", one)
		list = append(list, one)
	}
	return list, nil
}

// latencies are those of turns since they were last taken.
type latencies struct {
	mu   sync.Mutex
	list []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, d)
}

func (l *latencies) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

// started is the id of a run that was started in the background, with pieces.
func started(c *client, path, text string) (string, error) {
	body, _, err := c.fetch(request{"POST", path, fmt.Appendf(nil, `{"streaming":true,"newMessage":{"parts":[{"text":%q}]}}`, text)})
	if err != nil {
		return "", err
	}
	var run struct{ ID string }
	return run.ID, json.Unmarshal(body, &run)
}

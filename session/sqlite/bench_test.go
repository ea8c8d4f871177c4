package sqlite

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/storetest"
)

// reply is an entry of the size of most.
func reply(tb testing.TB) *session.Entry {
	tb.Helper()
	e, err := session.NewEntry(&event.Event{
		ID: "3f0c2f5e-9d8e-4a51-8a55-3d2b8f1c0a77", InvocationID: "e-1f0c2f5e-9d8e-4a51-8a55-3d2b8f1c0a77", Author: "agent", Timestamp: 1755700000.123456,
		Content: event.Text(event.RoleModel, strings.Repeat("All that is said. ", 20)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// BenchmarkAppend compares concurrent appends to the store with the same
// statements in a loop, without contention. Each with both kinds of syncs: the
// store uses FULL.
func BenchmarkAppend(b *testing.B) {
	for _, mode := range []string{"FULL", "NORMAL"} {
		for _, clients := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/store/clients=%d", mode, clients), func(b *testing.B) { benchStore(b, mode, clients) })
		}
		for _, batch := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/bare/batch=%d", mode, batch), func(b *testing.B) { benchBare(b, mode, batch) })
		}
	}
}

// run begins a run in a new session.
func run(b *testing.B, s session.Backend, id string) (session.Key, int64) {
	b.Helper()
	key := session.Key{App: "a", User: "u", ID: id}
	if _, err := s.Create(b.Context(), session.NewSession{Key: key}); err != nil {
		b.Fatal(err)
	}
	begun, err := s.Begin(b.Context(), session.NewRun{ID: "run", Key: key, Message: reply(b)})
	if err != nil {
		b.Fatal(err)
	}
	return key, begun.Run.Epoch
}

func benchStore(b *testing.B, mode string, clients int) {
	b.Helper()
	s := opened(b, file(b), session.Options{Owner: "bench"})
	if err := s.writer.submit(b.Context(), &op{outside: true, done: make(chan error, 1), do: func(c *conn) error {
		return c.script("PRAGMA synchronous = " + mode)
	}}); err != nil {
		b.Fatal(err)
	}
	keys, epochs := make([]session.Key, clients), make([]int64, clients)
	for i := range clients {
		keys[i], epochs[i] = run(b, s, fmt.Sprint(i))
	}
	e := reply(b)
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range clients {
		wg.Go(func() {
			for range share(b.N, clients, i) {
				if err := s.Append(b.Context(), keys[i], epochs[i], nil, &session.Entry{JSON: e.JSON, Event: e.Event}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// share is how many of n are the i-th client's.
func share(n, clients, i int) int {
	if i < n%clients {
		return n/clients + 1
	}
	return n / clients
}

// benchBare appends to 64 sessions by turns, batch appends in one transaction.
func benchBare(b *testing.B, mode string, batch int) {
	b.Helper()
	path := file(b)
	s := opened(b, path, session.Options{Owner: "bench"})
	const sessions = 64
	var digests [sessions][]byte
	var epochs, ordinals [sessions]int64
	for i := range sessions {
		key, epoch := run(b, s, fmt.Sprint(i))
		d := key.Digest()
		digests[i], epochs[i], ordinals[i] = d[:], epoch, int64(i)+1
	}
	source, err := locate(path)
	if err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	c, err := connect(b.Context(), db, "PRAGMA synchronous = "+mode)
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	const (
		find   = "SELECT ordinal, seq, runs.number FROM sessions JOIN runs ON runs.number = active WHERE digest = ? AND sessions.epoch = ?"
		insert = "INSERT INTO events (session, seq, json) VALUES (?, ?, ?)"
		update = "UPDATE sessions SET seq = ?, rewound = ?, updated = ?, epoch = ?, active = ? WHERE ordinal = ?"
	)
	text := reply(b).JSON
	b.ResetTimer()
	for n := 0; n < b.N; {
		if err := c.exec("BEGIN IMMEDIATE"); err != nil {
			b.Fatal(err)
		}
		for range min(batch, b.N-n) {
			i := n % sessions
			var ordinal, seq, number int64
			if err := c.one(find, []any{digests[i], epochs[i]}, &ordinal, &seq, &number); err != nil {
				b.Fatal(err)
			}
			if err := c.exec(insert, ordinals[i], seq+1, text); err != nil {
				b.Fatal(err)
			}
			if err := c.exec(update, seq+1, 0, now(), epochs[i], number, ordinal); err != nil {
				b.Fatal(err)
			}
			n++
		}
		if err := c.exec("COMMIT"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// BenchmarkTurn is what a server asks of a store for one turn of a conversation.
func BenchmarkTurn(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := session.Cached(session.NewStore(opened(b, file(b), session.Options{Owner: "bench"})), 64<<20)
			e := reply(b)
			var wg sync.WaitGroup
			for i := range clients {
				key := session.Key{App: "a", User: "u", ID: fmt.Sprint(i)}
				if _, err := s.Create(b.Context(), session.NewSession{Key: key}); err != nil {
					b.Fatal(err)
				}
				wg.Go(func() {
					for n := range share(b.N, clients, i) {
						begun, err := s.Begin(b.Context(), session.NewRun{ID: fmt.Sprint("run", n), Key: key, Message: &session.Entry{JSON: e.JSON, Event: e.Event}})
						if err != nil {
							b.Error(err)
							return
						}
						_, err = s.End(b.Context(), key, begun.Run.Epoch, session.End{Status: session.Completed, Entries: []*session.Entry{{JSON: e.JSON, Event: e.Event}}})
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}

// BenchmarkSearch measures what the index of a turn costs, and searches in 10,000
// sessions of one user with 200,000 events.
func BenchmarkSearch(b *testing.B) {
	store := session.NewStore(opened(b, file(b), session.Options{Owner: "bench"}))
	storetest.BenchmarkSearch(b, store)
}

package postgres_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
	"github.com/parley-run/parley/session/storetest"
)

const writers = 16

// BenchmarkAppend measures appends by sixteen runs at once, through the store
// and as the database does them without it.
func BenchmarkAppend(b *testing.B) {
	for _, sync := range []bool{true, false} {
		server := pgtest.Quick(b)
		if sync {
			server = pgtest.Start(b)
		}
		b.Run(fmt.Sprintf("fsync=%t", sync), func(b *testing.B) { benchmarkAppend(b, server) })
	}
}

func benchmarkAppend(b *testing.B, server *pgtest.Server) {
	b.Helper()
	database := server.Database(b)
	s := open(b, database, session.Options{Lease: time.Hour})
	epochs := make([]int64, writers)
	for i := range epochs {
		if _, err := s.Create(b.Context(), session.NewSession{Key: key(fmt.Sprint(i))}); err != nil {
			b.Fatal(err)
		}
		begun, err := s.Begin(b.Context(), session.NewRun{ID: "run", Key: key(fmt.Sprint(i)), Request: request})
		if err != nil {
			b.Fatal(err)
		}
		epochs[i] = begun.Run.Epoch
	}
	b.Run("store", func(b *testing.B) {
		spread(b, func(i, n int) error {
			return s.Append(b.Context(), key(fmt.Sprint(i)), epochs[i], nil, say(fmt.Sprint(i, "-", n)))
		})
	})
	b.Run("store with state", func(b *testing.B) {
		spread(b, func(i, n int) error {
			return s.Append(b.Context(), key(fmt.Sprint(i)), epochs[i], nil, say(fmt.Sprint(i, "-", n), "n", fmt.Sprint(n)))
		})
	})
	b.Run("pgx", func(b *testing.B) {
		pool, err := pgxpool.New(b.Context(), with(b, database, "pool_max_conns", fmt.Sprint(writers)))
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		json := [][]byte{say("0-0").JSON}
		spread(b, func(i, _ int) error {
			digest := key(fmt.Sprint(i)).Digest()
			var base int64
			return pool.QueryRow(b.Context(), postgres.SQLAppend, digest[:], 1, json, epochs[i], 1).Scan(&base)
		})
	})
	b.Run("pgbench", func(b *testing.B) { pgbench(b, database, epochs) })
}

// spread does b.N things in as many goroutines as there are writers.
func spread(b *testing.B, do func(i, n int) error) {
	b.Helper()
	b.ReportAllocs()
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range writers {
		wg.Go(func() {
			for n := i; n < b.N; n += writers {
				if err := do(i, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// pgbench runs the same statement with the program that comes with Postgres.
func pgbench(b *testing.B, database string, epochs []int64) {
	b.Helper()
	program, err := exec.LookPath("pgbench")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
		if len(found) == 0 {
			b.Skip("there is no pgbench")
		}
		program = found[len(found)-1]
	}
	// The parameters of pgbench are numbers, so the session is found by one.
	statement := postgres.SQLAppend
	for n, value := range map[int]string{2: "1", 3: fmt.Sprintf(`ARRAY['\x%x'::bytea]`, say("0-0").JSON), 4: ":epoch", 5: ":n"} {
		statement = regexp.MustCompile(fmt.Sprintf(`\$%d\b`, n)).ReplaceAllLiteralString(statement, value)
	}
	statement = strings.ReplaceAll(statement, "s.digest = $1", "s.ordinal = :ordinal")
	script := filepath.Join(b.TempDir(), "append.sql")
	text := fmt.Sprintf("\\set n random(1, 1000000000)\n\\set ordinal :client_id + 1\n\\set epoch :client_id + %d\n%s;\n",
		epochs[0], strings.Join(strings.Fields(statement), " "))
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	each := max(b.N/writers, 1)
	b.ResetTimer()
	out, err := exec.CommandContext(b.Context(), program, "-n", "-M", "prepared", "-c", fmt.Sprint(writers), "-j", "2",
		"-t", fmt.Sprint(each), "-f", script, database).CombinedOutput()
	if err != nil || strings.Contains(string(out), "aborted") {
		b.Fatalf("pgbench: %v\n%s", err, out)
	}
	if tps := regexp.MustCompile(`tps = ([0-9.]+)`).FindSubmatch(out); tps != nil {
		var rate float64
		if _, err := fmt.Sscan(string(tps[1]), &rate); err == nil {
			b.ReportMetric(rate, "appends/s")
		}
	}
}

// BenchmarkSearch measures what the index of a turn costs, and searches in 10,000
// sessions of one user with 200,000 events.
func BenchmarkSearch(b *testing.B) {
	storetest.BenchmarkSearch(b, session.NewStore(open(b, pgtest.Quick(b).Database(b), session.Options{Lease: time.Hour})))
}

// BenchmarkTogether measures runs with one call of a tool that sixteen clients make
// together: their beginnings, the calls, and their ends are each one transaction. The
// database has other sessions and knows it, so that the plans are those of a server in use.
func BenchmarkTogether(b *testing.B) {
	database := pgtest.Quick(b).Database(b)
	s := open(b, database, session.Options{Lease: time.Hour})
	populate(b, database)
	sql(b, database, "ANALYZE")
	ids, epochs, seqs := make([]string, writers), make([]int64, writers), make([]int64, writers)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
		if _, err := s.Create(b.Context(), session.NewSession{Key: key(ids[i])}); err != nil {
			b.Fatal(err)
		}
	}
	each := func(do func(i int) error) {
		queued, release := s.HoldGroup()
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				if err := do(i); err != nil {
					b.Error(err)
				}
			})
		}
		for queued() < writers && !b.Failed() {
			runtime.Gosched()
		}
		release()
		wg.Wait()
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		id := fmt.Sprint(n)
		each(func(i int) error {
			begun, err := s.Begin(b.Context(), session.NewRun{
				ID: id, Key: key(ids[i]), Request: request, Message: say("message-" + id),
				Read: session.Read{After: seqs[i]}, Busy: session.Reject,
			})
			if err == nil {
				epochs[i] = begun.Run.Epoch
			}
			return err
		})
		each(func(i int) error { return s.Append(b.Context(), key(ids[i]), epochs[i], nil, say("call-"+id)) })
		each(func(i int) error {
			_, err := s.End(b.Context(), key(ids[i]), epochs[i], session.End{
				Status: session.Completed, Entries: []*session.Entry{say("result-" + id), say("answer-" + id)}, Usage: event.Usage{Prompt: 1, Total: 1},
			})
			seqs[i] += 4
			return err
		})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*writers), "µs/run")
}

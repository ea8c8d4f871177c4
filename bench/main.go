// Bench measures what Parley costs beside a bare net/http server that answers
// the same bytes and, with a database, beside the same statements without Parley.
//
//	go run ./bench                     everything, some minutes
//	go run ./bench -quick              a rough idea, some seconds
//	go run ./bench -only run,run_sse   some scenarios
//	go run ./bench -profile /tmp/p     with profiles of every server
//	go run ./bench soak -for 10m       whether servers stay as they are, see soak.go
//	go run ./bench sizing              what turns cost servers and Postgres, see sizing.go
//	go run ./bench -only load_postgres -before /tmp/b   beside another version of it
//	go run ./bench target URL          a server that runs already, see target.go
//
// Each server is a process of its own, so that its CPU time and memory can be
// told from the load generator's; times of the two are taken in turns, because
// what else the machine does changes from one minute to the next. The ratios
// are what counts: the absolute figures belong to the machine.
//
// Databases are made for the occasion: SQLite files in the temporary directory,
// and a private Postgres server, without which its scenarios are left out.
//
// Everything stays on the loopback interface, and every count is bounded.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	_ "github.com/parley-run/parley/all" // stores, models, TypeScript, the UI
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the load generator, or, with a command in front, one of its servers, the
// soak, the sizing, or the load on another server.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case serveCommand:
			return serve(ctx, args[1:], stdin, stdout)
		case serveSoakCommand:
			return serveSoak(ctx, args[1:], stdin, stdout, stderr)
		case soakCommand:
			return runSoak(ctx, args[1:], stdout, stderr)
		case sizingCommand:
			return runSizing(ctx, args[1:], stdout, stderr)
		case targetCommand:
			return runTarget(ctx, args[1:], stdout, stderr)
		}
	}
	b := &bench{log: stderr, postgres: &lazyPostgres{}}
	defer b.postgres.Close()
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	quick := flags.Bool("quick", false, "use small counts: seconds instead of minutes, and less exact")
	only := flags.String("only", "", "scenarios to run, separated by commas: "+strings.Join(names(), ", "))
	asJSON := flags.Bool("json", false, "print the results as JSON")
	conns := flags.Int("conns", 0, "number of connections that send requests (default 16, and 64 with databases)")
	rounds := flags.Int("rounds", 0, "how often each measurement is repeated")
	flags.StringVar(&b.before, "before", "", "this program of another version, to compare load_postgres, load_sqlite and the CPU of requests with")
	flags.StringVar(&b.profiles, "profile", "", "directory for CPU and allocation profiles of the servers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b.sizes = full
	if *quick {
		b.sizes = short
	}
	if *conns > 0 {
		b.conns, b.clients = *conns, *conns
	}
	if *rounds > 0 {
		b.rounds = *rounds
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if err := raiseFileLimit(); err != nil {
		return err
	}
	var results []result
	for _, s := range chosen {
		found, err := s.run(ctx, b)
		if errors.Is(err, errNoPostgres) && *only == "" {
			b.logf("%s is left out: %v", s.name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		results = append(results, found...)
	}
	if *asJSON {
		return printJSON(stdout, results)
	}
	return printTable(stdout, results)
}

// choose finds scenarios by their names; no names mean all.
func choose(only string) ([]scenario, error) {
	if only == "" {
		return scenarios(), nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(only, ",") {
		i := slices.Index(names(), strings.TrimSpace(name))
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(names(), ", "))
		}
		chosen = append(chosen, scenarios()[i])
	}
	return chosen, nil
}

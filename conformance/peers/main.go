// Peers runs the conformance suite and the workloads of bench against other servers
// with the same HTTP contract, and writes what it finds into docs/comparison.md.
//
//	make conformance/peers
//
// It installs them from the npm registry and the Go module proxy. It is run by
// hand: what it finds depends on the versions that adk-js/package.json and
// adk-go/go.mod name, and on the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

const dir = "conformance/peers"

func main() {
	page := flag.String("page", "docs/comparison.md", "the page to write the tables into")
	requests := flag.Int("requests", 2000, "number of requests of each workload")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *page, *requests, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// server is one of the servers that are compared.
type server struct {
	name    string
	port    string
	version func(context.Context) (string, error)
	// build returns the command that serves, with its directory.
	build func(ctx context.Context, tmp, port string, log io.Writer) (*exec.Cmd, error)
}

var servers = []server{
	{"Parley", "8810", goVersion(""), func(ctx context.Context, tmp, port string, log io.Writer) (*exec.Cmd, error) {
		binary := filepath.Join(tmp, "parley")
		err := command(ctx, log, ".", "go", "build", "-o", binary, "./conformance/fixture")
		return exec.CommandContext(ctx, binary, "-port", port), err
	}},
	{"adk-js", "8811", npmVersion, func(ctx context.Context, _, port string, log io.Writer) (*exec.Cmd, error) {
		at := filepath.Join(dir, "adk-js")
		var err error
		if _, missing := os.Stat(filepath.Join(at, "node_modules")); missing != nil {
			// Scripts would compile database drivers that this server does not use.
			err = command(ctx, log, at, "npm", "ci", "--ignore-scripts")
		}
		cmd := exec.CommandContext(ctx, "node", "node_modules/@google/adk-devtools/dist/esm/cli_entrypoint.js", "api_server", "agents", "--host", "127.0.0.1", "--port", port, "--log_level", "error")
		cmd.Dir, cmd.Env = at, append(os.Environ(), "NODE_ENV=production")
		return cmd, err
	}},
	{"adk-go", "8812", goVersion("google.golang.org/adk/v2"), func(ctx context.Context, tmp, port string, log io.Writer) (*exec.Cmd, error) {
		binary := filepath.Join(tmp, "adk-go")
		err := command(ctx, log, filepath.Join(dir, "adk-go"), "go", "build", "-o", binary, ".")
		return exec.CommandContext(ctx, binary, "-port", port), err
	}},
}

func run(ctx context.Context, page string, requests int, log io.Writer) error {
	tmp, err := os.MkdirTemp("", "peers-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	suite := filepath.Join(tmp, "conformance.test")
	if err := command(ctx, log, ".", "go", "test", "-c", "-o", suite, "./conformance"); err != nil {
		return err
	}
	bench := filepath.Join(tmp, "bench")
	if err := command(ctx, log, ".", "go", "build", "-o", bench, "./bench"); err != nil {
		return err
	}
	var reports []report
	for _, s := range servers {
		r, err := measure(ctx, s, suite, bench, tmp, requests, log)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		reports = append(reports, r)
	}
	return write(page, reports)
}

// measure starts a server, and runs the load and the suite against it.
func measure(ctx context.Context, s server, suite, bench, tmp string, requests int, log io.Writer) (r report, err error) {
	r.name = s.name
	if r.version, err = s.version(ctx); err != nil {
		return r, err
	}
	fmt.Fprintf(log, "%s %s\n", r.name, r.version)
	cmd, err := s.build(ctx, tmp, s.port, log)
	if err != nil {
		return r, err
	}
	output, err := os.Create(filepath.Join(tmp, s.name+".log"))
	if err != nil {
		return r, err
	}
	defer func() { _ = output.Close() }()
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return r, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	base := "http://127.0.0.1:" + s.port
	if err := ready(ctx, base); err != nil {
		return r, err
	}
	if r.load, err = load(ctx, bench, base, cmd.Process.Pid, requests, log); err != nil {
		return r, err
	}
	r.cases, err = conformance(ctx, suite, base, s.name != "Parley", log)
	return r, err
}

// ready waits until a server answers.
func ready(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/list-apps", http.NoBody)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the server does not answer")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func command(ctx context.Context, log io.Writer, at, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = at, log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

package main

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"

	"github.com/parley-run/parley/internal/cli"
)

// serveSoakCommand makes the program the server of the soak.
const serveSoakCommand = "serve-soak"

//go:embed soak
var soakAgents embed.FS

// serveSoak is the command parley api_server, in a process that tells how it is.
// It serves until its input ends.
func serveSoak(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) != 1 {
		return errors.New("give the address of the database")
	}
	if err := raiseFileLimit(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "soak-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	agents, err := fs.Sub(soakAgents, "soak")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, agents); err != nil {
		return err
	}
	control, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/vitals", func(w http.ResponseWriter, _ *http.Request) {
		v, err := readVitals()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(v) // the load generator notices
	})
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	said, says := io.Pipe()
	ended := make(chan error, 3)
	go func() { ended <- http.Serve(control, mux) }()
	go func() {
		code := cli.Main(ctx, &cli.Env{
			Args: []string{
				"api_server", "--port", port, "--peer_address", "127.0.0.1:" + port, "--offline", "--agent_dir", dir, "--session_db_url", args[0],
			},
			Environ: os.Environ(), Dir: dir, Stdin: strings.NewReader(""), Stdout: says, Stderr: stderr,
		})
		err := fmt.Errorf("the server ended with code %d", code)
		_ = says.CloseWithError(err) // it never fails
		ended <- err
	}()
	addr, err := announced(said)
	if err != nil {
		return err
	}
	line, err := json.Marshal(addresses{addr, control.Addr().String()})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "%s\n", line); err != nil {
		return err
	}
	go func() {
		_, err := io.Copy(io.Discard, stdin)
		ended <- err
	}()
	return <-ended
}

// freePort is a port that is free for now.
func freePort(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}

// announced waits until the server says where it is, and passes over the rest.
func announced(said io.Reader) (string, error) {
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "http://"); ok {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			return addr, nil
		}
	}
	return "", errors.Join(errors.New("the server does not say where it is"), lines.Err())
}

// vitals are how a server is, or several together.
type vitals struct {
	RSS        int64 // bytes that the process has in memory; 0 where that cannot be told
	Heap       int64 // bytes that were live at the end of the last garbage collection
	Goroutines int
	Sockets    int // that are open; 0 where that cannot be told
}

// add adds those of another server.
func (v *vitals) add(other vitals) {
	v.RSS += other.RSS
	v.Heap += other.Heap
	v.Goroutines += other.Goroutines
	v.Sockets += other.Sockets
}

func readVitals() (v vitals, err error) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	v.Heap = int64(sample[0].Value.Uint64())
	v.Goroutines = runtime.NumGoroutine()
	v.Sockets = openSockets()
	v.RSS, err = residentBytes()
	return v, err
}

// openSockets counts the sockets of this process.
func openSockets() int {
	files, _ := filepath.Glob("/proc/self/fd/*") // the pattern is a good one
	n := 0
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

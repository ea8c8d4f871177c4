package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
)

// serveCommand makes the program one of its own servers.
const serveCommand = "serve"

// The kinds of servers.
const (
	kindParley = "parley"
	kindBare   = "bare"
)

// subject is a server that is measured.
type subject struct {
	serve func(context.Context, net.Listener) error
	gate  *gate  // behind which held streams wait
	heap  string // file for a profile of what is live, empty for none
}

// serve is a child: it serves until its input ends.
func serve(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet(serveCommand, flag.ContinueOnError)
	cpu := flags.String("cpuprofile", "", "file for a profile of the CPU time")
	allocs := flags.String("allocprofile", "", "file for a profile of the allocations")
	heap := flags.String("heapprofile", "", "file for a profile of what was live when memory was measured last")
	var where place
	flags.StringVar(&where.url, "db", "", "address of the database, empty for memory")
	flags.DurationVar(&where.lease, "lease", 0, "of runs in the database")
	turns := flags.Int("turns", 0, "that the sessions of the workload have had before")
	if err := flags.Parse(args); err != nil {
		return err
	}
	w, err := workloadNamed(flags.Arg(1))
	if err != nil {
		return err
	}
	w.turns = *turns
	if err := raiseFileLimit(); err != nil {
		return err
	}
	s, err := newSubject(ctx, flags.Arg(0), w, where)
	if err != nil {
		return err
	}
	s.heap = *heap
	if *cpu != "" {
		f, err := os.Create(*cpu)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return errors.Join(s.listen(ctx, stdin, stdout), writeProfile("allocs", *allocs))
}

func writeProfile(name, file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
}

func newSubject(ctx context.Context, kind string, w workload, where place) (subject, error) {
	switch kind {
	case kindParley:
		return newParley(w, where)
	case kindBare:
		return newBare(ctx, w)
	}
	return subject{}, fmt.Errorf("there is no server %q", kind)
}

// listen serves on one port and tells about itself on another, so that asking
// does not disturb the connections that are measured.
func (s subject) listen(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	main, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	control, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ended := make(chan error, 3)
	go func() { ended <- s.serve(ctx, main) }()
	go func() { ended <- http.Serve(control, s.control()) }()
	go func() {
		_, err := io.Copy(io.Discard, stdin)
		ended <- err
	}()
	line, err := json.Marshal(addresses{main.Addr().String(), control.Addr().String()})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "%s\n", line); err != nil {
		return err
	}
	return <-ended // the process ends with it, without a graceful stop
}

// usage is what a server has used.
type usage struct {
	CPU float64 // seconds, user and system
	RSS int64   // bytes that the process has in memory

	// The rest is told only when settled.
	Live  int64 // bytes of live objects
	InUse int64 // bytes of heap and stacks
}

func (s subject) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/usage", func(w http.ResponseWriter, r *http.Request) {
		u, err := s.measure(r.FormValue("settled") != "")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(u) // the load generator notices
	})
	mux.HandleFunc("/collect", func(http.ResponseWriter, *http.Request) { collect() })
	mux.HandleFunc("/release", func(http.ResponseWriter, *http.Request) { s.gate.open() })
	mux.HandleFunc("/open", func(http.ResponseWriter, *http.Request) { s.gate.leaveOpen() })
	return mux
}

// collect collects garbage, twice, because a sync.Pool gives up what it holds
// only the second time.
func collect() {
	runtime.GC()
	runtime.GC()
}

func (s subject) measure(settled bool) (u usage, err error) {
	if settled {
		collect()
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		u.Live, u.InUse = int64(m.HeapAlloc), int64(m.HeapInuse+m.StackInuse)
		if err := writeProfile("heap", s.heap); err != nil {
			return u, err
		}
	}
	if u.RSS, err = residentBytes(); err != nil {
		return u, err
	}
	u.CPU, err = cpuSeconds()
	return u, err
}

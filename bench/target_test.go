package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// The workloads can be sent to a server that runs already.
func TestTarget(t *testing.T) {
	t.Parallel()
	b := &bench{sizes: tiny, log: t.Output()}
	c, err := b.start(t.Context(), kindParley, runTurn, "target")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	var out bytes.Buffer
	pid := strconv.Itoa(os.Getpid()) // any process that uses time
	err = run(t.Context(), []string{targetCommand, "-pid", pid, "-conns", "2", "-requests", "40", "-warm", "20", "http://" + c.addr}, nil, &out, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	var results []targeted
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range results {
		names = append(names, r.Workload)
		if r.Requests != 40 || r.PerSecond <= 0 || runtime.GOOS == "linux" && r.Resident <= 0 {
			t.Errorf("result %+v", r)
		}
	}
	if got := strings.Join(names, " "); got != "create_session run run_sse" {
		t.Errorf("workloads %s", got)
	}
}

// A server that does other work is not measured.
func TestTargetDoesOtherWork(t *testing.T) {
	t.Parallel()
	b := &bench{sizes: tiny, log: t.Output()}
	c, err := b.start(t.Context(), kindBare, createSession, "target")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	err = run(t.Context(), []string{targetCommand, "http://" + c.addr}, nil, t.Output(), t.Output())
	if err == nil {
		t.Error("the bare server was measured")
	}
}

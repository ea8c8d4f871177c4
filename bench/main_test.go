package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the servers that the load generator starts.
func TestMain(m *testing.M) {
	// The race detector sleeps a second before a process ends, and there are
	// many processes.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	if len(os.Args) > 1 && (os.Args[1] == serveCommand || os.Args[1] == serveSoakCommand) {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// tiny proves that a scenario works, not how fast anything is.
var tiny = sizes{
	conns: 2, clients: 4, rounds: 1, slices: 1,
	grown: 12, parallel: 2, window: 20, read: 10,
	idle: 100, streams: 20, over: 10 * time.Millisecond, waiting: 10,
	lease: 500 * time.Millisecond,
	due:   20, asked: 5, asking: 10 * time.Millisecond,
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	postgres := &lazyPostgres{}
	t.Cleanup(func() { postgres.Close() })
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := &bench{sizes: tiny, log: t.Output(), profiles: t.TempDir(), postgres: postgres}
			results, err := s.run(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if len(results) == 0 {
				t.Fatal("it has no results")
			}
			for _, r := range results {
				if r.Scenario != s.name || r.Unit == "" {
					t.Errorf("the result has no name or unit: %+v", r)
				}
			}
			if s.name == "wait_typescript" || s.name == "engines" || s.name == "list_page" {
				return // it needs no server of its own, which could be profiled
			}
			profiles, err := os.ReadDir(b.profiles)
			if err != nil || len(profiles) == 0 {
				t.Errorf("there are no profiles: %v", err)
			}
		})
	}
}

func TestUnknownScenario(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), []string{"-only", "run,nothing"}, nil, t.Output(), t.Output())
	if err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("error %v, want one that names the scenario", err)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	results := []result{
		compared("fast", "s", []float64{2, 9, 4}, []float64{1, 3, 4}, 3),
		compared("slow", "s", []float64{8, 8}, []float64{2, 2}, 3),
		{Scenario: "large", Unit: "bytes", Parley: 2000, ValueLimit: 1536},
		{Scenario: "free", Unit: "bytes", Parley: 2000},
		rates("many", "a second", []float64{2, 9, 4}, []float64{4, 3, 8}, 0.5),
		rates("few", "a second", []float64{2, 2}, []float64{8, 8}, 0.5),
		{Scenario: "perfect", Unit: "errors", MustBeZero: true},
		{Scenario: "wrong", Unit: "errors", Parley: 1, MustBeZero: true},
	}
	if r := results[0]; r.Parley != 4 || r.Baseline != 3 || r.Ratio != 2 || r.Best != 2 || r.Lowest != 1 || r.Highest != 3 {
		t.Errorf("medians are wrong: %+v", r)
	}
	var verdicts []string
	for _, r := range results {
		verdicts = append(verdicts, r.verdict())
	}
	if got, want := strings.Join(verdicts, ","), "ok,missed,missed,,ok,missed,ok,missed"; got != want {
		t.Errorf("verdicts %q, want %q", got, want)
	}

	var table, doc bytes.Buffer
	if err := printTable(&table, results); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(table.String(), "\n"); lines != len(results)+1 {
		t.Errorf("the table has %d lines:\n%s", lines, &table)
	}
	if err := printJSON(&doc, results); err != nil {
		t.Fatal(err)
	}
	var back []result
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil || len(back) != len(results) || back[0] != results[0] {
		t.Errorf("the JSON reads back as %+v, %v", back, err)
	}
}

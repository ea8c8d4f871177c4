package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
)

const (
	connections     = 8
	turnsPerSession = 20 // as bench has it
)

// loadResult is what a workload of bench costs a server.
type loadResult struct {
	Workload  string  `json:"workload"`
	PerSecond float64 `json:"perSecond"`
	CPU       float64 `json:"cpuSecondsPer1000"` // 0 where it cannot be read
	Resident  int64   `json:"residentBytes"`     // afterwards; 0 where it cannot be read
}

// load has bench send its workloads to a server.
func load(ctx context.Context, bench, base string, pid, requests int, log io.Writer) ([]loadResult, error) {
	cmd := exec.CommandContext(ctx, bench, "target", "-pid", strconv.Itoa(pid), "-conns", strconv.Itoa(connections), "-requests", strconv.Itoa(requests), base)
	cmd.Stderr = log
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	var results []loadResult
	if err := json.Unmarshal(out, &results); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	return results, nil
}

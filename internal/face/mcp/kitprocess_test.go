package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os/exec"
	"sync"
	"testing"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// kitProcess is a process of Node.js that runs scenarios of one kit.
type kitProcess struct {
	mu      sync.Mutex
	in      *json.Encoder
	last    int
	waiting map[int]chan kitResult
}

// kitResult is what a kit would have printed, and its exit code.
type kitResult struct {
	ID, Code int
	Text     string
}

// startKit starts a process that ends with the test and its subtests.
func startKit(t *testing.T, program string) *kitProcess {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), nodejs.Node(t), "--import", "./glob.js", "--import", "./patient.js", "scenarios.js", program)
	cmd.Dir, cmd.Stderr = kits, t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k := &kitProcess{in: json.NewEncoder(in), waiting: map[int]chan kitResult{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		k.read(json.NewDecoder(bufio.NewReader(out)))
	}()
	t.Cleanup(func() {
		_ = in.Close()
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("the kit: %v", err)
		}
	})
	return k
}

// read hands out results until the process ends.
func (k *kitProcess) read(from *json.Decoder) {
	for {
		var result kitResult
		err := from.Decode(&result)
		k.mu.Lock()
		if err != nil {
			for _, to := range k.waiting {
				close(to)
			}
			k.waiting = nil
			k.mu.Unlock()
			return
		}
		if to := k.waiting[result.ID]; to != nil {
			to <- result
			delete(k.waiting, result.ID)
		}
		k.mu.Unlock()
	}
}

// run runs the kit with arguments.
func (k *kitProcess) run(t *testing.T, args ...string) kitResult {
	t.Helper()
	done := make(chan kitResult, 1)
	k.mu.Lock()
	k.last++
	id := k.last
	ended := k.waiting == nil
	if !ended {
		k.waiting[id] = done
	}
	err := k.in.Encode(map[string]any{"id": id, "args": args})
	k.mu.Unlock()
	if ended || err != nil {
		t.Fatalf("the process of the kit has ended: %v", err)
	}
	result, ok := <-done
	if !ok {
		t.Fatal("the process of the kit has ended")
	}
	return result
}

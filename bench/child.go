package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// child is a server in a process of its own.
type child struct {
	kind    string
	addr    string // where it answers
	control string // where it tells how it is
	cmd     *exec.Cmd
	stdin   io.Closer
}

// addresses is the line that a child prints when it listens.
type addresses struct{ Addr, Control string }

// start starts a server for a workload that keeps its sessions in memory.
func (b *bench) start(ctx context.Context, kind string, w workload, scenario string) (*child, error) {
	return b.startOn(ctx, place{}, kind, w, scenario)
}

// startOn starts a server for a workload. The profiles get their names from the
// scenario.
func (b *bench) startOn(ctx context.Context, where place, kind string, w workload, scenario string) (*child, error) {
	args := append([]string{serveCommand}, where.flags()...)
	if w.turns > 0 {
		args = append(args, "-turns", strconv.Itoa(w.turns))
	}
	if b.profiles != "" {
		if err := os.MkdirAll(b.profiles, 0o755); err != nil {
			return nil, err
		}
		base := filepath.Join(b.profiles, scenario+"-"+kind)
		args = append(args, "-cpuprofile", base+".cpu.prof", "-allocprofile", base+".alloc.prof", "-heapprofile", base+".heap.prof")
	}
	return b.spawnOf(ctx, where.program, kind, append(args, kind, w.name)...)
}

// spawn starts this program again, with other arguments, and waits until it
// listens.
func (b *bench) spawn(ctx context.Context, kind string, args ...string) (*child, error) {
	return b.spawnOf(ctx, "", kind, args...)
}

// spawnOf is spawn for another version of this program.
func (b *bench) spawnOf(ctx context.Context, program, kind string, args ...string) (c *child, err error) {
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	c = &child{kind: kind, cmd: exec.CommandContext(ctx, program, args...)}
	c.cmd.Stderr = b.log
	// The child ends when its input does, so it cannot outlive us.
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	var at addresses
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("the server %s did not start: %w", kind, err)
	}
	c.addr, c.control = at.Addr, at.Control
	return c, nil
}

// pair starts Parley and the bare server, in this order.
func (b *bench) pair(ctx context.Context, w workload, scenario string) (both [2]*child, stop func(), err error) {
	return b.beside(ctx, w, scenario, func() (*child, error) { return b.start(ctx, kindBare, w, scenario) })
}

// beside starts Parley, and then another server.
func (b *bench) beside(ctx context.Context, w workload, scenario string, other func() (*child, error)) (both [2]*child, stop func(), err error) {
	stop = func() {
		for _, c := range both {
			if c != nil {
				c.stop()
			}
		}
	}
	if both[0], err = b.start(ctx, kindParley, w, scenario); err == nil {
		both[1], err = other()
	}
	if err != nil {
		stop()
		return both, nil, err
	}
	return both, stop, nil
}

// kill is what happens to servers: no farewell, nothing given back.
func (c *child) kill() error { return c.cmd.Process.Kill() }

func (c *child) stop() {
	_ = c.stdin.Close()
	_ = c.cmd.Wait() // how it ended changes nothing that was measured
}

// usage asks for what the server has used so far. Settled means after garbage
// collections.
func (c *child) usage(ctx context.Context, settled bool) (usage, error) {
	path := "/usage"
	if settled {
		path += "?settled=1"
	}
	var u usage
	return u, c.ask(ctx, path, &u)
}

// collect collects garbage, so that the next collection is far away.
func (c *child) collect(ctx context.Context) error { return c.ask(ctx, "/collect", nil) }

// release lets held streams end, and waits for their ends.
func (c *child) release(ctx context.Context, streams []*client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the streams do not end"))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- drain(streams) }()
	for {
		// More than once, because a stream that has just sent its event may
		// not have come to the gate yet.
		if err := c.ask(ctx, "/release", nil); err != nil {
			return err
		}
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (c *child) ask(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.control+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("control %s: %s", path, resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

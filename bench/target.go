package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const targetCommand = "target"

// targeted is what one workload costs a server that was running before.
type targeted struct {
	Workload  string  `json:"workload"`
	Requests  int     `json:"requests"`
	PerSecond float64 `json:"perSecond"`
	CPU       float64 `json:"cpuSecondsPer1000"` // 0 where it cannot be read
	Resident  int64   `json:"residentBytes"`     // afterwards; 0 where it cannot be read
}

// targets are the workloads. A turn has three events: the call of the tool, its
// result, and the text.
var targets = []struct {
	workload
	events int
}{{createSession, 0}, {runTurn, 3}, {runSSE, 3}}

// runTarget sends the workloads to any server with the contract, which must serve
// an application named weather whose agent calls one tool and then answers. It
// keeps all sessions, so that the memory of servers can be compared.
func runTarget(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench "+targetCommand, flag.ContinueOnError)
	flags.SetOutput(stderr)
	pid := flags.Int("pid", 0, "process of the server, whose CPU time and memory are read from /proc")
	conns := flags.Int("conns", 8, "number of connections that send requests")
	requests := flags.Int("requests", 2000, "number of requests of each workload that are measured")
	warm := flags.Int("warm", 400, "number of requests of each workload before them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	at, err := url.Parse(flags.Arg(0))
	if err != nil || at.Scheme != "http" || at.Host == "" || flags.NArg() != 1 {
		return fmt.Errorf("give the address of the server, such as http://127.0.0.1:8000, not %q", flags.Args())
	}
	// Servers close connections that are idle for some seconds, so none is kept from
	// one step to the next.
	send := func(lists [][]request) error {
		p, err := newPool(at.Host, *conns)
		if err != nil {
			return err
		}
		defer p.Close()
		return p.do(lists)
	}
	var results []targeted
	for _, t := range targets {
		if err := t.check(at.Host, t.events); err != nil {
			return err
		}
		if err := t.send(ctx, "warm", *warm, send, send); err != nil {
			return err
		}
		r := targeted{Workload: t.name}
		if err := t.send(ctx, "load", *requests, send, func(lists [][]request) error {
			for _, list := range lists {
				r.Requests += len(list)
			}
			before, _ := processUsage(*pid)
			began := time.Now()
			if err := send(lists); err != nil {
				return err
			}
			took := time.Since(began)
			after, resident := processUsage(*pid)
			r.PerSecond = float64(r.Requests) / took.Seconds()
			r.CPU = (after - before).Seconds() / float64(r.Requests) * 1000
			r.Resident = resident
			return nil
		}); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%+v\n", r)
		results = append(results, r)
	}
	enc := json.NewEncoder(stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(results)
}

// send sends requests in conversations of turnsPerSession with do, after it has
// created their sessions with prepare.
func (w workload) send(ctx context.Context, prefix string, requests int, prepare, do func([][]request) error) error {
	turns := turnsPerSession
	if w.creates {
		turns = 1
	}
	sessions := ids(prefix+"-"+w.name, (requests+turns-1)/turns)
	var created, lists [][]request
	for _, s := range sessions {
		created = append(created, []request{create(w.app, user, s)})
		var list []request
		for range turns {
			list = append(list, w.request(s))
		}
		lists = append(lists, list)
	}
	if !w.creates {
		if err := prepare(created); err != nil {
			return err
		}
	}
	if err := do(lists); err != nil {
		return err
	}
	return ctx.Err()
}

// check makes sure that the server does the work that is measured.
func (w workload) check(addr string, events int) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	session := "check-" + w.name
	if !w.creates {
		if err := c.do(create(w.app, user, session)); err != nil {
			return err
		}
	}
	body, _, err := c.fetch(w.request(session))
	if err != nil {
		return err
	}
	if n := bytes.Count(body, []byte(`"invocationId"`)); n != events {
		return fmt.Errorf("%s: the server answers with %d events, not %d: %.500s", w.name, n, events, body)
	}
	return nil
}

// processUsage is the CPU time that a process has used and its memory, where the
// system has /proc.
func processUsage(pid int) (cpu time.Duration, resident int64) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all systems that Go supports
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return 0, 0
	}
	var values [3]int64
	for i, field := range []int{11, 12, 21} { // utime, stime, rss
		if values[i], err = strconv.ParseInt(fields[field], 10, 64); err != nil {
			return 0, 0
		}
	}
	return time.Duration(values[0]+values[1]) * tick, values[2] * int64(os.Getpagesize())
}

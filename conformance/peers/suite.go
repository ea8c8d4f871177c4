package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// outcome is how a case ended.
type outcome string

const (
	passed  outcome = "passed"
	failed  outcome = "failed"
	skipped outcome = "skipped" // it needs a server with settings of its own
	absent  outcome = "absent"  // the server has no such endpoint
	left    outcome = "not run" // it is about what only Parley has
)

type caseResult struct {
	name    string
	outcome outcome
	why     string // of a failure, one line
}

// conformance runs each case in a process of its own, so that one that hangs or
// panics ends alone.
func conformance(ctx context.Context, suite, base string, peer bool, log io.Writer) ([]caseResult, error) {
	list := exec.CommandContext(ctx, suite, "-test.list", "^Test")
	list.Dir = "conformance"
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the cases: %w", err)
	}
	names := slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool { return groupOf(name) == notRun })
	results := make([]caseResult, len(names))
	slots := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for i, name := range names {
		if peer && groupOf(name) == own {
			results[i] = caseResult{name: name, outcome: left}
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = runCase(ctx, suite, base, name, peer)
			fmt.Fprintf(log, "%-8s %s %s\n", results[i].outcome, name, results[i].why)
		})
	}
	wg.Wait()
	return results, ctx.Err()
}

var (
	message = regexp.MustCompile(`(?m)^ +[a-z_]+\.go:\d+: (.*)$`)
	// Package cmp indents with no-break spaces at random, to discourage parsing.
	change = regexp.MustCompile(`(?m)^[ \t\x{a0}]+([-+])[ \t\x{a0}]+(.*)$`)
	part   = regexp.MustCompile(`(?m)^ +--- (FAIL|PASS): [^/ ]+/([^/ ]+) `)
	// What says nothing to a reader: the rest of a successful answer, and addresses.
	noise = regexp.MustCompile(`(status 20\d, want \d+): .*|\b0x[0-9a-f]+`)
	// How net/http, gorilla/mux and Express answer when there is no route.
	noRoute = regexp.MustCompile(`status 404, want \d+: (404 page not found|<!DOCTYPE html>)|status 405, want (200|404)`)
)

// firstChange is the first line of a diff that was expected, and the first that
// was found.
func firstChange(diff []byte) string {
	first := map[string]string{}
	for _, m := range change.FindAllSubmatch(diff, -1) {
		if sign := string(m[1]); first[sign] == "" {
			first[sign] = strings.Join(strings.Fields(string(m[2])), " ")
		}
	}
	return fmt.Sprintf("want %s got %s", cmp.Or(first["-"], "nothing more,"), cmp.Or(first["+"], "nothing more"))
}

// failedParts names the subtests that failed, if others of the case passed.
func failedParts(out []byte) string {
	var names []string
	passes := false
	for _, m := range part.FindAllSubmatch(out, -1) {
		if string(m[1]) == "PASS" {
			passes = true
		} else {
			names = append(names, strings.ReplaceAll(string(m[2]), "_", " "))
		}
	}
	if !passes || len(names) == 0 {
		return ""
	}
	return "only " + strings.Join(names, ", ") + ": "
}

func runCase(ctx context.Context, suite, base, name string, peer bool) caseResult {
	cmd := exec.CommandContext(ctx, suite, "-test.run", "^"+name+"$", "-test.v", "-test.timeout", "90s", "-base-url", base, fmt.Sprintf("-peer=%t", peer))
	cmd.Dir = "conformance"
	out, err := cmd.CombinedOutput()
	r := caseResult{name: name, outcome: passed}
	switch {
	// The process also fails when it leaves a connection open, which is not the server's fault.
	case err != nil && !bytes.Contains(out, []byte("--- PASS: "+name+" ")):
		r.outcome = failed
		if m := message.FindSubmatchIndex(out); m != nil {
			r.why = string(out[m[2]:m[3]])
			if strings.HasSuffix(r.why, "(-want +got):") || strings.HasSuffix(r.why, "(-answered +stored):") {
				r.why = firstChange(out[m[3]:])
			}
			if noRoute.MatchString(r.why) {
				r.outcome = absent
			}
		} else if bytes.Contains(out, []byte("test timed out")) {
			r.why = "no answer in time"
		}
		r.why = noise.ReplaceAllString(r.why, "$1")
		r.why = failedParts(out) + r.why[:min(len(r.why), 200)]
	case bytes.Contains(out, []byte("--- SKIP: "+name)):
		r.outcome = skipped
	}
	return r
}

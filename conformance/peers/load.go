package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	connections     = 8
	turnsPerSession = 20
	warmUp          = 200 // turns that are not counted
)

// loadResult is what turns with one tool call cost.
type loadResult struct {
	perSecond float64
	median    time.Duration
	p99       time.Duration
	cpu       time.Duration // of the server for one turn; 0 where it cannot be read
	resident  int64         // bytes at the end; 0 where it cannot be read
}

// load sends turns to /run, on some connections at once.
func load(ctx context.Context, base string, pid, turns int) (loadResult, error) {
	if _, err := send(ctx, base, "warm", warmUp); err != nil {
		return loadResult{}, err
	}
	before, _ := cpuTime(pid)
	began := time.Now()
	times, err := send(ctx, base, "load", turns)
	if err != nil {
		return loadResult{}, err
	}
	took := time.Since(began)
	after, resident := cpuTime(pid)
	slices.Sort(times)
	return loadResult{
		perSecond: float64(len(times)) / took.Seconds(), median: times[len(times)/2], p99: times[len(times)*99/100],
		cpu: (after - before) / time.Duration(len(times)), resident: resident,
	}, nil
}

func send(ctx context.Context, base, prefix string, turns int) ([]time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var times []time.Duration
	var errs []error
	var sessions atomic.Int64
	var wg sync.WaitGroup
	for range connections {
		wg.Go(func() {
			for {
				n := int(sessions.Add(1)) - 1
				if n*turnsPerSession >= turns || ctx.Err() != nil {
					return
				}
				took, err := conversation(ctx, client, base, prefix+"-"+strconv.Itoa(n))
				mu.Lock()
				times, errs = append(times, took...), append(errs, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return times, errors.Join(append(errs, ctx.Err())...)
}

// conversation is one session with some turns.
func conversation(ctx context.Context, client *http.Client, base, session string) ([]time.Duration, error) {
	if err := post(ctx, client, base+"/apps/weather/users/u/sessions/"+session, map[string]any{}); err != nil {
		return nil, err
	}
	body := map[string]any{
		"appName": "weather", "userId": "u", "sessionId": session,
		"newMessage": map[string]any{"role": "user", "parts": []any{map[string]any{"text": "weather in Oslo"}}},
	}
	var times []time.Duration
	for range turnsPerSession {
		began := time.Now()
		if err := post(ctx, client, base+"/run", body); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}

func post(ctx context.Context, client *http.Client, url string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %.300s", url, resp.Status, answer)
	}
	return err
}

// cpuTime is how much CPU time and memory a process has used, where the system has
// /proc.
func cpuTime(pid int) (cpu time.Duration, resident int64) {
	const tick = 10 * time.Millisecond
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return 0, 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)   // the kernel writes numbers
	system, _ := strconv.ParseInt(fields[12], 10, 64) // as above
	pages, _ := strconv.ParseInt(fields[21], 10, 64)  // as above
	return time.Duration(user+system) * tick, pages * int64(os.Getpagesize())
}

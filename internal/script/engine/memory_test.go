package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/quickjs"
)

// spin is a function that no interrupt reaches.
const spin = `Array.prototype.indexOf.call({length: 2**53 - 1}, 1)`

// An engine leaves no memory and no goroutine behind, however it ends.
func TestNothingIsLeftOfEngines(t *testing.T) {
	const number, atOnce = 40, 4
	limits := generous
	limits.Memory = 24 << 20
	for _, way := range []struct {
		name, code, want string
		turn             time.Duration
	}{
		{"closed", "", ErrClosed.Error(), 0},
		{"out of memory", `globalThis.head = null; for (;;) head = {next: head}`, "ran out of memory", 0},
		{"endless loop", `const held = []; for (let i = 0; i < 1e5; i++) held.push({}); for (;;);`, "without yielding", 10 * time.Millisecond},
		{"interruption that is caught", `for (;;) { try { (async () => { for (;;); })() } catch {} }`, "without yielding", 10 * time.Millisecond},
		{"built-in function", `globalThis.held = new Uint8Array(8 << 20).fill(1); ` + spin, "without yielding", 10 * time.Millisecond},
		{"built-in function that is closed", spin, ErrClosed.Error(), 0},
		{"load error", `throw new Error("not today")`, "not today", 0},
	} {
		t.Run(way.name, func(t *testing.T) {
			code := serve + "(() => 1);"
			if way.name == "load error" {
				code = way.code
			}
			one := func() error {
				g, err := load(t, limits, code)
				if err != nil {
					return err
				}
				defer g.Close()
				began := make(chan struct{})
				threadOf(g).post(func() error {
					if way.turn > 0 {
						threadOf(g).limits.Turn = way.turn // of the turns after this one
					}
					return nil
				})
				threadOf(g).post(func() error {
					close(began)
					_, err := threadOf(g).vm.Eval(way.code, quickjs.EvalGlobal)
					return unusable(err)
				})
				<-began
				if way.want == ErrClosed.Error() {
					g.Close()
				}
				select {
				case <-threadOf(g).dead:
				case <-time.After(5 * time.Minute):
					return errors.New("the engine is still alive")
				}
				select {
				case <-threadOf(g).gone:
				case <-time.After(5 * time.Minute):
					return errors.New("the engine is still running")
				}
				return threadOf(g).cause
			}
			many := func(n int) {
				t.Helper()
				var wg sync.WaitGroup
				for range atOnce {
					wg.Go(func() {
						for range n / atOnce {
							if err := one(); err == nil || !strings.Contains(err.Error(), way.want) {
								t.Errorf("the engine ended with %v", err)
								return
							}
						}
					})
				}
				wg.Wait()
			}
			many(2 * atOnce)
			before := measure(t)
			many(number)
			after := measure(t)
			for until := time.Now().Add(5 * time.Minute); after.goroutines > before.goroutines && time.Now().Before(until); after = measure(t) {
				time.Sleep(10 * time.Millisecond)
			}
			t.Logf("before %+v, after %+v", before, after)
			if after.goroutines > before.goroutines {
				t.Errorf("%d goroutines became %d", before.goroutines, after.goroutines)
			}
			if grown := after.memory - before.memory; grown > 4<<20 {
				t.Errorf("%d engines left %d MB of memory", number, grown>>20)
			}
			if grown := after.addresses - before.addresses; grown > 256<<20 {
				t.Errorf("%d engines left %d MB of addresses", number, grown>>20)
			}
		})
	}
}

// usage is what the process has. Memory and addresses are in bytes, and only
// known on Linux.
type usage struct{ goroutines, memory, addresses int }

func measure(t *testing.T) usage {
	t.Helper()
	debug.FreeOSMemory()
	u := usage{goroutines: runtime.NumGoroutine()}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if _, err := fmt.Fscan(bytes.NewReader(text), &u.addresses, &u.memory); err != nil {
			t.Fatal(err)
		}
		u.addresses *= os.Getpagesize()
		u.memory *= os.Getpagesize()
	}
	return u
}

// The memory of a stuck engine is freed at once, and there are not more and more
// of them.
func TestStuckEngines(t *testing.T) {
	if stuck.Load() != 0 {
		t.Fatalf("%d engines are stuck", stuck.Load())
	}
	ctx, release := context.WithCancel(t.Context())
	defer release()
	waiting := make(chan struct{})
	hosts := map[string]Function{"wait": func(string) (string, error) {
		waiting <- struct{}{}
		<-ctx.Done()
		return "", nil
	}}
	var threads []*thread
	one := func() (*thread, error) {
		return newThread(generous, hosts, func(string, int64, string, string) error { return nil })
	}
	before := measure(t)
	for range maxStuck {
		e, err := one()
		if err != nil {
			t.Fatal(err)
		}
		threads = append(threads, e)
		e.post(func() error {
			_, err := e.vm.Eval(`globalThis.held = new Uint8Array(8 << 20).fill(1); __host("wait")`, quickjs.EvalGlobal)
			return err
		})
		<-waiting
	}
	var wg sync.WaitGroup
	for _, e := range threads {
		wg.Go(e.Close)
	}
	wg.Wait()
	for stuck.Load() < maxStuck {
		time.Sleep(time.Millisecond)
	}
	if u := measure(t); u.memory-before.memory > 8<<20 {
		t.Errorf("engines that are stuck have %d MB", (u.memory-before.memory)>>20)
	}
	if _, err := one(); err == nil || !strings.Contains(err.Error(), "restart the server") {
		t.Errorf("one more: %v", err)
	}
	release()
	for _, e := range threads {
		<-e.gone
	}
	for stuck.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	e, err := one()
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
}

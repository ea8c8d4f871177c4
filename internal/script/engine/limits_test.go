package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Time for compiling does not count: the limit is for code that runs.
func TestCompilingIsNotRunning(t *testing.T) {
	big := serve + "(() => 1);\nexport function never(a) {\n" + strings.Repeat("  a.b = a.c + a.d;\n", 100_000) + "}\n"
	timed := func(turn time.Duration) (time.Duration, error) {
		limits := generous
		limits.Memory, limits.Turn = 256<<20, turn
		began := time.Now()
		e, err := load(t, limits, big)
		took := time.Since(began)
		if err == nil {
			e.Close()
		}
		return took, err
	}
	// The time that is left for running the code is a part of what compiling takes
	// on this machine, as busy as it is now.
	var err error
	for range 10 {
		var took time.Duration
		if took, err = timed(generous.Turn); err != nil {
			t.Fatal(err)
		}
		if _, err = timed(took / 4); err == nil {
			return
		}
	}
	t.Error(err)
}

// Code that continues after an interruption is stopped nevertheless.
func TestInterruptionCannotBeCaught(t *testing.T) {
	limits := generous
	limits.Turn = 300 * time.Millisecond
	for i, body := range []string{
		`for (;;) { try { await (async () => { for (;;); })() } catch {} }`,
		`for (;;) { try { (async () => { for (;;); })() } catch {} }`,
		`const spin = async () => { for (;;); }; for (;;) { try { spin() } catch {} }`,
		`const spin = async () => { for (;;); }, not = () => {}; for (;;) { try { spin() } catch {} try { not() } catch {} }`,
		`const spin = async () => { for (;;); }; for (;;) { try { for (;;) { try { spin() } catch {} } } catch {} }`,
		`for (;;) { try { for (;;) { try { (async () => { for (;;); })() } catch {} } } catch {} }`,
		`const again = () => Promise.reject().catch(async () => { for (;;); }).finally(again); again(); await new Promise(() => {})`,
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			e := start(t, limits, `async (params) => { if (params) { `+body+` } }`)
			if _, err := e.Call(t.Context(), Call{Params: "true"}); err == nil || !strings.Contains(err.Error(), "without yielding") {
				t.Errorf("the call ends with %v", err)
			}
			select {
			case <-threadOf(e).gone:
			case <-time.After(time.Minute):
				t.Error("the engine is still running")
			}
		})
	}
}

// Code that calls the host itself starts no more requests than are counted.
func TestRequestsHaveNumbersOfTheirOwn(t *testing.T) {
	e := start(t, generous, `() => 1`)
	e.operations = map[string]Operation{"wait": func(ctx context.Context, _ json.RawMessage, _ func(any) error) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	if _, err := e.request(`{"id":1,"op":"wait"}`); err != nil {
		t.Fatal(err)
	}
	if _, err := e.request(`{"id":1,"op":"wait"}`); err == nil {
		t.Error("a second request has the number of the first")
	}
	if _, err := e.request(`{"id":2,"op":"wait"}`); err != nil {
		t.Error(err)
	}
}

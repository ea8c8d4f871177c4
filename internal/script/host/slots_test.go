package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// held is a transport that holds requests until they are released.
type held struct {
	now atomic.Int64
	let chan struct{}
}

func (h *held) RoundTrip(r *http.Request) (*http.Response, error) {
	h.now.Add(1)
	defer h.now.Add(-1)
	select {
	case <-h.let:
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("ok")), Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// TestHangingFetches has applications fetch from a server that does not answer:
// only so many connections are open at once, an application cannot take them
// all, and who waits for one can be stopped.
func TestHangingFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := &held{let: make(chan struct{})}
		all := make(chan struct{}, 8)
		newApp := func() *Host {
			h := New(Options{Client: &http.Client{Transport: way}})
			h.slots = newSlots(all)
			return h
		}
		fetch := func(ctx context.Context, h *Host, done chan<- error) {
			go func() {
				done <- h.fetch(ctx, json.RawMessage(`{"url":"http://api.test/","method":"GET"}`), func(any) error { return nil })
			}()
		}
		ctx, cancel := context.WithCancel(t.Context())
		one, two, done := newApp(), newApp(), make(chan error, 100)
		for range 20 {
			fetch(ctx, one, done)
		}
		synctest.Wait()
		if n := way.now.Load(); n != 4 {
			t.Errorf("one application has %d connections", n)
		}
		rest := make(chan error, 100)
		for range 20 {
			fetch(t.Context(), two, rest)
		}
		synctest.Wait()
		if n := way.now.Load(); n != 8 {
			t.Errorf("two applications have %d connections", n)
		}
		cancel()
		for range 20 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		close(way.let)
		for range 20 {
			if err := <-rest; err != nil {
				t.Error(err)
			}
		}
		if len(all) > 0 || len(one.slots.own) > 0 || len(two.slots.own) > 0 {
			t.Error("slots were not given back")
		}
	})
}

// TestManyKeys has one application ask for many keys on a machine that makes one at a
// time. Another application waits for one of them only, and what waits can be stopped.
func TestManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make(chan struct{}, 1)
		one, two := New(Options{}), New(Options{})
		one.work, two.work = newSlots(all), newSlots(all)
		var made atomic.Int64
		key := func(ctx context.Context, h *Host, done chan<- error) {
			done <- h.derive(ctx, json.RawMessage(`{"op":"generate","kind":"ed25519"}`), func(any) error {
				made.Add(1)
				return nil
			})
		}
		all <- struct{}{} // something else is busy
		ctx, cancel := context.WithCancel(t.Context())
		stopped, done, other := make(chan error, 100), make(chan error, 100), make(chan error, 1)
		for range cap(done) {
			go key(t.Context(), one, done)
		}
		synctest.Wait()
		for range cap(stopped) {
			go key(ctx, one, stopped)
		}
		go key(t.Context(), two, other)
		synctest.Wait()
		cancel()
		for range cap(stopped) {
			if err := <-stopped; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		<-all
		if err := <-other; err != nil || made.Load() > 10 {
			t.Errorf("%v, and there are %d keys", err, made.Load())
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if len(all) > 0 || len(one.work.own) > 0 || len(two.work.own) > 0 {
			t.Error("slots were not given back")
		}
	})
}

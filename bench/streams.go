package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// openStreams measures the memory of streams that wait for a slow model.
func openStreams(ctx context.Context, b *bench) ([]result, error) {
	const name = "open_streams"
	both, stop, err := b.pair(ctx, hold, name)
	if err != nil {
		return nil, err
	}
	defer stop()
	var used, resident [2]float64
	for i, c := range both {
		// Once before, since what the first streams make a server do for the
		// first time is not what a stream costs.
		if _, err := b.held(ctx, c, "warm", min(b.streams, 100), nil); err != nil {
			return nil, err
		}
		_, err := b.held(ctx, c, "stream", b.streams, func(before, after usage) {
			used[i] = float64(after.InUse-before.InUse) / float64(b.streams) / 1024
			resident[i] = float64(after.RSS-before.RSS) / float64(b.streams) / 1024
		})
		if err != nil {
			return nil, err
		}
		b.logf("%s: %s: %d streams, %.1f KB each in use, %.1f KB resident", name, c.kind, b.streams, used[i], resident[i])
	}
	// The bare server's are those of net/http: its buffers, and the stacks of two goroutines.
	return []result{
		{Scenario: name, Unit: "KB of heap and stacks, beside the bare server's", Parley: used[0] - used[1], ValueLimit: limitStream},
		{Scenario: name, Unit: "KB of heap and stacks", Parley: used[0], Baseline: used[1], Ratio: used[0] / used[1], RatioLimit: limitStreams},
		{Scenario: name, Unit: "KB resident", Parley: resident[0], Baseline: resident[1], Ratio: resident[0] / resident[1], RatioLimit: limitStreams},
	}, nil
}

// firstEvent measures how long it takes until the first event is there, while
// many streams are opened one after another.
func firstEvent(ctx context.Context, b *bench) ([]result, error) {
	const name = "first_event"
	both, stop, err := b.pair(ctx, hold, name)
	if err != nil {
		return nil, err
	}
	defer stop()
	var late, middle [2][]float64
	for round := range b.rounds + 1 {
		for i, c := range both {
			took, err := b.held(ctx, c, fmt.Sprintf("round-%d", round), b.streams, nil)
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first one is to warm up
				late[i] = append(late[i], percentile(took, 99))
				middle[i] = append(middle[i], percentile(took, 50))
			}
		}
		b.logf("%s: round %d of %d: %s", name, round, b.rounds, lastOf(late))
	}
	return []result{
		compared(name, "ms, 50th percentile", middle[0], middle[1], 0),
		compared(name, "ms, 99th percentile", late[0], late[1], limitFirstEvent),
	}, nil
}

// held opens n streams and lets them end again. It returns how long each took
// to its first event; weigh, if set, gets what the server used before there
// was a stream and while all were open.
func (b *bench) held(ctx context.Context, c *child, prefix string, n int, weigh func(before, after usage)) ([]time.Duration, error) {
	sessions := ids(prefix, n)
	each := func(do func(pool, workload, []string) error) error {
		p, err := newPool(c.addr, b.conns)
		if err != nil {
			return err
		}
		defer p.Close()
		return do(p, hold, sessions)
	}
	if err := each(c.createAll); err != nil {
		return nil, err
	}
	// Collections are part of what a stream may have to wait for. From a clean
	// start, every round has as many of them; without, some have none.
	if err := c.collect(ctx); err != nil {
		return nil, err
	}
	var before usage
	if weigh != nil {
		var err error
		if before, err = c.usage(ctx, true); err != nil {
			return nil, err
		}
	}
	clients, took, err := open(c.addr, hold, sessions, b.over)
	defer func() {
		for _, one := range clients {
			if one != nil {
				one.abort()
			}
		}
	}()
	if err != nil {
		return nil, err
	}
	if weigh != nil {
		after, err := c.usage(ctx, true)
		if err != nil {
			return nil, err
		}
		weigh(before, after)
	}
	if err := c.release(ctx, clients); err != nil {
		return nil, err
	}
	return took, each(c.removeAll)
}

// open opens one stream for each session, evenly spread over a time, and waits
// for their first events.
//
// The time to the first event counts from when the stream was due, not from
// when we came to open it: a server that holds us up must not profit from it.
func open(addr string, w workload, sessions []string, over time.Duration) ([]*client, []time.Duration, error) {
	clients := make([]*client, len(sessions))
	took := make([]time.Duration, len(sessions))
	errs := make([]error, len(sessions))
	var wg sync.WaitGroup
	start := time.Now()
	for i, session := range sessions {
		due := start.Add(over * time.Duration(i) / time.Duration(len(sessions)))
		time.Sleep(time.Until(due))
		wg.Go(func() {
			if clients[i], errs[i] = dial(addr); errs[i] == nil {
				errs[i] = clients[i].stream(w.request(session))
			}
			took[i] = time.Since(due)
		})
	}
	wg.Wait()
	return clients, took, errors.Join(errs...)
}

// percentile is in milliseconds.
func percentile(took []time.Duration, percent int) float64 {
	sorted := slices.Sorted(slices.Values(took))
	return float64(sorted[(len(sorted)-1)*percent/100]) / float64(time.Millisecond)
}

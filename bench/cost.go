package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// cost measures the CPU time that a server spends on a workload, beside the bare server, and
// beside another version of this program if there is one.
func cost(w workload) scenario {
	bare := costBeside(w, func(ctx context.Context, b *bench) (*child, error) { return b.start(ctx, kindBare, w, w.name) })
	same := w
	same.limit = 0
	before := costBeside(same, func(ctx context.Context, b *bench) (*child, error) {
		return b.startOn(ctx, place{program: b.before}, kindParley, w, w.name+"-before")
	})
	return scenario{w.name, func(ctx context.Context, b *bench) ([]result, error) {
		results, err := bare.run(ctx, b)
		if err != nil || b.before == "" {
			return results, err
		}
		others, err := before.run(ctx, b)
		for _, r := range others {
			r.Unit += ", to the other version"
			results = append(results, r)
		}
		return results, err
	}}
}

// extraCost measures the CPU time that a server spends on a workload, beside a server
// that does the same in another way.
func extraCost(w, plain workload) scenario {
	return costBeside(w, func(ctx context.Context, b *bench) (*child, error) {
		return b.start(ctx, kindParley, plain, w.name+"-"+plain.name)
	})
}

func costBeside(w workload, other func(context.Context, *bench) (*child, error)) scenario {
	return scenario{w.name, func(ctx context.Context, b *bench) ([]result, error) {
		both, stop, err := b.beside(ctx, w, w.name, func() (*child, error) { return other(ctx, b) })
		if err != nil {
			return nil, err
		}
		defer stop()
		var pools [2]pool
		for i, c := range both {
			if pools[i], err = newPool(c.addr, b.conns); err != nil {
				return nil, err
			}
			defer pools[i].Close()
		}
		if err := alike(both, pools, w); err != nil {
			return nil, err
		}
		var spent [2][]float64
		for round := range b.rounds + 1 {
			seconds, requests, err := b.round(ctx, both, pools, w, round)
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first one is to warm up
				for i := range seconds {
					spent[i] = append(spent[i], seconds[i]/float64(requests)*1000)
				}
			}
			b.logf("%s: round %d of %d: %s", w.name, round, b.rounds, lastOf(spent))
		}
		return []result{compared(w.name, "CPU s per 1000", spent[0], spent[1], w.limit)}, nil
	}}
}

// round is the CPU time that each server takes for a number of requests. They
// take turns every few milliseconds: other programs slow down both or none.
func (b *bench) round(ctx context.Context, both [2]*child, pools [2]pool, w workload, round int) (seconds [2]float64, requests int, err error) {
	turns := turnsPerSession
	if w.creates {
		turns = 1
	}
	requests = 2 * b.conns * turnsPerSession
	for slice := range b.slices {
		sessions := ids(fmt.Sprintf("round-%d-%d", round, slice), requests/turns)
		lists := make([][]request, len(sessions))
		for i := range requests {
			lists[i/turns] = append(lists[i/turns], w.request(sessions[i/turns]))
		}
		for i, c := range both {
			if !w.creates {
				if err := c.createAll(pools[i], w, sessions); err != nil {
					return seconds, 0, err
				}
			}
			spent, err := c.spend(ctx, func() error { return pools[i].do(lists) })
			if err := errors.Join(err, c.removeAll(pools[i], w, sessions)); err != nil {
				return seconds, 0, err
			}
			seconds[i] += spent
		}
	}
	return seconds, requests * b.slices, nil
}

// spend is the CPU time that the server spends while do runs.
func (c *child) spend(ctx context.Context, do func() error) (float64, error) {
	before, err := c.usage(ctx, false)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := c.usage(ctx, false)
	return after.CPU - before.CPU, err
}

// alike makes sure that the two servers do the same work: answers of one type,
// with as many events.
func alike(both [2]*child, pools [2]pool, w workload) error {
	const session = "alike"
	var shapes [2]string
	for i, p := range pools {
		if !w.creates {
			if err := both[i].createAll(p, w, []string{session}); err != nil {
				return err
			}
		}
		body, contentType, err := p[0].fetch(w.request(session))
		if err != nil {
			return err
		}
		shapes[i] = fmt.Sprintf("%s with %d events", contentType, bytes.Count(body, []byte(`"invocationId"`)))
		if err := both[i].removeAll(p, w, []string{session}); err != nil {
			return err
		}
	}
	if shapes[0] != shapes[1] {
		return fmt.Errorf("the servers do different things: %s, and %s", shapes[0], shapes[1])
	}
	return nil
}

// lastOf is the newest pair of figures, for people who wait.
func lastOf(figures [2][]float64) string {
	n := len(figures[0])
	if n == 0 {
		return "warm-up"
	}
	a, b := figures[0][n-1], figures[1][n-1]
	return fmt.Sprintf("%.4f to %.4f, %.2f times", a, b, a/b)
}

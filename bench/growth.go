package main

import (
	"context"
	"fmt"
)

// longSession compares turns of long sessions with turns of young ones, in the
// same process and with the same things in memory, so that only the length of
// the session differs.
func longSession(ctx context.Context, b *bench) ([]result, error) {
	const name = "long_session"
	c, err := b.start(ctx, kindParley, runTurn, name)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	p, err := newPool(c.addr, b.parallel)
	if err != nil {
		return nil, err
	}
	defer p.Close()

	long := ids("long", b.parallel)
	if err := c.createAll(p, runTurn, long); err != nil {
		return nil, err
	}
	each := b.window / b.parallel // turns of one session in one round
	// The rounds together lie around the turn that the scenario is about.
	if err := p.do(turns(long, b.grown-each*b.rounds/2)); err != nil {
		return nil, err
	}
	b.logf("%s: %d sessions have %d turns", name, b.parallel, b.grown-each*b.rounds/2)

	var spent [2][]float64
	for round := range b.rounds {
		// Twice as many sessions with half as many turns each, which lie
		// around the turn that is as far from the start.
		young := ids(fmt.Sprintf("young-%d", round), 2*b.parallel)
		if err := c.createAll(p, runTurn, young); err != nil {
			return nil, err
		}
		if err := p.do(turns(young, each/4)); err != nil {
			return nil, err
		}
		// A collection that falls among the long sessions' turns and not among
		// the others', or the reverse, would be all that one sees.
		if err := c.collect(ctx); err != nil {
			return nil, err
		}
		var seconds [2]float64
		for range parts { // they take turns, because other programs disturb
			for i, lists := range [2][][]request{turns(long, each/parts), turns(young, each/parts/2)} {
				one, err := c.spend(ctx, func() error { return p.do(lists) })
				if err != nil {
					return nil, err
				}
				seconds[i] += one
			}
		}
		for i := range seconds {
			spent[i] = append(spent[i], seconds[i]/float64(each*b.parallel)*1000)
		}
		if err := c.removeAll(p, runTurn, young); err != nil {
			return nil, err
		}
		b.logf("%s: round %d of %d: %s", name, round+1, b.rounds, lastOf(spent))
	}
	unit := fmt.Sprintf("CPU s per 1000, turn %d to %d", b.grown, each/2)
	return []result{compared(name, unit, spent[0], spent[1], limitGrowth)}, nil
}

// parts of a round of longSession. Twice that number must divide the turns of
// a session in a round.
const parts = 5

// turns are n messages to each of the sessions.
func turns(sessions []string, n int) [][]request {
	lists := make([][]request, len(sessions))
	for i, s := range sessions {
		one := runTurn.request(s)
		for range n {
			lists[i] = append(lists[i], one)
		}
	}
	return lists
}

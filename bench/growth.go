package main

import (
	"context"
	"fmt"
	"time"
)

// longSession compares turns of long sessions with turns of young ones, in the
// same process and with the same things in memory, so that only the length of
// the session differs.
func longSession(kind string, limit float64) scenario {
	return long("long_session", runTurn, kind, limit)
}

// longConversation is longSession with a model that is sent the whole conversation,
// and looks at the end of it only.
func longConversation(kind string) scenario {
	return long("long_conversation", runConversation, kind, limitGrowth)
}

// longAnswers is longConversation with a question in every turn, and an answer to it.
func longAnswers(kind string) scenario { return long("long_answers", runAnswers, kind, limitGrowth) }

func long(name string, w workload, kind string, limit float64) scenario {
	if kind != inMemory {
		name += "_" + kind
	}
	return scenario{name, func(ctx context.Context, b *bench) ([]result, error) {
		if kind != inMemory {
			// As many sessions as the cache in front of a database holds: what
			// happens to one that is not there is measured below.
			half := *b
			half.parallel, half.window = b.parallel/2, b.window/2
			b = &half
		}
		where, drop, err := b.place(ctx, kind)
		if err != nil {
			return nil, err
		}
		defer drop()
		c, err := b.startOn(ctx, where, kindParley, w, name)
		if err != nil {
			return nil, err
		}
		defer c.stop()
		// What a database does for a turn is in the elapsed time: its CPU time may be that
		// of another process. What a server derives from the log is in its own CPU time.
		stored := kind != inMemory && w.app == weatherApp
		unit, cost := "CPU s", c.spend
		if stored {
			unit, cost = "s", clock
		}
		spent, err := b.grow(ctx, c, w, name, cost)
		if err != nil {
			return nil, err
		}
		span := fmt.Sprintf("turn %d to %d", b.grown, b.early())
		results := []result{compared(name, unit+" per 1000, "+span, spent[0], spent[1], limit)}
		switch {
		case stored:
			spent, err = b.cold(ctx, where, c, w, name)
			unit = "ms, cold, " + span
		case w.app == talkApp && kind == inMemory:
			spent, err = b.encoding(ctx, c, w, name)
			unit = "CPU s per 1000 with an adapter's encoding, " + span
		default:
			return results, nil
		}
		if err != nil {
			return nil, err
		}
		return append(results, compared(name, unit, spent[0], spent[1], 0)), nil
	}}
}

// early is the turn of young sessions that the scenario compares with.
func (b *bench) early() int { return b.window / b.parallel }

// encoding is grow with a model that encodes requests as the adapter of a provider does.
// It is called after grow, whose long sessions it goes on with.
func (b *bench) encoding(ctx context.Context, c *child, w workload, name string) (spent [2][]float64, err error) {
	p, err := newPool(c.addr, b.parallel)
	if err != nil {
		return spent, err
	}
	defer p.Close()
	long, young := ids("long", b.parallel), ids("young-encoded", b.parallel)
	if err := c.createAll(p, w, young); err != nil {
		return spent, err
	}
	if err := p.do(turns(w, young, b.early())); err != nil {
		return spent, err
	}
	if err := c.ask(ctx, "/open", nil); err != nil {
		return spent, err
	}
	for range b.rounds {
		for i, sessions := range [2][]string{long, young} {
			one, err := c.spend(ctx, func() error { return p.do(turns(w, sessions, 1)) })
			if err != nil {
				return spent, err
			}
			spent[i] = append(spent[i], one/float64(b.parallel)*1000)
		}
	}
	b.logf("%s: with an adapter's encoding: %s", name, lastOf(spent))
	return spent, nil
}

// cold returns what the first turn costs in a server that has not seen the
// session before, in each round: of a long session and of a young one.
func (b *bench) cold(ctx context.Context, where place, c *child, w workload, name string) (took [2][]float64, err error) {
	p, err := newPool(c.addr, 1)
	if err != nil {
		return took, err
	}
	defer p.Close()
	if err := c.createAll(p, w, []string{"young", "warm"}); err != nil {
		return took, err
	}
	if err := p.do(turns(w, []string{"young"}, b.early())); err != nil {
		return took, err
	}
	for round := range b.rounds {
		if err := b.coldRound(ctx, where, w, name, &took); err != nil {
			return took, err
		}
		b.logf("%s: cold: round %d of %d: %s", name, round+1, b.rounds, lastOf(took))
	}
	return took, nil
}

func (b *bench) coldRound(ctx context.Context, where place, w workload, name string, took *[2][]float64) error {
	c, err := b.startOn(ctx, where, kindParley, w, name+"-cold")
	if err != nil {
		return err
	}
	defer c.stop()
	p, err := newPool(c.addr, 1)
	if err != nil {
		return err
	}
	defer p.Close()
	// What every server does for the first time is not what is measured.
	if err := p.do(turns(w, []string{"warm"}, turnsPerSession)); err != nil {
		return err
	}
	for i, session := range []string{"long-0", "young"} {
		one, err := clock(ctx, func() error { return p.do(turns(w, []string{session}, 1)) })
		if err != nil {
			return err
		}
		took[i] = append(took[i], one*1000)
	}
	return nil
}

// clock is child.spend for the time on the wall.
func clock(_ context.Context, do func() error) (float64, error) {
	began := time.Now()
	err := do()
	return time.Since(began).Seconds(), err
}

// grow returns what 1,000 turns cost in each round, of long sessions and of
// young ones.
func (b *bench) grow(ctx context.Context, c *child, w workload, name string, cost func(context.Context, func() error) (float64, error)) (spent [2][]float64, err error) {
	p, err := newPool(c.addr, b.parallel)
	if err != nil {
		return spent, err
	}
	defer p.Close()

	long := ids("long", b.parallel)
	if err := c.createAll(p, w, long); err != nil {
		return spent, err
	}
	each := b.window / b.parallel // turns of one session in one round
	// The rounds together lie around the turn that the scenario is about.
	if err := p.do(turns(w, long, b.grown-each*b.rounds/2)); err != nil {
		return spent, err
	}
	b.logf("%s: %d sessions have %d turns", name, b.parallel, b.grown-each*b.rounds/2)

	for round := range b.rounds {
		// Twice as many sessions with half as many turns each, which lie around
		// an early turn.
		young := ids(fmt.Sprintf("young-%d", round), 2*b.parallel)
		if err := c.createAll(p, w, young); err != nil {
			return spent, err
		}
		if err := p.do(turns(w, young, b.early()-each/4)); err != nil {
			return spent, err
		}
		// A collection that falls among the long sessions' turns and not among
		// the others', or the reverse, would be all that one sees.
		if err := c.collect(ctx); err != nil {
			return spent, err
		}
		var seconds [2]float64
		for range parts { // they take turns, because other programs disturb
			for i, lists := range [2][][]request{turns(w, long, each/parts), turns(w, young, each/parts/2)} {
				one, err := cost(ctx, func() error { return p.do(lists) })
				if err != nil {
					return spent, err
				}
				seconds[i] += one
			}
		}
		for i := range seconds {
			spent[i] = append(spent[i], seconds[i]/float64(each*b.parallel)*1000)
		}
		if err := c.removeAll(p, w, young); err != nil {
			return spent, err
		}
		b.logf("%s: round %d of %d: %s", name, round+1, b.rounds, lastOf(spent))
	}
	return spent, nil
}

// parts of a round of longSession. Twice that number must divide the turns of
// a session in a round.
const parts = 5

// turns are n messages to each of the sessions.
func turns(w workload, sessions []string, n int) [][]request {
	lists := make([][]request, len(sessions))
	for i, s := range sessions {
		if w.steps != nil {
			for range n {
				lists[i] = append(lists[i], w.steps(s)...)
			}
			continue
		}
		one := w.request(s)
		for range n {
			lists[i] = append(lists[i], one)
		}
	}
	return lists
}

package main

import (
	"context"
	"fmt"
)

// runSQLite compares the load of many clients on SQLite with the same load in
// memory, and with the same statements in a loop over the same driver.
func runSQLite(ctx context.Context, b *bench) ([]result, error) {
	const name = "run_sqlite"
	p, err := b.pairOn(ctx, inSQLite, name)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	loop, err := newSQLiteLoop(ctx, b)
	if err != nil {
		return nil, err
	}
	defer loop.Close()
	var stored, memory, grouped, single []float64
	for round := range b.rounds + 1 {
		prefix := fmt.Sprintf("round-%d", round)
		one, two := p.stored.talk(prefix), p.memory.talk(prefix)
		three, err := loop.runs(ctx, b.clients*sessionsEach*turnsPerSession, b.clients)
		if err != nil {
			return nil, err
		}
		four, err := loop.runs(ctx, b.clients*turnsPerSession/2, 1)
		if err != nil {
			return nil, err
		}
		b.logf("%s: round %d of %d: %.0f runs/s, in memory %.0f, bare loop %.0f, with a commit for each %.0f", name, round, b.rounds, one, two, three, four)
		if round > 0 { // the first one is to warm up
			stored, memory, grouped, single = append(stored, one), append(memory, two), append(grouped, three), append(single, four)
		}
	}
	return []result{
		rates(name, "runs/s, to a bare loop with group commits", stored, grouped, floorStored),
		rates(name, "runs/s, to a bare loop that commits each", stored, single, 0),
		rates(name, "runs/s, to memory", stored, memory, 0),
		p.stored.faults(name, b),
	}, nil
}

// runPostgres compares the load of many clients on Postgres with the same load
// in memory, and with the same statements sent by pgbench.
func runPostgres(ctx context.Context, b *bench) ([]result, error) {
	const name = "run_postgres"
	p, err := b.pairOn(ctx, inPostgres, name)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	loop, err := newPgbench(ctx, b)
	if err != nil {
		return nil, err
	}
	defer loop.Close()
	var stored, memory, other []float64
	for round := range b.rounds + 1 {
		prefix := fmt.Sprintf("round-%d", round)
		one, two := p.stored.talk(prefix), p.memory.talk(prefix)
		three, err := loop.runs(ctx, b.clients*sessionsEach*turnsPerSession)
		if err != nil {
			return nil, err
		}
		b.logf("%s: round %d of %d: %.0f runs/s, in memory %.0f, pgbench %.0f", name, round, b.rounds, one, two, three)
		if round > 0 { // the first one is to warm up
			stored, memory, other = append(stored, one), append(memory, two), append(other, three)
		}
	}
	p.storedOn.stop() // what it has done is counted when its connections end
	each, err := transactions(ctx, b, p.place, p.stored)
	if err != nil {
		return nil, err
	}
	return []result{
		rates(name, "runs/s, to pgbench with the same statements", stored, other, floorStored),
		rates(name, "runs/s, to memory", stored, memory, 0),
		{Scenario: name, Unit: "transactions a run, with all upkeep", Parley: each, ValueLimit: limitTransactions},
		p.stored.faults(name, b),
	}, nil
}

// stores are two servers, one with a database and one without, each with a
// crowd.
type stores struct {
	place              place
	storedOn, memoryOn *child
	stored, memory     *crowd
	stop               func()
}

func (b *bench) pairOn(ctx context.Context, kind, scenario string) (*stores, error) {
	where, drop, err := b.place(ctx, kind)
	if err != nil {
		return nil, err
	}
	s := &stores{place: where}
	s.stop = func() {
		for _, c := range []*crowd{s.stored, s.memory} {
			if c != nil {
				c.Close()
			}
		}
		for _, c := range []*child{s.storedOn, s.memoryOn} {
			if c != nil {
				c.stop()
			}
		}
		drop()
	}
	if s.storedOn, err = b.startOn(ctx, where, kindParley, runTurn, scenario); err == nil {
		s.memoryOn, err = b.start(ctx, kindParley, runTurn, scenario+"-"+inMemory)
	}
	if err == nil {
		s.stored, err = newCrowd([]*child{s.storedOn}, b.clients)
	}
	if err == nil {
		s.memory, err = newCrowd([]*child{s.memoryOn}, b.clients)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

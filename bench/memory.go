package main

import (
	"context"
	"fmt"
)

// sessionsPerUser is how many sessions a user of idleSessions has.
const sessionsPerUser = 10

// idleSessions measures the memory of an unused session.
func idleSessions(ctx context.Context, b *bench) ([]result, error) {
	const name = "idle_sessions"
	c, err := b.start(ctx, kindParley, createSession, name)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	// What the first requests leave behind is not the sessions'.
	if err := b.createFor(c, "warm", b.conns*sessionsPerUser); err != nil {
		return nil, err
	}
	before, err := c.usage(ctx, true)
	if err != nil {
		return nil, err
	}
	if err := b.createFor(c, "user", b.idle); err != nil {
		return nil, err
	}
	after, err := c.usage(ctx, true)
	if err != nil {
		return nil, err
	}
	each := float64(after.Live-before.Live) / float64(b.idle)
	b.logf("%s: %d sessions, %.0f bytes each", name, b.idle, each)
	return []result{{
		Scenario: name, Unit: "bytes of live heap", Parley: each, ValueLimit: limitIdle,
	}}, nil
}

// createFor makes n sessions of as many users as it takes, over connections of
// its own.
func (b *bench) createFor(c *child, users string, n int) error {
	p, err := newPool(c.addr, b.conns)
	if err != nil {
		return err
	}
	defer p.Close()
	var lists [][]request
	for i := range n {
		owner, session := fmt.Sprintf("%s-%d", users, i/sessionsPerUser), fmt.Sprintf("0190a7c4-5a5b-7c3e-8f00-%012d", i)
		lists = append(lists, []request{create(weatherApp, owner, session)})
	}
	return p.do(lists)
}

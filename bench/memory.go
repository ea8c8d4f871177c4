package main

import (
	"context"
	"fmt"
	"time"
)

// sessionsPerUser is how many sessions a user of idleSessions has.
const sessionsPerUser = 10

// idleSessions measures the memory of sessions that are not used for a minute: without a
// turn, and with one.
func idleSessions(ctx context.Context, b *bench) ([]result, error) {
	const name = "idle_sessions"
	c, err := b.start(ctx, kindParley, createSession, name)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	// What the first requests leave behind is not the sessions'.
	for _, r := range []func(owner, session string) request{b.createIdle, b.turnIdle} {
		if err := b.forIdle(c, "warm", b.conns*sessionsPerUser, r); err != nil {
			return nil, err
		}
	}
	before, err := c.usage(ctx, true)
	if err != nil {
		return nil, err
	}
	var live, resident [2]float64
	var stored [2]int // bytes of one of them as a client gets it
	for i, r := range []func(owner, session string) request{b.createIdle, b.turnIdle} {
		if err := b.forIdle(c, "user", b.idle, r); err != nil {
			return nil, err
		}
		if stored[i], err = b.stored(c); err != nil {
			return nil, err
		}
		select {
		case <-time.After(b.rest):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now, err := c.usage(ctx, false)
		if err != nil {
			return nil, err
		}
		resident[i] = float64(now.RSS) / (1 << 20)
		if now, err = c.usage(ctx, true); err != nil {
			return nil, err
		}
		live[i] = float64(now.Live-before.Live) / float64(b.idle)
		b.logf("%s: %d sessions with %d turns: %.0f bytes each, %.0f MB resident", name, b.idle, i, live[i], resident[i])
	}
	limit := 0.0
	if b.idle == full.idle {
		limit = limitIdleResident
	}
	count := fmt.Sprintf("%d sessions after %v", b.idle, b.rest)
	return []result{
		{Scenario: name, Unit: "bytes of live heap", Parley: live[0], ValueLimit: limitIdle},
		{Scenario: name, Unit: "MB resident, " + count, Parley: resident[0], ValueLimit: limit},
		{Scenario: name, Unit: "bytes of live heap for a turn, beside its events", Parley: max(0, live[1]-live[0]-float64(stored[1]-stored[0])), ValueLimit: limitTurn},
		{Scenario: name, Unit: "MB resident, with a turn, " + count, Parley: resident[1]},
	}, nil
}

func (*bench) createIdle(owner, session string) request { return create(weatherApp, owner, session) }

func (*bench) turnIdle(owner, session string) request {
	return request{"POST", "/run", fmt.Appendf(nil,
		`{"appName":%q,"userId":%q,"sessionId":%q,"newMessage":{"role":"user","parts":[{"text":"What is the weather in Paris?"}]}}`, weatherApp, owner, session)}
}

// forIdle sends a request for each of n sessions, of as many users as it takes, over
// connections of its own.
func (b *bench) forIdle(c *child, users string, n int, one func(owner, session string) request) error {
	p, err := newPool(c.addr, b.conns)
	if err != nil {
		return err
	}
	defer p.Close()
	var lists [][]request
	for i := range n {
		lists = append(lists, []request{one(idleSession(users, i))})
	}
	return p.do(lists)
}

// idleSession returns the user and the name of a session.
func idleSession(users string, i int) (owner, session string) {
	return fmt.Sprintf("%s-%d", users, i/sessionsPerUser), fmt.Sprintf("0190a7c4-5a5b-7c3e-8f00-%012d", i)
}

// stored returns the size of the first session as a client gets it.
func (b *bench) stored(c *child) (int, error) {
	one, err := dial(c.addr)
	if err != nil {
		return 0, err
	}
	defer one.Close()
	owner, session := idleSession("user", 0)
	body, _, err := one.fetch(request{"GET", sessionPath(weatherApp, owner, session), nil})
	return len(body), err
}

package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is many clients at once, of one server or of several that share a
// database. Unlike a pool it continues after an error, and counts.
type crowd struct {
	clients  pool
	runs     int
	sessions int
	errs     atomic.Int64
	first    atomic.Pointer[error] // of them
}

// newCrowd connects clients to servers by turns.
func newCrowd(servers []*child, clients int) (*crowd, error) {
	c := &crowd{}
	for i := range clients {
		one, err := dial(servers[i%len(servers)].addr)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.clients = append(c.clients, one)
	}
	return c, nil
}

func (c *crowd) Close() { c.clients.Close() }

// sessionsEach is how many conversations a client of a crowd has in one round,
// one after the other.
const sessionsEach = 2

// talk has every client have its conversations, and returns how many runs there
// were in a second. Making the sessions is not part of it.
func (c *crowd) talk(prefix string) float64 {
	create, talk := make([][]request, len(c.clients)), make([][]request, len(c.clients))
	for i := range c.clients {
		for j := range sessionsEach {
			session := fmt.Sprintf("%s-%d-%d", prefix, i, j)
			create[i] = append(create[i], createSession.request(session))
			for range turnsPerSession {
				talk[i] = append(talk[i], runTurn.request(session))
			}
		}
	}
	c.each(create)
	began := time.Now()
	c.each(talk)
	took := time.Since(began)
	runs := len(c.clients) * sessionsEach * turnsPerSession
	c.runs += runs
	c.sessions += len(c.clients) * sessionsEach
	return float64(runs) / took.Seconds()
}

// each has every client send its list.
func (c *crowd) each(lists [][]request) {
	var wg sync.WaitGroup
	for i := range c.clients {
		wg.Go(func() {
			for _, r := range lists[i] {
				if err := c.clients[i].do(r); err != nil {
					c.fail(i, err)
				}
			}
		})
	}
	wg.Wait()
}

// fail counts an error, and gives the client a new connection.
func (c *crowd) fail(i int, err error) {
	c.errs.Add(1)
	c.first.CompareAndSwap(nil, &err)
	c.clients[i].Close()
	if again, err := dial(c.clients[i].addr); err == nil {
		c.clients[i] = again
	}
}

// faults returns the entry of the report about errors.
func (c *crowd) faults(scenario string, b *bench) result {
	if err := c.first.Load(); err != nil {
		b.logf("%s: %d errors, the first: %v", scenario, c.errs.Load(), *err)
	}
	return result{
		Scenario: scenario, Unit: fmt.Sprintf("errors in %d runs, %d clients", c.runs, len(c.clients)),
		Parley: float64(c.errs.Load()), MustBeZero: true,
	}
}

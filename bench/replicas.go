package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// replicas measures how many runs one server, and three, complete in a second
// with one database. All of them share the processors of this machine, with the
// database and with the clients.
func replicas(ctx context.Context, b *bench) ([]result, error) {
	const name, many = "replicas", 3
	where, drop, err := b.place(ctx, inPostgres)
	if err != nil {
		return nil, err
	}
	defer drop()
	var servers []*child
	for i := range many {
		c, err := b.startOn(ctx, where, kindParley, runTurn, fmt.Sprintf("%s-%d", name, i))
		if err != nil {
			return nil, err
		}
		defer c.stop()
		servers = append(servers, c)
	}
	var crowds [2]*crowd
	var done [2][]float64
	for i, among := range [2][]*child{servers, servers[:1]} {
		if crowds[i], err = newCrowd(among, b.clients); err != nil {
			return nil, err
		}
		defer crowds[i].Close()
	}
	for round := range b.rounds + 1 {
		for i, c := range crowds {
			rate := c.talk(fmt.Sprintf("round-%d-%d", round, i))
			if round > 0 { // the first one is to warm up
				done[i] = append(done[i], rate)
			}
		}
		b.logf("%s: round %d of %d: %s", name, round, b.rounds, lastOf(done))
	}
	return []result{
		rates(name, "runs/s, three replicas to one", done[0], done[1], 0),
		crowds[0].faults(name, b),
		crowds[1].faults(name, b),
	}, nil
}

// takeover measures how long it takes until a run continues whose server was
// killed: from the kill to its next event, as a client sees it who follows the
// run at the other server.
func takeover(ctx context.Context, b *bench) ([]result, error) {
	const name = "takeover"
	where, drop, err := b.place(ctx, inPostgres)
	if err != nil {
		return nil, err
	}
	defer drop()
	where.lease = b.lease
	survivor, err := b.startOn(ctx, where, kindParley, block, name)
	if err != nil {
		return nil, err
	}
	defer survivor.stop()
	if err := survivor.ask(ctx, "/open", nil); err != nil {
		return nil, err
	}
	var took []float64
	for round := range b.rounds {
		one, err := b.takeOver(ctx, where, survivor, fmt.Sprintf("%s-%d", name, round))
		if err != nil {
			return nil, err
		}
		took = append(took, one.Seconds()*1000)
		b.logf("%s: round %d of %d: %v", name, round+1, b.rounds, one)
	}
	limit := float64((b.lease + time.Second).Milliseconds())
	worst := 0.0
	for _, one := range took {
		worst = max(worst, one)
	}
	lease := fmt.Sprintf("lease %v", b.lease)
	return []result{
		{Scenario: name, Unit: "ms to the next event, " + lease, Parley: median(took), ValueLimit: limit},
		{Scenario: name, Unit: fmt.Sprintf("ms, the longest of %d", len(took)), Parley: worst, ValueLimit: limit},
	}, nil
}

// takeOver kills a server in the middle of a run.
func (b *bench) takeOver(ctx context.Context, where place, survivor *child, session string) (time.Duration, error) {
	victim, err := b.startOn(ctx, where, kindParley, block, "takeover-killed")
	if err != nil {
		return 0, err
	}
	defer victim.stop()
	asked, err := dial(victim.addr)
	if err != nil {
		return 0, err
	}
	defer asked.abort()
	if err := asked.do(create(blockApp, user, session)); err != nil {
		return 0, err
	}
	path := sessionPath(blockApp, user, session) + "/runs"
	body, _, err := asked.fetch(request{"POST", path, []byte(`{"newMessage":{"role":"user","parts":[{"text":"What is the weather in Paris?"}]}}`)})
	if err != nil {
		return 0, err
	}
	var run struct{ ID string }
	if err := json.Unmarshal(body, &run); err != nil {
		return 0, err
	}
	follower, err := dial(survivor.addr)
	if err != nil {
		return 0, err
	}
	defer follower.abort()
	resp, err := follower.send(request{"GET", path + "/" + run.ID + "/events", nil}) //nolint:bodyclose // to close it would be to wait for its end
	if err != nil {
		return 0, err
	}
	stream := bufio.NewReader(resp.Body)
	if err := readUntil(stream, `"functionCall"`); err != nil {
		return 0, err
	}
	if err := victim.kill(); err != nil {
		return 0, err
	}
	killed := time.Now()
	err = readUntil(stream, `"functionResponse"`)
	return time.Since(killed), err
}

// readUntil reads until the end of a line that contains words. One reader
// serves all calls for a stream: what a call has not used is left in it.
func readUntil(from *bufio.Reader, words string) error {
	for {
		line, err := from.ReadString('\n')
		if strings.Contains(line, words) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the stream ended before %s: %w", words, err)
		}
	}
}

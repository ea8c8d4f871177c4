package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/session"
)

// dueSchedules measures how long clients wait for the first event of their runs while
// many schedules are due at the same time, and while none are.
func dueSchedules(ctx context.Context, b *bench) ([]result, error) {
	var results []result
	for _, kind := range []string{inSQLite, inPostgres} {
		some, err := b.dueOn(ctx, kind)
		if errors.Is(err, errNoPostgres) {
			b.logf("due_schedules: Postgres is left out: %v", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		results = append(results, some...)
	}
	return results, nil
}

func (b *bench) dueOn(ctx context.Context, kind string) ([]result, error) {
	const name = "due_schedules"
	// One with schedules and one without. Only one of them works at a time.
	var servers [2]*child
	var places [2]place
	for i := range servers {
		where, drop, err := b.place(ctx, kind)
		if err != nil {
			return nil, err
		}
		defer drop()
		if servers[i], err = b.startOn(ctx, where, kindParley, runSSE, fmt.Sprintf("%s-%s-%d", name, kind, i)); err != nil {
			return nil, err
		}
		defer servers[i].stop()
		places[i] = where
	}
	store, err := places[0].store(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	for i, c := range servers {
		if _, err := b.asks(ctx, c, fmt.Sprintf("warm-%d", i)); err != nil {
			return nil, err
		}
	}
	if err := putDue(ctx, store.Schedules, b.due); err != nil {
		return nil, err
	}
	began := time.Now()
	var still time.Duration
	// How long a disk or a host takes for one run in a hundred differs from second to
	// second, often more than what is measured here. So rounds are short and many, the
	// two take turns at being the first, and the limit is that of their median.
	rounds := 3 * b.rounds
	var late [2][]float64
	var all [2][]time.Duration
	for round := range rounds {
		for turn := range servers {
			i := (round + turn) % 2
			if i == 1 {
				if err := suspend(servers[0].cmd.Process, true); err != nil {
					return nil, err
				}
			}
			stopped := time.Now()
			took, err := b.asks(ctx, servers[i], fmt.Sprintf("round-%d", round))
			if i == 1 {
				if err := suspend(servers[0].cmd.Process, false); err != nil {
					return nil, err
				}
				still += time.Since(stopped)
			}
			if err != nil {
				return nil, err
			}
			late[i] = append(late[i], percentile(took, 99))
			all[i] = append(all[i], took...)
		}
		b.logf("%s: %s, round %d of %d: %s", name, kind, round+1, rounds, lastOf(late))
	}
	worked := time.Since(began) - still
	fired, err := countFired(ctx, store.Schedules, b.due)
	if err != nil {
		return nil, err
	}
	b.logf("%s: %s: %d of %d schedules have started their runs in %v", name, kind, fired, b.due, worked.Round(time.Second))
	ofAll := func(p int) result {
		with, without := percentile(all[0], p), percentile(all[1], p)
		return result{
			Scenario: name, Unit: fmt.Sprintf("ms to the first event, %dth percentile of all rounds, %s", p, kind),
			Parley: with, Baseline: without, Ratio: with / without,
		}
	}
	return []result{
		compared(name, "ms to the first event, 99th percentile, "+kind, late[0], late[1], limitDue),
		ofAll(50),
		ofAll(99),
		{Scenario: name, Unit: "scheduled runs/s, " + kind, Parley: float64(fired) / worked.Seconds()},
	}, nil
}

// asks starts runs, evenly spread over a time, and returns how long each took to its
// first event.
func (b *bench) asks(ctx context.Context, c *child, prefix string) ([]time.Duration, error) {
	sessions := ids(prefix, b.asked)
	p, err := newPool(c.addr, b.conns)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := c.createAll(p, runSSE, sessions); err != nil {
		return nil, err
	}
	clients, took, err := open(c.addr, runSSE, sessions, b.asking)
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
	return took, errors.Join(drain(clients), ctx.Err())
}

// dueUsers is how many users have these schedules.
const dueUsers = 500

func dueUser(i int) string { return fmt.Sprintf("due-%d", i%dueUsers) }

// putDue stores schedules that are due at the same time, and waits for it.
func putDue(ctx context.Context, to session.Schedules, n int) error {
	doc, err := json.Marshal(schedule.Spec{
		Cron: "* * * * *", End: time.Now(), Message: event.Text(event.RoleUser, "What is the weather in Paris?"),
		Missed: schedule.All,
	})
	if err != nil {
		return err
	}
	// As long as they take to be stored, on any machine; then they are due at once.
	due := time.Now().Add(time.Duration(n) * 2 * time.Millisecond).Truncate(time.Second)
	const writers = 16
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += writers {
				errs[w] = to.PutSchedule(ctx, &session.Schedule{App: weatherApp, User: dueUser(i), ID: fmt.Sprint("s", i), JSON: doc, Next: due})
			}
		})
	}
	wg.Wait()
	time.Sleep(time.Until(due))
	return errors.Join(errs...)
}

// countFired counts the schedules that have started their run.
func countFired(ctx context.Context, of session.Schedules, n int) (fired int, err error) {
	for i := range min(n, dueUsers) {
		list, err := of.ListSchedules(ctx, weatherApp, dueUser(i))
		if err != nil {
			return 0, err
		}
		for _, one := range list {
			if one.Next.IsZero() {
				fired++
			}
		}
	}
	return fired, nil
}

//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
)

// Every schedule starts a run for each of its times, exactly once and as its policy
// says, whatever becomes of the servers and the database in an hour. The hour is
// simulated: the clock of the schedules is faster than that of the database.
func TestSchedules(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, args ...string) *world{
		"postgres": func(t *testing.T, args ...string) *world {
			t.Helper()
			server, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true}) // not the shared one, which stays up
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Close(); err != nil {
					t.Error(err)
				}
			})
			return newWorld(t, server.URL(), server, 3, 0, args...)
		},
		"sqlite": func(t *testing.T, args ...string) *world {
			t.Helper()
			return newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "sessions.db"), nil, 1, 0, args...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count, hour := 54, 45*time.Second
			if *long {
				count, hour = 1000, max(*duration, time.Minute)
			}
			p := &planned{began: time.Now().Truncate(time.Second), factor: int(time.Hour / hour)}
			// The lease of a claim is short, so that servers that stand still lose theirs. That
			// of runs does not matter here.
			const lease = 2 * time.Second
			p.world = start(t, "--schedule_clock", fmt.Sprintf("%d,%d,%v", p.began.Unix(), p.factor, lease), "--lease", "5s")
			t.Logf("seed %d, %d schedules, an hour takes %v", p.seed, count, hour)
			p.create(count)
			p.disturb(lease)
			close(p.calm)
			store := p.open()
			p.finish(store)
			p.check(store)
		})
	}
}

// planned are the schedules of a test.
type planned struct {
	*world
	began  time.Time // when the clock of the schedules and that of the database show the same
	factor int       // how much faster the former is
	hour   time.Time // when the hour begins, by the clock of the schedules

	schedules []*planning
}

// planning is a schedule, and when it is due.
type planning struct {
	user, id string
	app      string
	body     map[string]any
	missed   schedule.Missed
	grace    time.Duration
	// times returns when it is due after its creation.
	times func(created time.Time) []time.Time
}

// shown returns the time of schedules for one of the database.
func (p *planned) shown(t time.Time) time.Time {
	return p.began.Add(t.Sub(p.began) * time.Duration(p.factor))
}

// plan makes schedules of every kind: when they are due, what becomes of missed times,
// and which session they have.
func (p *planned) plan(i int) *planning {
	random := p.random(fmt.Sprint("schedule", i))
	end := p.hour.Add(time.Hour)
	one := &planning{app: "solo", user: fmt.Sprintf("user%d", i%20), id: fmt.Sprintf("s%d", i), grace: schedule.DefaultGrace}
	one.body = map[string]any{"id": one.id, "newMessage": map[string]any{"parts": []any{map[string]any{"text": fmt.Sprintf("u%d / ", i)}}}}
	kind, rest := i%3, i/3
	switch kind {
	case 0:
		every := []int{7, 10, 15, 20}[random.IntN(4)]
		// Minutes differ in zones whose offset is not whole hours.
		name := []string{"UTC", "Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu"}[random.IntN(4)]
		zone, err := time.LoadLocation(name)
		if err != nil {
			p.Fatal(err)
		}
		one.body["cron"], one.body["timeZone"], one.body["endAt"] = fmt.Sprintf("*/%d * * * *", every), name, end
		one.times = func(created time.Time) (list []time.Time) {
			for t := created.Truncate(time.Minute); !t.After(end); t = t.Add(time.Minute) {
				if t.After(created) && t.In(zone).Minute()%every == 0 {
					list = append(list, t)
				}
			}
			return list
		}
	case 1:
		every := time.Duration(300+random.IntN(900)) * time.Second
		one.body["intervalSeconds"], one.body["endAt"] = every/time.Second, end
		one.times = func(created time.Time) (list []time.Time) {
			for t := created.Add(every).Truncate(time.Second); !t.After(end); t = t.Add(every) {
				list = append(list, t)
			}
			return list
		}
	case 2:
		at := p.hour.Add(20*time.Minute + time.Duration(random.IntN(2400))*time.Second)
		one.body["at"] = at
		one.times = func(created time.Time) []time.Time {
			if !at.After(created) {
				return nil
			}
			return []time.Time{at}
		}
	}
	one.missed = []schedule.Missed{schedule.Skip, schedule.Once, schedule.All}[rest%3]
	one.body["missed"] = one.missed
	if rest/3%2 == 0 {
		one.body["sessionId"] = one.id
	}
	if rest/6%3 > 0 {
		one.grace = 4 * time.Minute
		one.body["missedAfterSeconds"] = one.grace / time.Second
	}
	return one
}

// create creates schedules. What comes too late for one has no schedule.
func (p *planned) create(count int) {
	p.Helper()
	p.hour = p.shown(time.Now()).Truncate(time.Second)
	var wg sync.WaitGroup
	var mu sync.Mutex
	const clients = 8
	for c := range clients {
		client := &client{world: p.world, name: fmt.Sprint("creator", c), random: p.random(fmt.Sprint("creator", c))}
		wg.Go(func() {
			for i := c; i < count; i += clients {
				one := p.plan(i)
				body, err := json.Marshal(one.body)
				if err != nil {
					p.Error(err)
					return
				}
				status, got := client.insist(http.MethodPost, "/apps/"+one.app+"/users/"+one.user+"/schedules", body, nil)
				switch {
				case status == http.StatusUnprocessableEntity && strings.Contains(string(got), "never due"):
					continue // its only time has passed
				case status != http.StatusCreated && status != http.StatusConflict: // after a lost answer
					p.Errorf("creating a schedule: status %d: %s", status, got)
				}
				mu.Lock()
				p.schedules = append(p.schedules, one)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// disturb does what happens to servers in an hour, and once has none of them run for
// several minutes of it.
func (p *planned) disturb(lease time.Duration) {
	random := p.random("disturbance")
	first, last := p.replicas[0], p.replicas[len(p.replicas)-1]
	p.until(10 * time.Minute)
	p.did("%s: SIGSTOP past the lease", last.name)
	last.signal(syscall.SIGSTOP)
	time.Sleep(2 * lease)
	last.signal(syscall.SIGCONT)
	p.did("%s: kill -9", first.name)
	first.kill()
	p.launch(first)
	if p.server != nil {
		p.hurtDatabase(random)
	}
	if *long {
		p.tormentFor(*duration / 3)
	}
	p.until(30 * time.Minute)
	p.did("no server runs")
	for _, r := range p.replicas {
		r.kill()
	}
	time.Sleep(15 * time.Minute / time.Duration(p.factor))
	for _, r := range p.replicas {
		p.launch(r)
	}
	if *long {
		p.tormentFor(*duration / 6)
	}
}

// until waits until so much of the hour has passed.
func (p *planned) until(d time.Duration) {
	time.Sleep(p.hour.Add(d).Sub(p.shown(time.Now())) / time.Duration(p.factor))
}

// finish waits until no schedule is due any more, and no run is active.
func (p *planned) finish(store session.Store) {
	p.Helper()
	for end := time.Now().Add(time.Hour/time.Duration(p.factor) + quiet); ; time.Sleep(100 * time.Millisecond) {
		var open []string
		for _, one := range p.schedules {
			stored, err := store.Schedules.Schedule(p.Context(), one.app, one.user, one.id)
			if err != nil {
				p.Fatalf("the schedule %s was acknowledged: %v", one.id, err)
			}
			if !stored.Next.IsZero() {
				open = append(open, fmt.Sprintf("%s is due at %v", one.id, p.shown(stored.Next)))
			}
		}
		if len(open) == 0 {
			break
		}
		if time.Now().After(end) {
			p.Fatalf("schedules have not fired at %v:\n%s", p.shown(time.Now()), strings.Join(open, "\n"))
		}
	}
	for _, key := range p.sessions(store) {
		p.conversations = append(p.conversations, &conversation{key: key})
	}
	p.settle(store)
	for _, r := range p.replicas {
		r.terminate()
	}
}

// sessions are those of all users.
func (p *planned) sessions(store session.Store) (keys []session.Key) {
	p.Helper()
	users := map[string]bool{}
	for _, one := range p.schedules {
		if users[one.user] {
			continue
		}
		users[one.user] = true
		list, _, err := store.List(p.Context(), one.app, one.user, session.Page{})
		if err != nil {
			p.Fatal(err)
		}
		for _, s := range list {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// firing is what a schedule has at a time.
type firing struct {
	schedule.Firing
	time time.Time
	run  *session.Run // nil if it has none
}

// check compares the runs of all sessions and the firings of all schedules with when
// these were due.
func (p *planned) check(store session.Store) {
	p.Helper()
	runs := map[string]*session.Run{}    // all that there are
	messages := map[string][]string{}    // their ids, by schedule and time
	unnoted := map[string]*session.Run{} // without a firing
	for _, conv := range p.conversations {
		list, _, err := store.ListRuns(p.Context(), conv.key, session.Page{})
		if err != nil {
			p.Fatal(err)
		}
		for _, r := range list {
			runs[r.ID], unnoted[r.ID] = r, r
		}
		p.readMessages(store, conv.key, messages)
	}
	counts := map[string]int{}
	for _, one := range p.schedules {
		fired := p.fired(store, one)
		for _, f := range fired {
			counts[f.Outcome]++
			name := one.user + " " + one.id + " " + f.time.UTC().Format(time.RFC3339Nano)
			said := messages[name]
			delete(messages, name)
			if f.Outcome != schedule.Started {
				p.stale(name, f, said, runs)
				for _, id := range said {
					delete(unnoted, id)
				}
				continue
			}
			f.run = runs[f.Run]
			delete(unnoted, f.Run)
			switch {
			case f.run == nil || f.run.Key.ID != f.Session:
				p.Errorf("%s: its run %s is not in the session %s", name, f.Run, f.Session)
			case f.run.First == 0 && len(said) == 0: // it has failed before it began
				counts["without a message"]++
			case len(said) != 1 || said[0] != f.Run:
				p.Errorf("%s: has started %v, want only %s", name, said, f.Run)
			}
		}
		p.judge(one, p.created(store, one), fired)
	}
	for name, said := range messages {
		p.Errorf("%s: has started %v, and no firing says so", name, said)
	}
	for id, r := range unnoted {
		p.Errorf("the run %s of %v belongs to no firing", id, r.Key)
	}
	p.Logf("%d schedules, %d sessions, %d runs, %v", len(p.schedules), len(p.conversations), len(runs), counts)
	if len(p.schedules) == 0 || counts[schedule.Started] < len(p.schedules)/2 {
		p.Errorf("the outcomes are %v: an hour has more of them", counts)
	}
}

// stale looks at the runs of a firing that should have none. There may be one, of a
// server that stood still between its claim and the start, while another claimed the
// schedule and found that the time was missed.
func (p *planned) stale(name string, f *firing, said []string, runs map[string]*session.Run) {
	p.Helper()
	if len(said) == 0 {
		return
	}
	if r := runs[said[0]]; len(said) == 1 && f.Outcome == schedule.Passed && r != nil && p.shown(r.Created).After(f.At) {
		p.Logf("%s: is missed, and was started afterwards by a server that stood still", name)
		return
	}
	p.Errorf("%s: is %s at %v, and has started %v", name, f.Outcome, f.At, said)
}

// readMessages adds the runs whose message is of a schedule.
func (p *planned) readMessages(store session.Store, key session.Key, to map[string][]string) {
	s, err := store.Get(p.Context(), key, session.Read{})
	if err != nil {
		p.Fatal(err)
	}
	for _, e := range s.Entries {
		var ev struct {
			Author         string
			InvocationID   string
			CustomMetadata struct {
				Schedule *struct{ ID, Time string } `json:"parley:schedule"`
			}
		}
		if err := json.Unmarshal(e.JSON, &ev); err != nil {
			p.Fatal(err)
		}
		if ev.Author != "user" {
			continue
		}
		mark := ev.CustomMetadata.Schedule
		if mark == nil {
			p.Errorf("%v has a message without a schedule: %s", key, e.JSON)
			continue
		}
		name := key.User + " " + mark.ID + " " + mark.Time
		to[name] = append(to[name], ev.InvocationID)
	}
}

// fired are the firings of a schedule in order.
func (p *planned) fired(store session.Store, one *planning) (list []*firing) {
	p.Helper()
	stored, err := store.Schedules.Firings(context.WithoutCancel(p.Context()), one.app, one.user, one.id)
	if err != nil {
		p.Fatal(err)
	}
	for _, f := range slices.Backward(stored) {
		next := &firing{time: f.Time}
		if err := json.Unmarshal(f.JSON, &next.Firing); err != nil {
			p.Fatal(err)
		}
		list = append(list, next)
	}
	return list
}

// created is when a schedule was created, by the clock of schedules.
func (p *planned) created(store session.Store, one *planning) time.Time {
	p.Helper()
	stored, err := store.Schedules.Schedule(p.Context(), one.app, one.user, one.id)
	if err != nil {
		p.Fatal(err)
	}
	var spec schedule.Spec
	if err := json.Unmarshal(stored.JSON, &spec); err != nil {
		p.Fatal(err)
	}
	return spec.Created
}

// judge looks whether a schedule has fired at each of its times, as its policy says.
func (p *planned) judge(one *planning, created time.Time, fired []*firing) {
	p.Helper()
	rest := one.times(created)
	after := func(t time.Time) {
		for len(rest) > 0 && !rest[0].After(t) {
			rest = rest[1:]
		}
	}
	var story []string
	for i, f := range fired {
		story = append(story, fmt.Sprintf("%v %s at %v", f.time.UTC().Format(time.TimeOnly), f.Outcome, f.At.UTC().Format(time.TimeOnly)))
		if len(rest) == 0 || !rest[0].Equal(f.time) {
			p.Errorf("%s/%s (%v): firing %d is of %v, want one of %v:\n%s", one.user, one.id, one.body, i, f.time, rest[:min(len(rest), 1)], strings.Join(story, "\n"))
			return
		}
		late := f.At.Sub(f.time) > one.grace
		// A run that was there before the claim was started in time, by a server that could
		// not store the firing.
		before := f.run != nil && p.shown(f.run.Created).Before(f.At)
		switch {
		case f.Outcome == schedule.Started && late && !before && one.missed == schedule.Skip:
			p.Errorf("%s/%s: %v was missed, and has started a run at %v", one.user, one.id, f.time, f.At)
			after(f.time)
		case f.Outcome == schedule.Started && late && !before && one.missed == schedule.Once:
			after(f.At)
		case f.Outcome == schedule.Started:
			after(f.time)
		case f.Outcome == schedule.Passed && late && one.missed == schedule.Skip:
			after(f.At.Add(-one.grace))
		default:
			p.Errorf("%s/%s: the policy is %s, grace %v: %v is %s at %v: %s", one.user, one.id, one.missed, one.grace, f.time, f.Outcome, f.At, f.Error)
			return
		}
	}
	if len(rest) > 0 {
		p.Errorf("%s/%s (%v): did not fire at %v:\n%s", one.user, one.id, one.body, rest, strings.Join(story, "\n"))
	}
}

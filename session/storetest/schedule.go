package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/session"
)

// RunSchedules runs the tests for the Schedules of a store. open is like that of
// RunOutbox.
func RunSchedules(t *testing.T, open func(t *testing.T) func(session.Options) session.Store) {
	t.Helper()
	runPlaces(t, open, []sharedTest{
		{"Put", schedulesPut},
		{"Claim", schedulesClaim},
		{"Fence", schedulesFence},
		{"Replaced", schedulesReplaced},
		{"Retry", schedulesRetry},
		{"Together", schedulesTogether},
		{"Firings", schedulesFirings},
		{"Reopen", schedulesReopen},
	})
}

// ago is a time before now that every store stores exactly.
func ago(d time.Duration) time.Time { return time.Now().Add(-d).Truncate(time.Second) }

// schedule stores a new schedule of the user of key.
func (k *kit) schedule(id string, next time.Time) *session.Schedule {
	k.Helper()
	s := &session.Schedule{App: "app", User: "user", ID: id, JSON: []byte(`{"of":"` + id + `"}`), Next: next}
	if err := k.store.Schedules.PutSchedule(k.Context(), s); err != nil {
		k.Fatalf("PutSchedule(%s): %v", id, err)
	}
	if s.Version == 0 || s.Created.IsZero() {
		k.Fatalf("a new schedule is %+v", s)
	}
	return s
}

// claimed claims schedules, and wants these.
func (k *kit) claimed(lease time.Duration, limit int, want ...string) []*session.DueSchedule {
	k.Helper()
	list, err := k.store.Schedules.ClaimSchedules(k.Context(), lease, limit)
	if err != nil {
		k.Fatalf("ClaimSchedules: %v", err)
	}
	got := []string{}
	for _, d := range list {
		if d.Now.Before(d.Next) || d.Version == 0 || d.App != "app" || d.Created.IsZero() || !strings.Contains(string(d.JSON), d.ID) {
			k.Errorf("a due schedule is %+v", d)
		}
		got = append(got, fmt.Sprintf("%s/%d", d.ID, d.Attempt))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		k.Fatalf("due are %v, want %v", got, want)
	}
	return list
}

// scheduled are the schedules of the user, with when they are due.
func (k *kit) scheduled() string {
	k.Helper()
	list, err := k.store.Schedules.ListSchedules(k.Context(), "app", "user")
	if err != nil {
		k.Fatalf("ListSchedules: %v", err)
	}
	var words []string
	for _, s := range list {
		next := "never"
		if !s.Next.IsZero() {
			next = fmt.Sprint(s.Next.Unix())
		}
		words = append(words, s.ID+"="+next)
	}
	return strings.Join(words, " ")
}

// fired are the firings of a schedule.
func (k *kit) fired(id string) string {
	k.Helper()
	list, err := k.store.Schedules.Firings(k.Context(), "app", "user", id)
	if err != nil {
		k.Fatalf("Firings(%s): %v", id, err)
	}
	var words []string
	for _, f := range list {
		words = append(words, fmt.Sprintf("%d:%s", f.Time.Unix(), f.JSON))
	}
	return strings.Join(words, " ")
}

func schedulesPut(p *place) {
	k := p.as("a", time.Hour)
	schedules := k.store.Schedules
	next := ago(-time.Hour)
	one := k.schedule("one", next)
	k.schedule("never", time.Time{})
	other := &session.Schedule{App: "app", User: "other", ID: "one", JSON: []byte(`{}`), Next: next}
	if err := schedules.PutSchedule(k.Context(), other); err != nil {
		k.Fatal(err)
	}
	if got, want := k.scheduled(), fmt.Sprintf("never=never one=%d", next.Unix()); got != want {
		k.Errorf("the schedules are %q, want %q", got, want)
	}
	again := &session.Schedule{App: "app", User: "user", ID: "one", JSON: []byte(`{}`)}
	if err := schedules.PutSchedule(k.Context(), again); !errors.Is(err, session.ErrExists) {
		k.Errorf("a schedule that exists: %v, want ErrExists", err)
	}
	old := *one
	one.JSON, one.Next = []byte(`{"of":"another one"}`), next.Add(time.Hour)
	if err := schedules.PutSchedule(k.Context(), one); err != nil || one.Version == old.Version {
		k.Fatalf("replacing a schedule: %v, version %d after %d", err, one.Version, old.Version)
	}
	if err := schedules.PutSchedule(k.Context(), &old); !errors.Is(err, session.ErrChanged) {
		k.Errorf("replacing an old version: %v, want ErrChanged", err)
	}
	got, err := schedules.Schedule(k.Context(), "app", "user", "one")
	if err != nil || string(got.JSON) != string(one.JSON) || !got.Next.Equal(one.Next) || got.Version != one.Version || !got.Created.Equal(old.Created) {
		k.Fatalf("the replaced schedule is %+v, %v", got, err)
	}
	for range 2 {
		if err := schedules.DeleteSchedule(k.Context(), "app", "user", "one"); err != nil {
			k.Fatal(err)
		}
	}
	if _, err := schedules.Schedule(k.Context(), "app", "user", "one"); !errors.Is(err, session.ErrNotFound) {
		k.Errorf("a deleted schedule: %v, want ErrNotFound", err)
	}
	if err := schedules.PutSchedule(k.Context(), one); !errors.Is(err, session.ErrNotFound) {
		k.Errorf("replacing a deleted schedule: %v, want ErrNotFound", err)
	}
	if _, err := schedules.Schedule(k.Context(), "app", "other", "one"); err != nil {
		k.Errorf("the schedule of another user: %v", err)
	}
	if remade := k.schedule("one", next); remade.Version == one.Version || remade.Version == old.Version {
		k.Errorf("a schedule that was made again has the version %d as before", remade.Version)
	}
}

// A schedule is claimed when it is due, by one process, and then only at its next time.
func schedulesClaim(p *place) {
	a, b := p.two()
	due, later := ago(time.Minute), ago(-time.Hour)
	a.schedule("due", due)
	a.schedule("early", ago(time.Hour))
	a.schedule("later", later)
	a.schedule("never", time.Time{})
	first := a.claimed(time.Hour, 1, "early/1")[0]
	if now, err := a.store.Schedules.Clock(a.Context(), "app", "user"); err != nil || now.Before(first.Now) {
		a.Errorf("the clock is %v, %v after a claim at %v", now, err, first.Now)
	}
	second := b.claimed(time.Hour, 10, "due/1")[0]
	if !second.Next.Equal(due) {
		b.Errorf("it was due at %v, want %v", second.Next, due)
	}
	a.claimed(time.Hour, 10)
	if err := b.store.Schedules.Fire(b.Context(), second, later, &session.Firing{Time: due, JSON: []byte(`"x"`)}); err != nil {
		b.Fatal(err)
	}
	if err := a.store.Schedules.Fire(a.Context(), first, time.Time{}, nil); err != nil {
		a.Fatal(err)
	}
	a.claimed(time.Hour, 10)
	if got, want := a.scheduled(), fmt.Sprintf("due=%d early=never later=%d never=never", later.Unix(), later.Unix()); got != want {
		a.Errorf("the schedules are %q, want %q", got, want)
	}
	if got, want := a.fired("due"), fmt.Sprintf(`%d:"x"`, due.Unix()); got != want {
		a.Errorf("the firings are %q, want %q", got, want)
	}
}

// A process that was too slow does not change what the next one does.
func schedulesFence(p *place) {
	a, b := p.two()
	due := ago(time.Minute)
	a.schedule("s", due)
	slow := a.claimed(-time.Second, 10, "s/1")[0]
	now := b.claimed(time.Hour, 10, "s/2")[0]
	firing := &session.Firing{Time: due, JSON: []byte(`"slow"`)}
	if err := a.store.Schedules.Fire(a.Context(), slow, time.Time{}, firing); !errors.Is(err, session.ErrFenced) {
		a.Errorf("Fire after another claim: %v, want ErrFenced", err)
	}
	if err := a.store.Schedules.RetrySchedule(a.Context(), slow, 0); err != nil {
		a.Fatal(err)
	}
	a.claimed(time.Hour, 10)
	next := ago(30 * time.Second)
	if err := b.store.Schedules.Fire(b.Context(), now, next, &session.Firing{Time: due, JSON: []byte(`"now"`)}); err != nil {
		b.Fatal(err)
	}
	if err := b.store.Schedules.Fire(b.Context(), now, next, nil); !errors.Is(err, session.ErrFenced) {
		b.Errorf("a second Fire: %v, want ErrFenced", err)
	}
	a.claimed(time.Hour, 10, "s/1")
	// This is the second first attempt, for another time.
	if err := a.store.Schedules.Fire(a.Context(), slow, time.Time{}, nil); !errors.Is(err, session.ErrFenced) {
		a.Errorf("Fire for an earlier time: %v, want ErrFenced", err)
	}
	if got, want := a.fired("s"), fmt.Sprintf(`%d:"now"`, due.Unix()); got != want {
		a.Errorf("the firings are %q, want %q", got, want)
	}
}

// Who changes a schedule while it fires does not lose the change.
func schedulesReplaced(p *place) {
	k := p.as("a", time.Hour)
	due := ago(time.Minute)
	s := k.schedule("s", due)
	claim := k.claimed(time.Hour, 10, "s/1")[0]
	if err := k.store.Schedules.PutSchedule(k.Context(), s); err != nil {
		k.Fatal(err)
	}
	if err := k.store.Schedules.Fire(k.Context(), claim, time.Time{}, nil); !errors.Is(err, session.ErrFenced) {
		k.Errorf("Fire after a change: %v, want ErrFenced", err)
	}
	claim = k.claimed(time.Hour, 10, "s/1")[0]
	if err := k.store.Schedules.DeleteSchedule(k.Context(), "app", "user", "s"); err != nil {
		k.Fatal(err)
	}
	k.schedule("s", due)
	k.claimed(time.Hour, 10, "s/1")
	if err := k.store.Schedules.Fire(k.Context(), claim, time.Time{}, nil); !errors.Is(err, session.ErrFenced) {
		k.Errorf("Fire after it was made again: %v, want ErrFenced", err)
	}
}

func schedulesRetry(p *place) {
	k := p.as("a", time.Hour)
	k.schedule("s", ago(time.Minute))
	for attempt := range 3 {
		claim := k.claimed(time.Hour, 10, fmt.Sprintf("s/%d", attempt+1))[0]
		if err := k.store.Schedules.RetrySchedule(k.Context(), claim, 0); err != nil {
			k.Fatal(err)
		}
	}
	claim := k.claimed(time.Hour, 10, "s/4")[0]
	if err := k.store.Schedules.RetrySchedule(k.Context(), claim, time.Hour); err != nil {
		k.Fatal(err)
	}
	k.claimed(time.Hour, 10)
}

// Many claim at once, and each schedule has one that fires it.
func schedulesTogether(p *place) {
	a, b := p.two()
	const count = 30
	due := ago(time.Minute)
	for i := range count {
		a.schedule(fmt.Sprint("s", i), due)
	}
	var mu sync.Mutex
	claims := map[string]int{}
	a.together(6, func(i int) error {
		k := []*kit{a, b}[i%2]
		for none := 0; none < 3; {
			list, err := k.store.Schedules.ClaimSchedules(k.Context(), time.Hour, 4)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				none++
			}
			for _, d := range list {
				mu.Lock()
				claims[d.ID]++
				mu.Unlock()
				if err := k.store.Schedules.Fire(k.Context(), d, time.Time{}, &session.Firing{Time: d.Next, JSON: []byte(`1`)}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, d := range a.stillDue() { // others held them while they were looked for
		claims[d.ID]++
	}
	for i := range count {
		if id := fmt.Sprint("s", i); claims[id] != 1 {
			a.Errorf("%s was claimed %d times", id, claims[id])
		}
	}
}

// stillDue claims what is still due.
func (k *kit) stillDue() []*session.DueSchedule {
	k.Helper()
	list, err := k.store.Schedules.ClaimSchedules(k.Context(), time.Hour, 1000)
	if err != nil {
		k.Fatal(err)
	}
	return list
}

func schedulesFirings(p *place) {
	k := p.as("a", time.Hour)
	k.schedule("s", time.Time{})
	k.schedule("other", time.Time{})
	add := func(id string, at time.Time, text string) error {
		return k.store.Schedules.AddFiring(k.Context(), "app", "user", id, &session.Firing{Time: at, JSON: []byte(text)})
	}
	if err := add("none", ago(0), "1"); !errors.Is(err, session.ErrNotFound) {
		k.Errorf("a firing of a schedule that does not exist: %v, want ErrNotFound", err)
	}
	start := ago(24 * time.Hour)
	for i := range session.MaxFirings + 5 {
		if err := add("s", start.Add(time.Duration(i)*time.Minute), fmt.Sprint(i)); err != nil {
			k.Fatal(err)
		}
	}
	last := start.Add((session.MaxFirings + 4) * time.Minute)
	if err := add("s", last, "again"); err != nil {
		k.Fatal(err)
	}
	list, err := k.store.Schedules.Firings(k.Context(), "app", "user", "s")
	if err != nil || len(list) < session.MaxFirings-1 || len(list) > session.MaxFirings {
		k.Fatalf("%d firings are kept, %v", len(list), err)
	}
	if first := list[0]; !first.Time.Equal(last) || string(first.JSON) != fmt.Sprint(session.MaxFirings+4) {
		k.Errorf("the latest firing is %v %s", first.Time, first.JSON)
	}
	if !slices.IsSortedFunc(list, func(a, b *session.Firing) int { return b.Time.Compare(a.Time) }) {
		k.Error("the firings are not sorted")
	}
	if got := k.fired("other"); got != "" {
		k.Errorf("the firings of another schedule are %q", got)
	}
	if err := k.store.Schedules.DeleteSchedule(k.Context(), "app", "user", "s"); err != nil {
		k.Fatal(err)
	}
	k.schedule("s", time.Time{})
	if got := k.fired("s"); got != "" {
		k.Errorf("a schedule that was made again has the firings %q", got)
	}
}

// A process that ends while it fires leaves the schedule to others.
func schedulesReopen(p *place) {
	a := p.as("a", time.Hour)
	a.schedule("s", ago(time.Minute))
	a.claimed(-time.Second, 1, "s/1")
	a.close()
	b := p.as("b", time.Hour)
	b.claimed(time.Hour, 1, "s/2")
}

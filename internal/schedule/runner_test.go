package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// starter counts what is started.
type starter struct {
	mu      sync.Mutex
	started map[string]int // by session and time
	order   []string
	active  int
	most    int
	fail    func(Start) error
	takes   time.Duration
}

func (s *starter) Start(_ context.Context, start Start) (string, func(context.Context), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(start); err != nil {
			return "", nil, err
		}
	}
	if s.started == nil {
		s.started = map[string]int{}
	}
	id := idOf(start)
	s.started[id]++
	s.order = append(s.order, id)
	s.active++
	s.most = max(s.most, s.active)
	return "run of " + id, func(ctx context.Context) {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active--
	}, nil
}

func (s *starter) Started(_ context.Context, start Start) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := idOf(start)
	if s.started[id] == 0 {
		return "", nil
	}
	return "run of " + id, nil
}

func idOf(start Start) string {
	return start.Key.User + "/" + start.Schedule + "/" + start.Time.UTC().Format(time.TimeOnly)
}

func (s *starter) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.order)
}

func put(t *testing.T, store session.Schedules, user, id string, spec Spec) {
	t.Helper()
	spec.Message = event.Text(event.RoleUser, "go")
	service := Service{Store: store}
	if _, err := service.Create(t.Context(), "app", user, id, &spec); err != nil {
		t.Fatal(err)
	}
}

func history(t *testing.T, store session.Schedules, id string) (list []string) {
	t.Helper()
	service := Service{Store: store}
	fired, err := service.Firings(t.Context(), "app", "u", id)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range slices.Backward(fired) {
		list = append(list, f.Time.UTC().Format(time.TimeOnly)+" "+f.Outcome)
	}
	return list
}

// Two servers start each run once.
func TestRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(0).Schedules
		s := &starter{}
		put(t, store, "u", "minutely", Spec{Cron: "* * * * *"})
		put(t, store, "u", "once", Spec{At: time.Now().Add(90 * time.Second)})
		put(t, store, "u", "paused", Spec{Cron: "* * * * *", Paused: true})
		for range 2 {
			r := Run(Options{Store: store, Starter: s, Runs: 4, Log: slog.New(slog.DiscardHandler)})
			defer r.Close()
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		want := []string{"u/minutely/00:01:00", "u/once/00:01:30", "u/minutely/00:02:00", "u/minutely/00:03:00", "u/minutely/00:04:00", "u/minutely/00:05:00"}
		if got := s.list(); !slices.Equal(got, want) {
			t.Errorf("started are %v, want %v", got, want)
		}
		if got := history(t, store, "minutely"); len(got) != 5 || got[4] != "00:05:00 started" {
			t.Errorf("the firings are %v", got)
		}
		service := Service{Store: store}
		if one, err := service.Get(t.Context(), "app", "u", "once"); err != nil || !one.Next.IsZero() {
			t.Errorf("after its only time, the schedule is %+v, %v", one, err)
		}
	})
}

// While no server runs, times are missed.
func TestMissedTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(0).Schedules
		s := &starter{}
		for _, policy := range []Missed{Skip, Once, All} {
			put(t, store, "u", string(policy), Spec{Cron: "@hourly", Missed: policy})
		}
		time.Sleep(3*time.Hour + 30*time.Minute)
		var published []string
		publish := func(_ context.Context, d *session.DueSchedule) error {
			published = append(published, d.ID+" "+d.Next.UTC().Format(time.TimeOnly))
			if len(published) == 1 {
				return errors.New("the database is busy")
			}
			return nil
		}
		r := Run(Options{Store: store, Starter: s, Runs: 4, Log: slog.New(slog.DiscardHandler), Missed: publish})
		defer r.Close()
		time.Sleep(time.Hour)
		if want := []string{"skip 01:00:00", "skip 01:00:00"}; !slices.Equal(published, want) {
			t.Errorf("published are %v, want %v", published, want)
		}
		for id, want := range map[string][]string{
			"skip": {"01:00:00 missed", "04:00:00 started"},
			"once": {"01:00:00 started", "04:00:00 started"},
			"all":  {"01:00:00 started", "02:00:00 started", "03:00:00 started", "04:00:00 started"},
		} {
			if got := history(t, store, id); !slices.Equal(got, want) {
				t.Errorf("%s: the firings are %v, want %v", id, got, want)
			}
		}
	})
}

// A start that fails for a reason that passes is repeated; another failure is noted, and
// the schedule goes on.
func TestFailedStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(0).Schedules
		down := true
		s := &starter{fail: func(start Start) error {
			switch {
			case start.Schedule == "bad":
				return errors.New("the application does not exist")
			case down:
				return &session.UnavailableError{Cause: errors.New("down")}
			}
			return nil
		}}
		put(t, store, "u", "good", Spec{Cron: "@hourly"})
		put(t, store, "u", "bad", Spec{Cron: "@hourly"})
		r := Run(Options{Store: store, Starter: s, Runs: 4, Log: slog.New(slog.DiscardHandler)})
		defer r.Close()
		time.Sleep(time.Hour + 3*time.Minute)
		s.mu.Lock()
		down = false
		s.mu.Unlock()
		time.Sleep(time.Hour)
		if got := history(t, store, "good"); !slices.Equal(got, []string{"01:00:00 started", "02:00:00 started"}) {
			t.Errorf("good: %v", got)
		}
		if got := history(t, store, "bad"); !slices.Equal(got, []string{"01:00:00 failed", "02:00:00 failed"}) {
			t.Errorf("bad: %v", got)
		}
	})
}

// A process that ends between the start of a run and its note leaves the firing to
// another, which is given the same time.
func TestLostFiring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(0).Schedules
		put(t, store, "u", "s", Spec{At: time.Now().Add(time.Minute)})
		time.Sleep(2 * time.Minute)
		lost, err := store.ClaimSchedules(t.Context(), lease, 1)
		if err != nil || len(lost) != 1 {
			t.Fatalf("claimed are %v, %v", lost, err)
		}
		s := &starter{}
		r := Run(Options{Store: store, Starter: s, Runs: 4, Log: slog.New(slog.DiscardHandler)})
		defer r.Close()
		time.Sleep(lease - time.Second)
		if got := s.list(); len(got) != 0 {
			t.Errorf("during the lease, %v are started", got)
		}
		time.Sleep(2 * time.Second)
		if got := s.list(); !slices.Equal(got, []string{"u/s/00:01:00"}) {
			t.Errorf("started are %v", got)
		}
	})
}

// A run that was started in time is not missed when the firing can be stored only later,
// and it does not stand for the times that were missed since.
func TestLostAndLate(t *testing.T) {
	for policy, want := range map[Missed][]string{
		Skip: {"01:00:00 started", "02:00:00 missed", "04:00:00 started"},
		Once: {"01:00:00 started", "02:00:00 started", "04:00:00 started"},
		All:  {"01:00:00 started", "02:00:00 started", "03:00:00 started", "04:00:00 started"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.New(0).Schedules
				s := &starter{}
				put(t, memory, "u", "s", Spec{Cron: "@hourly", Missed: policy})
				first := Run(Options{Store: unfired{memory}, Starter: s, Runs: 4, Log: slog.New(slog.DiscardHandler)})
				time.Sleep(time.Hour + 10*time.Second)
				first.Close()
				time.Sleep(2*time.Hour + 20*time.Minute)
				second := Run(Options{Store: memory, Starter: s, Runs: 4, Log: slog.New(slog.DiscardHandler)})
				defer second.Close()
				time.Sleep(time.Hour)
				if got := history(t, memory, "s"); !slices.Equal(got, want) {
					t.Errorf("the firings are %v, want %v", got, want)
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				for id, n := range s.started {
					if n != 1 {
						t.Errorf("%s was started %d times", id, n)
					}
				}
			})
		})
	}
}

// unfired is a store to which the connection is lost when firings are to be stored.
type unfired struct{ session.Schedules }

func (unfired) Fire(context.Context, *session.DueSchedule, time.Time, *session.Firing) error {
	return &session.UnavailableError{Cause: errors.New("down")}
}

// watched records what an Observer gets.
type watched struct {
	mu   sync.Mutex
	list []string
}

func (w *watched) Firing(ctx context.Context, key session.Key, id string, due, now time.Time) (context.Context, func(string)) {
	return ctx, func(outcome string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list = append(w.list, fmt.Sprintf("%s/%s %v %q", key.User, id, now.Sub(due), outcome))
	}
}

// The observer learns of each attempt, and of the outcome that is stored.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(0).Schedules
		w := &watched{}
		down := true
		s := &starter{fail: func(start Start) error {
			switch {
			case start.Schedule == "bad":
				return errors.New("no")
			case start.Schedule == "panics":
				panic("no")
			case down:
				down = false
				return &session.UnavailableError{Cause: errors.New("down")}
			}
			return nil
		}}
		for _, id := range []string{"bad", "good", "panics"} {
			put(t, store, "u", id, Spec{At: time.Now().Add(time.Minute)})
		}
		put(t, store, "u", "late", Spec{At: time.Now().Add(time.Second)})
		time.Sleep(time.Minute + DefaultGrace - 10*time.Second)
		r := Run(Options{Store: store, Starter: s, Runs: 4, Log: slog.New(slog.DiscardHandler), Observer: w})
		time.Sleep(9 * time.Second)
		r.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		var outcomes []string
		for _, line := range w.list {
			name, _, _ := strings.Cut(line, " ")
			outcomes = append(outcomes, name+line[strings.LastIndex(line, " "):])
		}
		slices.Sort(outcomes)
		want := []string{`u/bad "failed"`, `u/good ""`, `u/good "started"`, `u/late "missed"`, `u/panics ""`}
		if !slices.Equal(outcomes, want) || !slices.Contains(w.list, `u/bad 9m50s "failed"`) {
			t.Errorf("observed are %v, want %v", w.list, want)
		}
	})
}

// A run takes a slot until it has ended.
func TestFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(0).Schedules
		for _, id := range []string{"a", "b"} {
			put(t, store, "u", id, Spec{Cron: "@hourly"})
		}
		r := Run(Options{Store: store, Starter: &starter{takes: 10 * time.Second}, Runs: 3, Log: slog.New(slog.DiscardHandler)})
		defer r.Close()
		for _, want := range []struct {
			after time.Duration
			free  int
		}{{time.Hour - time.Second, 3}, {5 * time.Second, 1}, {20 * time.Second, 3}} {
			time.Sleep(want.after)
			if got := r.Free(); got != want.free {
				t.Errorf("at %s, %d slots are free, want %d", time.Now().UTC().Format(time.TimeOnly), got, want.free)
			}
		}
		if got := (*Runner)(nil).Free(); got != 0 {
			t.Errorf("%d slots are free where no runs are started", got)
		}
	})
}

// Many schedules of the same minute are spread: no more runs than allowed are active,
// and one user does not take all of them.
func TestSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(0).Schedules
		s := &starter{takes: 10 * time.Second}
		for i := range 40 {
			put(t, store, "u", fmt.Sprintf("s%02d", i), Spec{Cron: "@hourly"})
		}
		put(t, store, "v", "z", Spec{Cron: "@hourly"})
		r := Run(Options{Store: store, Starter: s, Runs: 8, Log: slog.New(slog.DiscardHandler)})
		time.Sleep(time.Hour + 20*time.Second)
		if got := s.list(); !slices.Contains(got, "v/z/01:00:00") {
			t.Errorf("the other user waits for %v", got)
		}
		time.Sleep(30 * time.Minute)
		s.mu.Lock()
		if len(s.started) != 41 || s.most > maxUserRuns+1 {
			t.Errorf("%d are started, at most %d at once", len(s.started), s.most)
		}
		for id, n := range s.started {
			if n != 1 {
				t.Errorf("%s was started %d times", id, n)
			}
		}
		s.mu.Unlock()
		r.Close()
	})
}

// A stored schedule that cannot be read does not stop the others.
func TestUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(0).Schedules
		if err := store.PutSchedule(t.Context(), &session.Schedule{App: "app", User: "u", ID: "x", JSON: json.RawMessage(`{`), Next: time.Now()}); err != nil {
			t.Fatal(err)
		}
		s := &starter{fail: func(Start) error { panic("no") }}
		put(t, store, "u", "panics", Spec{At: time.Now().Add(time.Minute)})
		r := Run(Options{Store: store, Starter: s, Runs: 1, Log: slog.New(slog.DiscardHandler)})
		defer r.Close()
		time.Sleep(2 * time.Minute)
		if got := history(t, store, "x"); !slices.Equal(got, []string{"00:00:00 failed"}) {
			t.Errorf("the firings are %v", got)
		}
	})
}

package parley_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/collector"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
)

func openGreeter(t *testing.T, cfg parley.Config) *parley.Server {
	t.Helper()
	root, err := agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(scripted.Say("Hello."))})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Agents = map[string]*agent.Agent{"app": root}
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	return srv
}

func TestSchedulesInProcess(t *testing.T) {
	t.Parallel()
	all := openGreeter(t, parley.Config{}).Schedules()
	ctx := t.Context()
	full := parley.Schedule{
		App: "app", User: "ann", ID: "morning", Description: "the report", Cron: "0 9 * * *", TimeZone: "Europe/Berlin",
		Start: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2100, 12, 31, 0, 0, 0, 0, time.UTC),
		Message: event.Text(event.RoleUser, "report"), StateDelta: map[string]json.RawMessage{"a": json.RawMessage("1")},
		Session: "reports", OnBusy: session.Reject, Missed: parley.MissedAll, MissedAfter: time.Hour,
	}
	made, err := all.Create(ctx, full)
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2100, 1, 1, 8, 0, 0, 0, time.UTC); !made.Next.Equal(want) || made.Created.IsZero() {
		t.Errorf("the schedule is due at %v, want %v; created at %v", made.Next, want, made.Created)
	}
	got, err := all.Get(ctx, "app", "ann", "morning")
	if err != nil {
		t.Fatal(err)
	}
	full.Created, full.Next = got.Created, got.Next
	if a, b := marshal(t, full), marshal(t, got); a != b {
		t.Errorf("the schedule is %s, want %s", b, a)
	}
	changed, err := all.Change(ctx, "app", "ann", "morning", func(s *parley.Schedule) {
		s.Cron, s.TimeZone, s.Interval, s.ID = "", "", time.Hour, "another"
	})
	if err != nil || changed.ID != "morning" || changed.Interval != time.Hour || !changed.Next.Equal(full.Start) || changed.Session != "reports" {
		t.Errorf("the changed schedule is %s, %v", marshal(t, changed), err)
	}
	fired, err := all.Run(ctx, "app", "ann", "morning")
	if err != nil || fired.Outcome != parley.OutcomeStarted || !fired.Manual || fired.Session != "reports" || fired.Run == "" {
		t.Fatalf("the firing is %+v, %v", fired, err)
	}
	if list, err := all.Firings(ctx, "app", "ann", "morning"); err != nil || len(list) != 1 || list[0].Run != fired.Run || list[0].Fired.IsZero() {
		t.Errorf("the firings are %v, %v", list, err)
	}
	if list, err := all.List(ctx, "app", "ann"); err != nil || len(list) != 1 || list[0].ID != "morning" {
		t.Errorf("the schedules are %v, %v", list, err)
	}
	if err := all.Delete(ctx, "app", "ann", "morning"); err != nil {
		t.Error(err)
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

func TestScheduleErrors(t *testing.T) {
	t.Parallel()
	all := openGreeter(t, parley.Config{}).Schedules()
	ctx := t.Context()
	good := parley.Schedule{App: "app", User: "ann", ID: "x", Cron: "@daily", Message: event.Text(event.RoleUser, "go")}
	if _, err := all.Create(ctx, good); err != nil {
		t.Fatal(err)
	}
	with := func(change func(*parley.Schedule)) error {
		one := good
		change(&one)
		_, err := all.Create(ctx, one)
		return err
	}
	_, missing := all.Get(ctx, "app", "ann", "y")
	_, run := all.Run(ctx, "app", "ann", "y")
	_, firings := all.Firings(ctx, "app", "ann", "y")
	_, change := all.Change(ctx, "app", "ann", "x", func(s *parley.Schedule) { s.Cron = "" })
	_, list := all.List(ctx, "app", "")
	for name, tt := range map[string]struct{ err, want error }{
		"exists":       {with(func(*parley.Schedule) {}), parley.ErrExists},
		"unknown app":  {with(func(s *parley.Schedule) { s.App = "nothing" }), parley.ErrUnknownApp},
		"no user":      {with(func(s *parley.Schedule) { s.User = "" }), parley.ErrInvalid},
		"bad cron":     {with(func(s *parley.Schedule) { s.Cron = "often" }), parley.ErrInvalid},
		"too often":    {with(func(s *parley.Schedule) { s.Cron, s.Interval = "", time.Second }), parley.ErrInvalid},
		"fraction":     {with(func(s *parley.Schedule) { s.Cron, s.Interval = "", 90500*time.Millisecond }), parley.ErrInvalid},
		"too large":    {with(func(s *parley.Schedule) { s.ID, s.Message = "", event.Text("user", strings.Repeat("x", 5<<20)) }), parley.ErrLimited},
		"missing":      {missing, parley.ErrNotFound},
		"run":          {run, parley.ErrNotFound},
		"firings":      {firings, parley.ErrNotFound},
		"delete":       {all.Delete(ctx, "app", "ann", "y"), parley.ErrNotFound},
		"bad change":   {change, parley.ErrInvalid},
		"no user list": {list, parley.ErrInvalid},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
}

// The trace of a scheduled run begins with the firing, which is counted.
func TestScheduleTelemetry(t *testing.T) {
	t.Parallel()
	backend := collector.Start(t)
	srv := openGreeter(t, parley.Config{}.ExportTo(backend.URL))
	made, err := srv.Schedules().Create(t.Context(), parley.Schedule{
		App: "app", User: "ann", ID: "soon", At: time.Now().Add(2 * time.Second), Message: event.Text(event.RoleUser, "go"),
	})
	if err != nil {
		t.Fatal(err)
	}
	do := caller(t, srv)
	testkit.Eventually(t, "the end of the run", func() bool {
		return parseMetrics(t, do("GET", "/metrics", "").Body).value("parley_runs_total", map[string]string{"app": "app", "status": "completed"}) == 1
	})
	m := parseMetrics(t, do("GET", "/metrics", "").Body)
	if got := m.value("parley_schedule_firings_total", map[string]string{"app": "app", "outcome": "started"}); got != 1 {
		t.Errorf("%v firings were counted", got)
	}
	if got := m.value("parley_schedule_delay_seconds", nil); got != 1 {
		t.Errorf("%v delays were measured", got)
	}
	rec := httptest.NewRecorder()
	srv.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/apps/app/users/ann/schedules/soon/firings", nil))
	if !strings.Contains(rec.Body.String(), `"firedAt":"`) {
		t.Errorf("the firings are %s", rec.Body)
	}
	srv.Close(t.Context())
	firing, run := backend.Named(t, "schedule"), backend.Named(t, "invocation")
	if run.TraceID != firing.TraceID || run.Parent != firing.ID || firing.Parent != "" {
		t.Errorf("the run is %+v, the firing %+v", run, firing)
	}
	delay, _ := firing.Attributes["parley.schedule.delay"].(float64)
	if a := firing.Attributes; a["parley.schedule.id"] != "soon" || a["parley.schedule.outcome"] != "started" || a["parley.app"] != "app" || delay < 0 ||
		a["parley.schedule.time"] != made.Next.UTC().Format(time.RFC3339) {
		t.Errorf("the firing has %v", a)
	}
}

package schedule

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/event"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// What a cron expression means in unusual cases is what its library documents.
func TestAfter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec Spec
		from string
		want string // times in the zone, separated by spaces
	}{
		"every morning":              {Spec{Cron: "0 9 * * *", TimeZone: "Europe/Berlin"}, "2026-11-16T08:00:00Z", "2026-11-17T09:00:00+01:00 2026-11-18T09:00:00+01:00"},
		"UTC unless a zone is given": {Spec{Cron: "0 9 * * MON-FRI"}, "2026-11-13T10:00:00Z", "2026-11-16T09:00:00Z 2026-11-17T09:00:00Z"},
		"daylight saving begins":     {Spec{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}, "2026-03-28T12:00:00Z", "2026-03-29T03:30:00+02:00 2026-03-30T02:30:00+02:00"},
		"a zone west of UTC":         {Spec{Cron: "30 2 * * *", TimeZone: "America/New_York"}, "2026-03-07T12:00:00Z", "2026-03-08T03:30:00-04:00 2026-03-09T02:30:00-04:00"},
		// The hour is there twice, and so is the time.
		"daylight saving ends":   {Spec{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}, "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00 2026-10-26T02:30:00+01:00"},
		"hourly, when it ends":   {Spec{Cron: "@hourly", TimeZone: "Europe/Berlin"}, "2026-10-24T23:30:00Z", "2026-10-25T02:00:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T03:00:00+01:00"},
		"hourly, when it begins": {Spec{Cron: "@hourly", TimeZone: "Europe/Berlin"}, "2026-03-29T00:30:00Z", "2026-03-29T03:00:00+02:00 2026-03-29T04:00:00+02:00"},
		// Times in a gap of a whole hour are an hour later; those in the one of half an hour are left out.
		"a shift of half an hour": {Spec{Cron: "15 2 * * *", TimeZone: "Australia/Lord_Howe"}, "2026-10-03T00:00:00Z", "2026-10-05T02:15:00+11:00"},
		"the end of each month":   {Spec{Cron: "0 0 31 * *"}, "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z 2026-05-31T00:00:00Z 2026-07-31T00:00:00Z"},
		"leap days":               {Spec{Cron: "0 0 29 2 *"}, "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"},
		// It looks for the next time within five years.
		"no leap day in 2100":         {Spec{Cron: "0 0 29 2 *"}, "2096-03-01T00:00:00Z", ""},
		"either day, as in crontab":   {Spec{Cron: "0 12 1 * MON"}, "2026-11-29T00:00:00Z", "2026-11-30T12:00:00Z 2026-12-01T12:00:00Z 2026-12-07T12:00:00Z"},
		"a day that does not exist":   {Spec{Cron: "0 0 30 2 *"}, "2026-01-01T00:00:00Z", ""},
		"names":                       {Spec{Cron: "@monthly"}, "2026-11-16T00:00:00Z", "2026-12-01T00:00:00Z 2027-01-01T00:00:00Z"},
		"an end":                      {Spec{Cron: "0 9 * * *", End: at("2026-11-17T09:00:00Z")}, "2026-11-16T08:00:00Z", "2026-11-16T09:00:00Z 2026-11-17T09:00:00Z"},
		"a start":                     {Spec{Cron: "0 9 * * *", Start: at("2026-12-01T09:00:00Z")}, "2026-11-16T08:00:00Z", "2026-12-01T09:00:00Z 2026-12-02T09:00:00Z"},
		"one moment":                  {Spec{At: at("2026-12-01T09:00:00+01:00")}, "2026-11-16T08:00:00Z", "2026-12-01T08:00:00Z"},
		"one moment that has passed":  {Spec{At: at("2026-11-01T09:00:00Z")}, "2026-11-16T08:00:00Z", ""},
		"an interval":                 {Spec{Interval: 90 * time.Minute, Created: at("2026-11-16T08:00:00.7Z")}, "2026-11-16T08:00:01Z", "2026-11-16T09:30:00Z 2026-11-16T11:00:00Z"},
		"an interval, later":          {Spec{Interval: 90 * time.Minute, Created: at("2026-11-16T08:00:00Z")}, "2026-11-17T08:00:00Z", "2026-11-17T09:30:00Z 2026-11-17T11:00:00Z"},
		"an interval from a moment":   {Spec{Interval: 24 * time.Hour, Start: at("2026-11-20T06:00:00Z"), Created: at("2026-11-16T08:00:00Z")}, "2026-11-16T08:00:00Z", "2026-11-20T06:00:00Z 2026-11-21T06:00:00Z"},
		"an interval across the hour": {Spec{Interval: 24 * time.Hour, Start: at("2026-10-24T06:00:00+02:00")}, "2026-10-24T05:00:00Z", "2026-10-25T04:00:00Z 2026-10-26T04:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.spec.Message = event.Text(event.RoleUser, "go")
			if err := tt.spec.Check(); err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(tt.want)
			now := at(tt.from)
			for i := range max(len(want), 1) {
				now = tt.spec.After(now)
				if i >= len(want) {
					if !now.IsZero() {
						t.Errorf("it is due at %v, want never", now)
					}
					return
				}
				if !now.Equal(at(want[i])) {
					t.Fatalf("time %d is %v, want %s", i+1, now, want[i])
				}
			}
			if strings.Contains(name, "one moment") || strings.Contains(name, "an end") {
				if now = tt.spec.After(now); !now.IsZero() {
					t.Errorf("after the last time, it is due at %v", now)
				}
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	message := event.Text(event.RoleUser, "go")
	for name, tt := range map[string]struct {
		spec  Spec
		field string
	}{
		"no time":            {Spec{Message: message}, "cron"},
		"two times":          {Spec{Message: message, Cron: "@daily", Interval: time.Hour}, "cron"},
		"six fields":         {Spec{Message: message, Cron: "0 0 0 1 1 1"}, "cron"},
		"no expression":      {Spec{Message: message, Cron: "every day"}, "cron"},
		"a zone inside":      {Spec{Message: message, Cron: "TZ=Europe/Berlin 0 9 * * *"}, "cron"},
		"an empty zone":      {Spec{Message: message, Cron: "TZ="}, "cron"},
		"every":              {Spec{Message: message, Cron: "@every 1h"}, "cron"},
		"a long one":         {Spec{Message: message, Cron: strings.Repeat("1,", 5000) + "1 * * * *"}, "cron"},
		"an unknown zone":    {Spec{Message: message, Cron: "@daily", TimeZone: "Europe/Nowhere"}, "timeZone"},
		"a file as zone":     {Spec{Message: message, Cron: "@daily", TimeZone: "../../etc/passwd"}, "timeZone"},
		"the machine's zone": {Spec{Message: message, Cron: "@daily", TimeZone: "Local"}, "timeZone"},
		"a zone for nothing": {Spec{Message: message, Interval: time.Hour, TimeZone: "Europe/Berlin"}, "timeZone"},
		"a negative one":     {Spec{Message: message, Interval: -time.Hour}, "intervalSeconds"},
		"the end first":      {Spec{Message: message, Cron: "@daily", Start: at("2026-12-02T00:00:00Z"), End: at("2026-12-01T00:00:00Z")}, "endAt"},
		"nothing to do":      {Spec{Cron: "@daily"}, "newMessage"},
		"state of nothing":   {Spec{Cron: "@daily", StateDelta: map[string]json.RawMessage{"a": json.RawMessage("1")}}, "sessionId"},
		"an unknown policy":  {Spec{Message: message, Cron: "@daily", Missed: "often"}, "missed"},
		"an unknown way":     {Spec{Message: message, Cron: "@daily", Busy: "push"}, "concurrency"},
		"no grace":           {Spec{Message: message, Cron: "@daily", Grace: time.Second}, "missedAfterSeconds"},
		"a bad session":      {Spec{Message: message, Cron: "@daily", Session: ".."}, "sessionId"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wrong *SpecError
			if err := tt.spec.Check(); !errors.As(err, &wrong) || wrong.Field != tt.field {
				t.Errorf("Check: %v, want an error about %s", err, tt.field)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	hourly := Spec{Cron: "@hourly"}
	for name, tt := range map[string]struct {
		missed   Missed
		due, now string
		want     decision
	}{
		"in time":             {"", "2026-11-16T08:00:00Z", "2026-11-16T08:00:01Z", decision{next: at("2026-11-16T09:00:00Z")}},
		"late":                {"", "2026-11-16T08:00:00Z", "2026-11-16T08:09:00Z", decision{next: at("2026-11-16T09:00:00Z")}},
		"missed":              {"", "2026-11-16T08:00:00Z", "2026-11-16T08:30:00Z", decision{missed: true, next: at("2026-11-16T09:00:00Z")}},
		"missed several":      {Skip, "2026-11-16T08:00:00Z", "2026-11-16T11:30:00Z", decision{missed: true, next: at("2026-11-16T12:00:00Z")}},
		"the last is in time": {Skip, "2026-11-16T08:00:00Z", "2026-11-16T11:05:00Z", decision{missed: true, next: at("2026-11-16T11:00:00Z")}},
		"one for several":     {Once, "2026-11-16T08:00:00Z", "2026-11-16T11:05:00Z", decision{next: at("2026-11-16T12:00:00Z")}},
		"each of several":     {All, "2026-11-16T08:00:00Z", "2026-11-16T11:05:00Z", decision{next: at("2026-11-16T09:00:00Z")}},
		"each of a day":       {All, "2026-11-10T08:00:00Z", "2026-11-16T11:05:00Z", decision{missed: true, next: at("2026-11-15T12:00:00Z")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := hourly
			spec.Missed = tt.missed
			if got := spec.decide(at(tt.due), at(tt.now)); got.missed != tt.want.missed || !got.next.Equal(tt.want.next) {
				t.Errorf("decide: %+v, want %+v", got, tt.want)
			}
		})
	}
}

func FuzzCron(f *testing.F) {
	for _, seed := range []string{"0 9 * * MON-FRI", "@daily", "*/5 22-2 1,31 FEB 0", "TZ=UTC * * * * *", "60 * * * *", "* * * * 8"} {
		f.Add(seed, "Europe/Berlin", int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, expression, zone string, from int64) {
		spec := Spec{Cron: expression, TimeZone: zone, Message: event.Text(event.RoleUser, "go")}
		now := time.Unix(from%4_000_000_000, 0)
		if spec.Check() != nil {
			return
		}
		next := spec.After(now)
		if !next.IsZero() && !next.After(now) {
			t.Errorf("%q in %q: %v is not after %v", expression, zone, next, now)
		}
	})
}

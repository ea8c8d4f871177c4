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
		// The hour exists twice. What is due every hour is so in both; what is due at an hour, in the first.
		"daylight saving ends":         {Spec{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}, "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00"},
		"it ends west of UTC":          {Spec{Cron: "30 1 * * *", TimeZone: "America/New_York"}, "2026-10-31T12:00:00Z", "2026-11-01T01:30:00-04:00 2026-11-02T01:30:00-05:00"},
		"between the two":              {Spec{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}, "2026-10-25T00:45:00Z", "2026-10-26T02:30:00+01:00"},
		"hourly, when it ends":         {Spec{Cron: "@hourly", TimeZone: "Europe/Berlin"}, "2026-10-24T23:30:00Z", "2026-10-25T02:00:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T03:00:00+01:00"},
		"often, when it ends":          {Spec{Cron: "*/30 * * * *", TimeZone: "Europe/Berlin"}, "2026-10-25T00:00:00Z", "2026-10-25T02:30:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T02:30:00+01:00 2026-10-25T03:00:00+01:00"},
		"hours in a row, when it ends": {Spec{Cron: "*/30 1-3 * * *", TimeZone: "Europe/Berlin"}, "2026-10-25T00:00:00Z", "2026-10-25T02:30:00+02:00 2026-10-25T03:00:00+01:00 2026-10-25T03:30:00+01:00 2026-10-26T01:00:00+01:00"},
		"hourly, when it begins":       {Spec{Cron: "@hourly", TimeZone: "Europe/Berlin"}, "2026-03-29T00:30:00Z", "2026-03-29T03:00:00+02:00 2026-03-29T04:00:00+02:00"},
		"hours in a row":               {Spec{Cron: "*/30 1-3 * * *", TimeZone: "Europe/Berlin"}, "2026-03-29T00:00:00Z", "2026-03-29T01:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-29T03:30:00+02:00 2026-03-30T01:00:00+02:00"},
		"after the gap":                {Spec{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}, "2026-03-29T01:10:00Z", "2026-03-29T03:30:00+02:00 2026-03-30T02:30:00+02:00"},
		"a zone of half hours":         {Spec{Cron: "30 2 * * *", TimeZone: "America/St_Johns"}, "2026-03-07T12:00:00Z", "2026-03-08T03:30:00-02:30 2026-03-09T02:30:00-02:30"},
		"a gap of half an hour":        {Spec{Cron: "15 2 * * *", TimeZone: "Australia/Lord_Howe"}, "2026-10-03T00:00:00Z", "2026-10-04T02:45:00+11:00 2026-10-05T02:15:00+11:00"},
		"half an hour twice":           {Spec{Cron: "45 1 * * *", TimeZone: "Australia/Lord_Howe"}, "2026-04-04T00:00:00Z", "2026-04-05T01:45:00+11:00 2026-04-06T01:45:00+10:30"},
		"half hours, often":            {Spec{Cron: "*/15 * * * *", TimeZone: "Australia/Lord_Howe"}, "2026-10-03T15:15:00Z", "2026-10-04T02:30:00+11:00 2026-10-04T02:45:00+11:00 2026-10-04T03:00:00+11:00"},
		"no midnight":                  {Spec{Cron: "@daily", TimeZone: "America/Santiago"}, "2026-09-05T12:00:00Z", "2026-09-06T01:00:00-03:00 2026-09-07T00:00:00-03:00"},
		"no midnight in Egypt":         {Spec{Cron: "30 0 * * *", TimeZone: "Africa/Cairo"}, "2026-04-23T12:00:00Z", "2026-04-24T01:30:00+03:00 2026-04-25T00:30:00+03:00"},
		"no midnight, once a year":     {Spec{Cron: "0 0 6 9 *", TimeZone: "America/Santiago"}, "2026-01-01T00:00:00Z", "2026-09-06T01:00:00-03:00 2027-09-06T00:00:00-03:00"},
		"the hour before it twice":     {Spec{Cron: "30 23 * * *", TimeZone: "America/Santiago"}, "2026-04-04T12:00:00Z", "2026-04-04T23:30:00-03:00 2026-04-05T23:30:00-04:00"},
		"a day that is left out":       {Spec{Cron: "0 12 * * *", TimeZone: "Pacific/Apia"}, "2011-12-29T00:00:00Z", "2011-12-29T12:00:00-10:00 2011-12-31T12:00:00+14:00"},
		"no daylight saving":           {Spec{Cron: "30 5 * * *", TimeZone: "Asia/Kolkata"}, "2026-03-28T12:00:00Z", "2026-03-29T05:30:00+05:30 2026-03-30T05:30:00+05:30"},
		"the end of a year":            {Spec{Cron: "59 23 31 12 *"}, "2026-06-01T00:00:00Z", "2026-12-31T23:59:00Z 2027-12-31T23:59:00Z"},
		"the first new year":           {Spec{Cron: "@yearly", TimeZone: "Pacific/Kiritimati"}, "2026-06-01T00:00:00Z", "2027-01-01T00:00:00+14:00 2028-01-01T00:00:00+14:00"},
		"the 30th":                     {Spec{Cron: "0 12 30 * *"}, "2026-01-30T13:00:00Z", "2026-03-30T12:00:00Z 2026-04-30T12:00:00Z"},
		"the 31st over a change":       {Spec{Cron: "0 0 31 * *", TimeZone: "Europe/Berlin"}, "2026-08-01T00:00:00Z", "2026-08-31T00:00:00+02:00 2026-10-31T00:00:00+01:00 2026-12-31T00:00:00+01:00"},
		"the last days of February":    {Spec{Cron: "0 0 28,29 2 *"}, "2027-02-01T00:00:00Z", "2027-02-28T00:00:00Z 2028-02-28T00:00:00Z 2028-02-29T00:00:00Z"},
		"Sunday is 0 and 7":            {Spec{Cron: "0 9 * * 7"}, "2026-11-16T00:00:00Z", "2026-11-22T09:00:00Z 2026-11-29T09:00:00Z"},
		"the end of each month":        {Spec{Cron: "0 0 31 * *"}, "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z 2026-05-31T00:00:00Z 2026-07-31T00:00:00Z"},
		"leap days":                    {Spec{Cron: "0 0 29 2 *"}, "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"},
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
		"the last day":       {Spec{Message: message, Cron: "0 0 L * *"}, "cron"},
		"too often":          {Spec{Message: message, Interval: 59 * time.Second}, "intervalSeconds"},
		"a fraction":         {Spec{Message: message, Interval: 90*time.Second + time.Millisecond}, "intervalSeconds"},
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
		"an empty message":   {Spec{Message: &event.Content{Role: event.RoleUser}, Cron: "@daily"}, "newMessage"},
		"one of a model":     {Spec{Message: event.Text(event.RoleModel, "hi"), Cron: "@daily"}, "newMessage"},
		"a call":             {Spec{Message: &event.Content{Parts: []*event.Part{{FunctionCall: &event.FunctionCall{Name: "f"}}}}, Cron: "@daily"}, "newMessage"},
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
			late := at(tt.now).Sub(at(tt.due)) > DefaultGrace
			if got := spec.decide(at(tt.due), at(tt.now)); got.missed != tt.want.missed || got.late != late || !got.next.Equal(tt.want.next) {
				t.Errorf("decide: %+v, want %+v", got, tt.want)
			}
		})
	}
}

// The policy all starts at most 100 runs, the latest.
func TestDecideMany(t *testing.T) {
	t.Parallel()
	spec := Spec{Cron: "* * * * *", Missed: All}
	now := at("2026-11-16T12:00:30Z")
	if got, want := spec.decide(at("2026-11-16T06:00:00Z"), now), at("2026-11-16T10:21:00Z"); !got.missed || !got.next.Equal(want) {
		t.Errorf("decide: %+v, want a start at %v", got, want)
	}
	starts := 0
	for due := at("2026-11-10T06:00:00Z"); !due.After(now); {
		what := spec.decide(due, now)
		if !what.missed {
			starts++
		}
		due = what.next
	}
	if starts != maxAll {
		t.Errorf("%d runs are started", starts)
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

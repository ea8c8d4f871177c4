package schedule

import (
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

// shift is more than any clock is set forward or back.
const shift = 3 * time.Hour

// next returns the first time after t that an expression matches in a time zone, or the
// zero time.
//
// The library is right except where the clock is set. A time that exists twice is then
// due twice, which is right for hours that are given as *, and for no others. One that
// does not exist is left out in some cases. So these are computed here, from times of a
// clock that is never set.
func next(expression string, parsed cron.Schedule, zone *time.Location, t time.Time) time.Time {
	t = t.In(zone)
	found := parsed.Next(t)
	if everyHour(expression) || steady(t.Add(-shift), found.Add(shift)) && !found.IsZero() {
		return found
	}
	var first time.Time
	for n := parsed.Next(wall(t).Add(-shift)); !n.IsZero(); n = parsed.Next(n) {
		if !first.IsZero() && n.After(wall(first).Add(shift)) {
			break
		}
		if exact := inZone(n, zone); exact.After(t) && (first.IsZero() || exact.Before(first)) {
			first = exact
		}
	}
	return first
}

// everyHour reports whether the hours of an expression are given as *, perhaps with a
// step.
func everyHour(expression string) bool {
	fields := strings.Fields(expression)
	if len(fields) < 2 {
		return expression == "@hourly"
	}
	return strings.HasPrefix(fields[1], "*")
}

// steady reports whether the clock is not set from one time to another.
func steady(from, to time.Time) bool {
	_, end := from.ZoneBounds()
	return end.IsZero() || to.Before(end)
}

// wall returns what the clock shows, as a time in UTC.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// inZone returns when the clock of a zone shows what n does in UTC: for the first time,
// if it does so twice. If it never does, the time is as much later as the clock is set
// forward.
func inZone(n time.Time, zone *time.Location) time.Time {
	at := func(near time.Time) time.Time {
		_, offset := near.In(zone).Zone()
		return n.Add(-time.Duration(offset) * time.Second).In(zone)
	}
	const day = 24 * time.Hour // more than any offset
	before, after := at(n.Add(-day)), at(n.Add(day))
	if wall(before).Equal(n) || !wall(after).Equal(n) {
		return before
	}
	return after
}

package cli

import (
	"strings"
	"testing"
)

// Schedules can be managed on a server and in its database.
func TestScheduleCommands(t *testing.T) {
	for name, target := range map[string]func(*service) []string{
		"server": func(s *service) []string { return []string{"PARLEY_SERVER=" + s.url} },
		"database": func(s *service) []string {
			return []string{"PARLEY_SESSION_DB_URL=" + s.database, "PARLEY_APP_NAME=assistant"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, nil)
			environ := target(s)
			do, contains := s.command(t, environ, "schedules")
			contains(do(ExitUsage, "create", "x", "--cron", "@daily"), "--message")
			contains(do(ExitFailure, "create", "x", "--cron", "every day", "--message", "hi"), "cron")
			contains(do(ExitOK, "create", "daily", "--cron", "0 9 * * MON-FRI", "--time_zone", "Europe/Berlin", "--message", "good morning"),
				"daily", "0 9 * * MON-FRI Europe/Berlin", "good morning", "then")
			do(ExitOK, "create", "often", "--every", "90m", "--message", "hi", "--session", "s1")
			contains(do(ExitOK, "list"), "daily", "often", "every 1h30m0s", "s1")
			contains(do(ExitOK, "list", "--json"), `"intervalSeconds":5400`)
			contains(do(ExitUsage, "create", "x", "--cron", "@daily", "--message", "hi", "--missed_after", "1500ms"), "--missed_after")
			contains(do(ExitOK, "create", "state", "--every", "1h", "--session", "s2", "--state", "unit=celsius", "--state", `list=["a"]`, "--missed_after", "5m", "--json"),
				`"stateDelta":{"list":["a"],"unit":"celsius"}`, `"missedAfterSeconds":300`)
			contains(do(ExitUsage, "update", "daily"), "nothing to change")
			contains(do(ExitFailure, "update", "none", "--missed", "all"), "not found")
			contains(do(ExitFailure, "update", "daily", "--cron", "every day"), "cron")
			contains(do(ExitOK, "update", "daily", "--missed", "all", "--state", "day=1", "--start_at", "2030-01-01T00:00:00Z", "--json"),
				`"cron":"0 9 * * MON-FRI"`, `"timeZone":"Europe/Berlin"`, `"missed":"all"`, `"stateDelta":{"day":1}`, `"startAt":"2030-01-01T00:00:00Z"`, "good morning")
			changed := do(ExitOK, "update", "daily", "--every", "2h", "--state", "", "--start_at", "", "--json")
			contains(changed, `"intervalSeconds":7200`, "good morning")
			if strings.Contains(changed, "cron") || strings.Contains(changed, "timeZone") || strings.Contains(changed, "stateDelta") || strings.Contains(changed, "startAt") {
				t.Error(changed)
			}
			contains(do(ExitOK, "update", "daily", "--cron", "@daily"), "@daily")
			contains(do(ExitOK, "pause", "daily"), "paused")
			contains(do(ExitOK, "resume", "daily", "--json"), `"paused":false`)
			if name == "server" {
				contains(do(ExitOK, "run", "often"), "started", "s1")
				contains(do(ExitOK, "show", "often"), "every", "started")
				contains(do(ExitOK, "show", "often", "--json"), `"manual":true`)
			} else {
				contains(do(ExitUsage, "run", "often"), "needs a server")
			}
			do(ExitOK, "delete", "daily")
			contains(do(ExitFailure, "show", "daily"), "not found")
		})
	}
}

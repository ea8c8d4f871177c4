package cli

import (
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

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newSchedules(env *Env) *cobra.Command {
	i := &items{
		env: env, one: "schedule",
		path: func(c *client) []string { return []string{"apps", c.app, "users", c.user, "schedules"} },
		show: func(_ *client, doc json.RawMessage) error { return showSchedule(env, doc) },
	}
	return group(env, &cobra.Command{
		Use:   "schedules",
		Short: "List, create, change and run schedules",
		Long: `List, create, change and run the schedules of a user: on a server that runs, or in
a database that servers share. A schedule sends a message as the user, at certain times.`,
		Example: `  parley schedules create morning --cron "0 9 * * MON-FRI" --time_zone Europe/Berlin \
      --message "What is the weather in Oslo?"
  parley schedules show morning
  parley schedules pause morning`,
	},
		i.list("List the schedules of a user", "List the schedules of a user, and when they are due.", scheduleRow, "SCHEDULE", "WHEN", "NEXT", "SESSION", "MESSAGE"),
		i.details("Show a schedule, and what has come of it", "Show a schedule, its next times, and the latest runs that it has started.", "firings",
			func(doc json.RawMessage) error { return showFirings(env, doc) }),
		newSchedulesCreate(i), newSchedulesRun(i),
		i.change("pause", "Pause a schedule", "Pause a schedule: it is not due until it is resumed.", http.MethodPatch, map[string]bool{"paused": true}),
		i.change("resume", "Resume a schedule", "Resume a schedule that was paused: it is due at its next time.", http.MethodPatch, map[string]bool{"paused": false}),
		i.delete("Its runs go on, and its sessions stay."))
}

// scheduleDocument is a schedule as the server sends it.
type scheduleDocument struct {
	ID          string      `json:"id"`
	Description string      `json:"description"`
	Cron        string      `json:"cron"`
	TimeZone    string      `json:"timeZone"`
	Interval    int64       `json:"intervalSeconds"`
	At          time.Time   `json:"at"`
	SessionID   string      `json:"sessionId"`
	Missed      string      `json:"missed"`
	Paused      bool        `json:"paused"`
	Next        *time.Time  `json:"nextAt"`
	Upcoming    []time.Time `json:"upcoming"`
	Message     struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"newMessage"`
}

// when says when the schedule is due.
func (s *scheduleDocument) when() string {
	switch {
	case s.Cron != "":
		return strings.TrimSpace(s.Cron + " " + s.TimeZone)
	case s.Interval > 0:
		return "every " + (time.Duration(s.Interval) * time.Second).String()
	}
	return shortTime(s.At)
}

// next says when the schedule is due next.
func (s *scheduleDocument) next() string {
	switch {
	case s.Paused:
		return "paused"
	case s.Next == nil:
		return "never"
	}
	return shortTime(*s.Next)
}

// shortTime is a time as the tables show it, in the zone of the reader.
func shortTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") } //nolint:gosmopolitan // for the reader

func (s *scheduleDocument) text() string {
	var texts []string
	for _, part := range s.Message.Parts {
		texts = append(texts, part.Text)
	}
	return strings.Join(texts, " ")
}

// firingDocument is a firing as the server sends it.
type firingDocument struct {
	Time      time.Time `json:"time"`
	Outcome   string    `json:"outcome"`
	Manual    bool      `json:"manual"`
	SessionID string    `json:"sessionId"`
	RunID     string    `json:"runId"`
	Error     string    `json:"error"`
}

func scheduleRow(doc json.RawMessage) ([]string, error) {
	var s scheduleDocument
	err := json.Unmarshal(doc, &s)
	return []string{s.ID, s.when(), s.next(), s.SessionID, cut(s.text(), 60)}, err
}

func showSchedule(env *Env, text json.RawMessage) error {
	var s scheduleDocument
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	facts := newFacts(env)
	facts.row("schedule", s.ID)
	facts.row("description", s.Description)
	facts.row("when", s.when())
	facts.row("next", s.next())
	for i, t := range s.Upcoming {
		if i > 0 {
			facts.row("then", shortTime(t))
		}
	}
	facts.row("session", s.SessionID)
	facts.row("message", s.text())
	facts.row("missed times", s.Missed)
	return facts.flush()
}

// mostFirings is how many firings are shown.
const mostFirings = 20

func showFirings(env *Env, text json.RawMessage) error {
	var list []firingDocument
	if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
		return err
	}
	fmt.Fprintln(env.Stdout)
	rows := newTable(env, "TIME", "OUTCOME", "SESSION", "RUN", "ERROR")
	for _, f := range list[:min(len(list), mostFirings)] {
		rows.row(shortTime(f.Time), f.Outcome, f.SessionID, f.RunID, f.Error)
	}
	return rows.flush()
}

func newSchedulesCreate(i *items) *cobra.Command {
	var (
		cron, zone, at, start, end, message, id, missed, description, policy string
		every                                                                time.Duration
	)
	cmd := i.command(&cobra.Command{
		Use:   "create [schedule]",
		Short: "Create a schedule",
		Long: `Create a schedule with a name, or with one that the server makes up. It needs a
--message, and one of --cron, --every and --at.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		if message == "" {
			return &usageError{"--message must be given"}
		}
		if every%time.Second != 0 {
			return &usageError{"--every must be a number of whole seconds"}
		}
		doc := map[string]any{"newMessage": map[string]any{"role": "user", "parts": []any{map[string]string{"text": message}}}}
		if len(args) > 0 {
			doc["id"] = args[0]
		}
		for name, value := range map[string]string{
			"cron": cron, "timeZone": zone, "at": at, "startAt": start, "endAt": end, "sessionId": id,
			"missed": missed, "description": description, "concurrency": policy,
		} {
			if value != "" {
				doc[name] = value
			}
		}
		if every != 0 {
			doc["intervalSeconds"] = int64(every / time.Second)
		}
		return i.send(ctx, c, asJSON, http.MethodPost, doc)
	})
	section(cmd, "Schedule", func(flags *pflag.FlagSet) {
		flags.StringVar(&message, "message", "", "`text` to send")
		flags.StringVar(&cron, "cron", "", "cron `expression` with five fields, or a name such as @daily")
		flags.StringVar(&zone, "time_zone", "", "time `zone` of --cron, such as Europe/Berlin (default UTC)")
		flags.DurationVar(&every, "every", 0, "`interval`, such as 90m")
		flags.StringVar(&at, "at", "", "one `time`, such as 2026-12-01T09:00:00+01:00")
		flags.StringVar(&start, "start_at", "", "not before this `time`")
		flags.StringVar(&end, "end_at", "", "not after this `time`")
		flags.StringVar(&id, "session", "", "`id` of the session of all runs (default a new one for each)")
		flags.StringVar(&policy, "concurrency", "", "`policy` if the session is busy: enqueue, reject, interrupt\nor rollback")
		flags.StringVar(&missed, "missed", "", "`policy` for times without a server: skip, once or all\n(default skip)")
		flags.StringVar(&description, "description", "", "`text` for people")
	})
	return cmd
}

func newSchedulesRun(i *items) *cobra.Command {
	return i.named("run", "Start what a schedule starts, now", "Start what a schedule starts, now. When it is due does not change. It needs a server.",
		func(ctx context.Context, c *client, asJSON bool, args []string) error {
			if c.database {
				return &usageError{"a run needs a server, which has the agent: give --server"}
			}
			var text json.RawMessage
			if err := c.call(ctx, &text, http.MethodPost, nil, i.at(c, args[0], "run")...); err != nil {
				return err
			}
			if asJSON {
				return i.env.writeJSON(text)
			}
			return showFirings(i.env, json.RawMessage("["+string(text)+"]"))
		})
}

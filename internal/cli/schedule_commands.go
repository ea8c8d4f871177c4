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
  parley schedules update morning --cron "30 8 * * MON-FRI"
  parley schedules show morning
  parley schedules pause morning`,
	},
		i.list("List the schedules of a user", "List the schedules of a user, and when they are due.", scheduleRow, "SCHEDULE", "WHEN", "NEXT", "SESSION", "MESSAGE"),
		i.details("Show a schedule, and what has come of it", "Show a schedule, its next times, and the latest runs that it has started.", "firings",
			func(doc json.RawMessage) error { return showFirings(env, doc) }),
		newSchedulesCreate(i), newSchedulesUpdate(i), newSchedulesRun(i),
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
	s := &saving{}
	s.cmd = i.command(&cobra.Command{
		Use:   "create [schedule]",
		Short: "Create a schedule",
		Long: `Create a schedule with a name, or with one that the server makes up. It needs a
--message or a --state, and one of --cron, --every and --at. With a state alone, it changes the
state of its session, and starts no run.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		doc, err := s.doc()
		if err != nil {
			return err
		}
		if doc["newMessage"] == nil && doc["stateDelta"] == nil {
			return &usageError{"--message or --state must be given"}
		}
		if len(args) > 0 {
			doc["id"] = args[0]
		}
		return i.send(ctx, c, asJSON, http.MethodPost, doc)
	})
	scheduleFlags(s)
	return s.cmd
}

func newSchedulesUpdate(i *items) *cobra.Command {
	s := &saving{update: true}
	s.cmd = i.named("update", "Change a schedule", `Change what is given of a schedule; an empty value resets it. One of --cron, --every and --at
replaces the others.`, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		doc, err := s.doc()
		if err != nil {
			return err
		}
		if doc["cron"] != nil || doc["intervalSeconds"] != nil || doc["at"] != nil { // there is one of them
			for _, other := range []string{"cron", "intervalSeconds", "at"} {
				if _, ok := doc[other]; !ok {
					doc[other] = nil
				}
			}
			if _, ok := doc["timeZone"]; !ok && doc["cron"] == nil {
				doc["timeZone"] = nil
			}
		}
		return i.send(ctx, c, asJSON, http.MethodPatch, doc, args[0])
	})
	scheduleFlags(s)
	return s.cmd
}

// scheduleFlags adds the flags with what a schedule is.
func scheduleFlags(s *saving) {
	section(s.cmd, "Schedule", func(flags *pflag.FlagSet) {
		message := flags.String("message", "", "`text` to send")
		s.value("message", "newMessage", func() (any, error) {
			if *message == "" {
				return nil, nil
			}
			return map[string]any{"role": "user", "parts": []any{map[string]string{"text": *message}}}, nil
		})
		s.state(flags)
		s.text(flags, "cron", "cron", "cron `expression` with five fields, or a name such as @daily")
		s.text(flags, "time_zone", "timeZone", "time `zone` of --cron, such as Europe/Berlin (default UTC)")
		s.seconds(flags, "every", "intervalSeconds", "`interval`, such as 90m")
		s.text(flags, "at", "at", "one `time`, such as 2026-12-01T09:00:00+01:00")
		s.text(flags, "start_at", "startAt", "not before this `time`")
		s.text(flags, "end_at", "endAt", "not after this `time`")
		s.text(flags, "session", "sessionId", "`id` of the session of all runs (default a new one for each)")
		s.text(flags, "concurrency", "concurrency", "`policy` if the session is busy: enqueue, reject, interrupt\nor rollback")
		s.text(flags, "missed", "missed", "`policy` for times without a server: skip, once or all\n(default skip)")
		s.seconds(flags, "missed_after", "missedAfterSeconds", "`time` after which it is missed, such as 10m (default 10m)")
		s.text(flags, "description", "description", "`text` for people")
	})
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

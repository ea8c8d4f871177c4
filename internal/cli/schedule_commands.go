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
	cmd := &cobra.Command{
		Use:   "schedules",
		Short: "List, create, change and run schedules",
		Long: `List, create, change and run the schedules of a user: on a server that runs, or in
a database that servers share. A schedule sends a message as the user, at certain times.`,
		Example: `  parley schedules create morning --cron "0 9 * * MON-FRI" --time_zone Europe/Berlin \
      --message "What is the weather in Oslo?"
  parley schedules show morning
  parley schedules pause morning`,
		GroupID: groupMore,
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { writeHelp(env.Stdout, cmd); return nil },
	}
	cmd.AddGroup(&cobra.Group{ID: groupSessions, Title: "Commands"})
	cmd.AddCommand(newSchedulesList(env), newSchedulesShow(env), newSchedulesCreate(env), newSchedulesRun(env),
		newSchedulesPause(env, "pause", "Pause a schedule", "Pause a schedule: it is not due until it is resumed.", true),
		newSchedulesPause(env, "resume", "Resume a schedule", "Resume a schedule that was paused: it is due at its next time.", false),
		newSchedulesDelete(env))
	return cmd
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

// schedules returns the parts of the path of the user's schedules, or below one.
func (c *client) schedules(below ...string) []string {
	return append([]string{"apps", c.app, "users", c.user, "schedules"}, below...)
}

func newSchedulesList(env *Env) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "list",
		Short: "List the schedules of a user",
		Long:  "List the schedules of a user, and when they are due.",
		Args:  takes(0),
	}, func(ctx context.Context, c *client, _ []string) error {
		var list []json.RawMessage
		if err := c.get(ctx, &list, c.schedules()...); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(list)
		}
		rows := newTable(env, "SCHEDULE", "WHEN", "NEXT", "SESSION", "MESSAGE")
		for _, one := range list {
			var s scheduleDocument
			if err := json.Unmarshal(one, &s); err != nil {
				return err
			}
			rows.row(s.ID, s.when(), s.next(), s.SessionID, cut(s.text(), 60))
		}
		return rows.flush()
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newSchedulesShow(env *Env) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "show schedule",
		Short: "Show a schedule, and what has come of it",
		Long:  "Show a schedule, its next times, and the latest runs that it has started.",
		Args:  takes(1, "the schedule"),
	}, func(ctx context.Context, c *client, args []string) error {
		var text, fired json.RawMessage
		if err := c.get(ctx, &text, c.schedules(args[0])...); err != nil {
			return err
		}
		if err := c.get(ctx, &fired, c.schedules(args[0], "firings")...); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(map[string]json.RawMessage{"schedule": text, "firings": fired})
		}
		if err := showSchedule(env, text); err != nil {
			return err
		}
		return showFirings(env, fired)
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
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

func newSchedulesCreate(env *Env) *cobra.Command {
	var (
		asJSON                                                               bool
		cron, zone, at, start, end, message, id, missed, description, policy string
		every                                                                time.Duration
	)
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "create [schedule]",
		Short: "Create a schedule",
		Long: `Create a schedule with a name, or with one that the server makes up. It needs a
--message, and one of --cron, --every and --at.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, args []string) error {
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
		return changeSchedule(ctx, env, c, asJSON, http.MethodPost, doc, c.schedules()...)
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
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// changeSchedule sends a change, and shows the schedule as it is then.
func changeSchedule(ctx context.Context, env *Env, c *client, asJSON bool, method string, doc any, parts ...string) error {
	var text json.RawMessage
	if err := c.call(ctx, &text, method, doc, parts...); err != nil {
		return err
	}
	if asJSON {
		return env.writeJSON(text)
	}
	return showSchedule(env, text)
}

func newSchedulesPause(env *Env, name, short, long string, paused bool) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{Use: name + " schedule", Short: short, Long: long, Args: takes(1, "the schedule")},
		func(ctx context.Context, c *client, args []string) error {
			return changeSchedule(ctx, env, c, asJSON, http.MethodPatch, map[string]bool{"paused": paused}, c.schedules(args[0])...)
		})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newSchedulesRun(env *Env) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "run schedule",
		Short: "Start what a schedule starts, now",
		Long:  "Start what a schedule starts, now. When it is due does not change. It needs a server.",
		Args:  takes(1, "the schedule"),
	}, func(ctx context.Context, c *client, args []string) error {
		if c.database {
			return &usageError{"a run needs a server, which has the agent: give --server"}
		}
		var text json.RawMessage
		if err := c.call(ctx, &text, http.MethodPost, nil, c.schedules(args[0], "run")...); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(text)
		}
		return showFirings(env, json.RawMessage("["+string(text)+"]"))
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newSchedulesDelete(env *Env) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "delete schedule",
		Short: "Delete a schedule",
		Long:  "Delete a schedule. Its runs go on, and its sessions stay.",
		Args:  takes(1, "the schedule"),
	}, func(ctx context.Context, c *client, args []string) error {
		if err := c.call(ctx, nil, http.MethodDelete, nil, c.schedules(args[0])...); err != nil || !asJSON {
			return err
		}
		return env.writeJSON(map[string]string{"deleted": args[0]})
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

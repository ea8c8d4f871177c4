package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/session"
)

func newRuns(env *Env) *cobra.Command {
	return group(env, &cobra.Command{
		Use:   "runs",
		Short: "List, show, follow and cancel runs",
		Long: `List, show, follow and cancel the runs of a user's sessions: on a server that
runs, or in a database that servers share. A run is what one message starts.`,
		Example: `  parley runs list --status running --status waiting
  parley runs follow trip-to-oslo
  parley runs cancel trip-to-oslo e-k3v7qzt5mwn2xh4bj6rdyp3fca`,
	}, newRunsList(env), newRunsShow(env), newRunsFollow(env), newRunsCancel(env))
}

// runDocument is a run as the server sends it.
type runDocument struct {
	ID        string         `json:"id"`
	SessionID string         `json:"sessionId"`
	Status    session.Status `json:"status"`
	Stop      string         `json:"stop"`
	Resumes   string         `json:"resumes"`
	ResumedBy string         `json:"resumedBy"`
	Attempt   int            `json:"attempt"`
	Error     *struct {
		Type, Message string
	} `json:"error"`
	Usage struct {
		Total int64 `json:"totalTokenCount"`
	} `json:"usageMetadata"`
	CreateTime float64 `json:"createTime"`
	EndTime    float64 `json:"endTime"`
}

// tookTime is how long a run took, or has taken so far.
func (r *runDocument) tookTime() string {
	end := time.Now()
	if r.EndTime > 0 {
		end = instant(r.EndTime)
	}
	return end.Sub(instant(r.CreateTime)).Round(100 * time.Millisecond).String()
}

func newRunsList(env *Env) *cobra.Command {
	var (
		asJSON   bool
		most     int
		statuses []string
	)
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "list [session]",
		Short: "List the runs of a session, or of a user",
		Long: `List the runs of a session, the newest first. Without one, list those of all
sessions of the user.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, args []string) error {
		if most < 1 {
			return &usageError{"--limit must be at least 1"}
		}
		list, err := c.runs(ctx, args, statuses, most)
		if err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(list)
		}
		rows := newTable(env, "RUN", "SESSION", "STARTED", "TOOK", "STATUS", "TOKENS", "ERROR")
		for _, one := range list {
			var r runDocument
			if err := json.Unmarshal(one, &r); err != nil {
				return err
			}
			tokens, problem := "-", ""
			if r.Usage.Total > 0 {
				tokens = fmt.Sprint(r.Usage.Total)
			}
			if r.Error != nil {
				problem = cut(r.Error.Message, 60)
			}
			rows.row(r.ID, r.SessionID, moment(r.CreateTime), r.tookTime(), string(r.Status), tokens, problem)
		}
		return rows.flush()
	})
	section(cmd, "List", func(flags *pflag.FlagSet) {
		flags.StringSliceVar(&statuses, "status", nil, "only runs with this `status`: queued, running, waiting,\ncompleted, failed or cancelled; repeat it, or use commas")
		flags.IntVar(&most, "limit", 50, "maximum `number` of runs")
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// runs returns the newest runs with one of the statuses: of the session in args, or of
// all of them.
func (c *client) runs(ctx context.Context, args, statuses []string, most int) ([]json.RawMessage, error) {
	var list []json.RawMessage
	var err error
	if len(args) > 0 {
		list, err = c.list(ctx, 1000, url.Values{}, c.sessions(args[0], "runs")...)
	} else if list, err = c.list(ctx, most, url.Values{"status": statuses}, "dev", "apps", c.app, "users", c.user, "runs"); withoutDevelopers(err) {
		list, err = c.recentRuns(ctx)
	}
	if err != nil {
		return nil, err
	}
	chosen := []json.RawMessage{}
	for _, one := range list {
		var r runDocument
		if err := json.Unmarshal(one, &r); err != nil {
			return nil, err
		}
		if len(chosen) < most && (len(statuses) == 0 || slices.Contains(statuses, string(r.Status))) {
			chosen = append(chosen, one)
		}
	}
	return chosen, nil
}

// recentRuns returns runs of the newest sessions of a server that does not list them,
// session by session.
func (c *client) recentRuns(ctx context.Context) (list []json.RawMessage, err error) {
	sessions, err := c.list(ctx, 20, url.Values{}, c.sessions()...)
	for _, one := range sessions {
		var doc sessionDocument
		if err := json.Unmarshal(one, &doc); err != nil {
			return nil, err
		}
		runs, err := c.list(ctx, 20, url.Values{}, c.sessions(doc.ID, "runs")...)
		if err != nil {
			return nil, err
		}
		list = append(list, runs...)
	}
	return list, err
}

// run returns the id of the run in args, or that of the newest run of the session.
func (c *client) run(ctx context.Context, args []string) (string, error) {
	if len(args) > 1 {
		return args[1], nil
	}
	list, err := c.list(ctx, 1, url.Values{}, c.sessions(args[0], "runs")...)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", fmt.Errorf("the session %s has no runs", printable(args[0]))
	}
	var r runDocument
	err = json.Unmarshal(list[0], &r)
	return r.ID, err
}

func newRunsShow(env *Env) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "show session [run]",
		Short: "Show a run",
		Long:  "Show a run of a session, or the newest one: its status, its usage, and how it ended.",
		Args:  takes(2, "the session"),
	}, func(ctx context.Context, c *client, args []string) error {
		id, err := c.run(ctx, args)
		if err != nil {
			return err
		}
		var text json.RawMessage
		if err := c.get(ctx, &text, c.sessions(args[0], "runs", id)...); err != nil {
			return err
		}
		return showRun(env, asJSON, text)
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func showRun(env *Env, asJSON bool, text json.RawMessage) error {
	if asJSON {
		return env.writeJSON(text)
	}
	var r runDocument
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	facts := newFacts(env)
	facts.row("run", r.ID)
	facts.row("session", r.SessionID)
	facts.row("status", string(r.Status))
	facts.row("asked to", r.Stop)
	facts.row("started", moment(r.CreateTime))
	facts.row("took", r.tookTime())
	if r.Attempt > 1 {
		facts.row("servers", fmt.Sprint(r.Attempt))
	}
	if r.Usage.Total > 0 {
		facts.row("tokens", fmt.Sprint(r.Usage.Total))
	}
	facts.row("resumes", r.Resumes)
	facts.row("resumed by", r.ResumedBy)
	if r.Error != nil {
		facts.row("error", r.Error.Type+": "+r.Error.Message)
	}
	return facts.flush()
}

func newRunsFollow(env *Env) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "follow session [run]",
		Short: "Show what a run does, until it ends",
		Long: `Show the events of a run from its first one on, as they come, until it ends: of the
run that is named, or of the newest one of the session. With --json, every event
is a line, and pieces of texts are left out.

The exit code is 1 if the run fails or is cancelled.`,
		Args: takes(2, "the session"),
	}, func(ctx context.Context, c *client, args []string) error {
		id, err := c.run(ctx, args)
		if err != nil {
			return err
		}
		f := &follower{client: c, path: c.sessions(args[0], "runs", id, "events"), screen: newScreen(env), stdout: env.Stdout, json: asJSON}
		return f.follow(ctx)
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newRunsCancel(env *Env) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "cancel session run",
		Short: "Cancel a run",
		Long:  "Cancel a run that is queued or running. One that is over stays as it is.",
		Args:  takes(2, "the session", "the run"),
	}, func(ctx context.Context, c *client, args []string) error {
		var text json.RawMessage
		if err := c.call(ctx, &text, http.MethodPost, nil, c.sessions(args[0], "runs", args[1], "cancel")...); err != nil {
			return err
		}
		return showRun(env, asJSON, text)
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// follower shows the events of a run. It connects again where it was disconnected.
type follower struct {
	client *client
	path   []string
	screen *screen
	stdout io.Writer
	json   bool
	last   string        // the id of the last event
	retry  time.Duration // the pause that the server asks for
}

// Limits of follow: connections in a row without an event, the pause between them, the
// longest one that a server may ask for, and the size of a frame.
const (
	maxReconnects  = 10
	reconnectAfter = time.Second
	maxRetry       = 30 * time.Second
	maxFrame       = 256 << 20
)

func (f *follower) follow(ctx context.Context) error {
	for failed := 0; ; {
		before := f.last
		end, err := f.connect(ctx)
		switch _, refused := errors.AsType[*statusError](err); {
		case end != nil:
			return f.end(end)
		case refused || ctx.Err() != nil:
			return err
		case f.last != before:
			failed = 0
		}
		if failed++; failed > maxReconnects {
			return fmt.Errorf("the connection to the server is lost: %w", err)
		}
		select {
		case <-time.After(cmp.Or(min(f.retry, maxRetry), reconnectAfter)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// connect shows events until the run ends, and returns it. end is nil if the stream ends
// before.
func (f *follower) connect(ctx context.Context) (end *runDocument, err error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if f.last != "" {
		header.Set("Last-Event-ID", f.last)
	}
	resp, err := f.client.do(ctx, http.MethodGet, header, nil, nil, f.path...)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	events := sse.NewDecoder(resp.Body, maxFrame)
	defer func() { f.retry = events.Retry() }()
	for {
		ev, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case ev.Name == "end":
			end = &runDocument{}
			return end, json.Unmarshal(ev.Data, end)
		case ev.Name == "resume":
			return nil, errors.New("the server is shutting down")
		}
		if err := f.show(ev.Data, ev.ID); err != nil {
			return nil, err
		}
	}
}

// show shows an event. Pieces of a text have no id.
func (f *follower) show(text []byte, id string) error {
	if id != "" {
		f.last = id
	}
	switch {
	case !f.json:
		return f.screen.showJSON(text)
	case id == "":
		return nil
	}
	_, err := fmt.Fprintf(f.stdout, "%s\n", text)
	return err
}

// end says how the run ended.
func (f *follower) end(r *runDocument) error {
	f.screen.finish()
	switch {
	case r.Status == session.Waiting && !f.json:
		f.screen.line("The run waits for an answer.")
	case r.Status == session.Failed || r.Status == session.Cancelled:
		if r.Error != nil {
			return fmt.Errorf("the run is %s: %s", r.Status, printable(r.Error.Message))
		}
		return fmt.Errorf("the run is %s", r.Status)
	}
	return nil
}

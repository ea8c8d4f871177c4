package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/session"
)

// groupSessions is the group of commands below sessions, runs and schedules.
const groupSessions = "sessions"

func newSessions(env *Env) *cobra.Command {
	return group(env, &cobra.Command{
		Use:   "sessions",
		Short: "List, show, copy and delete sessions",
		Long: `List, show, rename, fork, export, import and delete the sessions of a user: on a
server that runs, or in a database.`,
		Example: `  parley sessions list
  parley sessions show trip-to-oslo --server https://agents.example.com --user alice
  parley sessions export trip-to-oslo --output oslo.jsonl
  parley sessions list --session_db_url sqlite:///var/lib/parley.db --app_name weather`,
	}, newSessionsList(env), newSessionsShow(env), newSessionsRename(env), newSessionsFork(env),
		newSessionsExport(env), newSessionsImport(env), newSessionsDelete(env))
}

// remoteCommand completes a command below sessions or runs, which works on a target.
func remoteCommand(env *Env, cmd *cobra.Command, do func(ctx context.Context, c *client, args []string) error) *cobra.Command {
	var t target
	cmd.GroupID = groupSessions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := t.open(cmd, env)
		if err != nil {
			return err
		}
		defer c.close()
		return do(cmd.Context(), c, args)
	}
	section(cmd, "Server, or database", t.define)
	return cmd
}

// sessionDocument is a session as the server sends it.
type sessionDocument struct {
	ID             string            `json:"id"`
	ForkedFrom     forkedFrom        `json:"forkedFrom"`
	State          session.State     `json:"state"`
	Events         []json.RawMessage `json:"events"`
	LastUpdateTime float64           `json:"lastUpdateTime"`
}

// forkedFrom is where a session comes from; empty for one that is not a fork.
type forkedFrom struct {
	Session string `json:"sessionId"`
	Replay  string `json:"replayOf"` // the run that the session repeats
}

// sessionOverview is a session in a list. Servers without the routes of developers send
// only the session.
type sessionOverview struct {
	Session    sessionDocument `json:"session"`
	Title      string          `json:"title"`
	EventCount int64           `json:"eventCount"`
	Status     string          `json:"status"`
}

func newSessionsList(env *Env) *cobra.Command {
	var (
		asJSON bool
		most   int
		text   string
	)
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "list",
		Short: "List the sessions of a user",
		Long: `List the sessions of a user, the newest first. The title of a session that parley
replay has made says which session it repeats.`,
		Args: takes(0),
	}, func(ctx context.Context, c *client, _ []string) error {
		if most < 1 {
			return &usageError{"--limit must be at least 1"}
		}
		query := url.Values{}
		if text != "" {
			query.Set("q", text)
		}
		list, err := c.list(ctx, most, query, append([]string{"dev"}, c.sessions()...)...)
		if withoutDevelopers(err) {
			query.Del("q")
			if text != "" {
				query.Set("title", text)
			}
			list, err = c.list(ctx, most, query, c.sessions()...)
			for i, one := range list {
				list[i] = slices.Concat([]byte(`{"session":`), one, []byte(`}`))
			}
		}
		if err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(list)
		}
		rows := newTable(env, "ID", "UPDATED", "EVENTS", "STATUS", "TITLE")
		for _, one := range list {
			var o sessionOverview
			if err := json.Unmarshal(one, &o); err != nil {
				return err
			}
			if o.Title == "" {
				o.Title = session.MetadataOf(o.Session.State).Title
			}
			events := "-"
			if o.EventCount > 0 {
				events = fmt.Sprint(o.EventCount)
			}
			title := cut(o.Title, 60)
			if from := o.Session.ForkedFrom; from.Replay != "" {
				title = strings.TrimSuffix("replay of "+from.Session+": "+title, ": ")
			}
			rows.row(o.Session.ID, moment(o.Session.LastUpdateTime), events, o.Status, title)
		}
		return rows.flush()
	})
	section(cmd, "List", func(flags *pflag.FlagSet) {
		flags.StringVar(&text, "search", "", "only sessions with this `text` in their id, title or last\nmessage")
		flags.IntVar(&most, "limit", 50, "maximum `number` of sessions")
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newSessionsShow(env *Env) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "show session",
		Short: "Show a session",
		Long:  "Show a session: its title, its state, and what was said and done.",
		Args:  takes(1, "the session"),
	}, func(ctx context.Context, c *client, args []string) error {
		var text json.RawMessage
		if err := c.get(ctx, &text, c.sessions(args[0])...); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(text)
		}
		var doc sessionDocument
		if err := json.Unmarshal(text, &doc); err != nil {
			return err
		}
		return showSession(env, c, &doc)
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func showSession(env *Env, c *client, doc *sessionDocument) error {
	facts := newFacts(env)
	facts.row("session", doc.ID)
	facts.row("title", session.MetadataOf(doc.State).Title)
	facts.row("of", c.user+" with "+c.app)
	if from := doc.ForkedFrom; from.Replay != "" {
		facts.row("replay of", "the run "+from.Replay+" of the session "+from.Session)
	}
	facts.row("updated", moment(doc.LastUpdateTime))
	facts.row("events", fmt.Sprint(len(doc.Events)))
	for _, name := range slices.Sorted(maps.Keys(doc.State)) {
		if name != session.MetadataKey {
			facts.row("state", name+" = "+short(doc.State[name]))
		}
	}
	if err := facts.flush(); err != nil || len(doc.Events) == 0 {
		return err
	}
	fmt.Fprintln(env.Stdout)
	out := newScreen(env)
	for _, text := range doc.Events {
		if err := out.showJSON(text); err != nil {
			return err
		}
	}
	out.finish()
	return nil
}

// showJSON shows an event, and the error that it reports.
func (s *screen) showJSON(text []byte) error {
	ev := &event.Event{}
	if err := ev.UnmarshalJSON(text); err != nil {
		return err
	}
	s.show(ev)
	if ev.ErrorCode != "" && !ev.Partial {
		s.note("!", ev.ErrorCode, ev.ErrorMessage)
	}
	return nil
}

func newSessionsRename(env *Env) *cobra.Command {
	var asJSON bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "rename session title",
		Short: "Set the title of a session",
		Long:  "Set the title of a session, which lists show. An empty one removes it.",
		Args:  takes(2, "the session", "the title"),
	}, func(ctx context.Context, c *client, args []string) error {
		var doc sessionDocument
		if err := c.get(ctx, &doc, c.sessions(args[0])...); err != nil {
			return err
		}
		metadata := map[string]any{} // with labels, and what else is there
		_ = json.Unmarshal(doc.State[session.MetadataKey], &metadata)
		if metadata == nil { // null
			metadata = map[string]any{}
		}
		if metadata["displayName"] = args[1]; args[1] == "" {
			delete(metadata, "displayName")
		}
		delta := map[string]any{"stateDelta": map[string]any{session.MetadataKey: metadata}}
		if err := c.call(ctx, nil, http.MethodPatch, delta, c.sessions(args[0])...); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(map[string]string{"id": args[0], "title": args[1]})
		}
		fmt.Fprintf(env.Stdout, "The session %s is called %q.\n", printable(args[0]), args[1])
		return nil
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newSessionsFork(env *Env) *cobra.Command {
	var (
		asJSON bool
		fork   struct {
			AtEvent string `json:"atEventId,omitempty"`
			Before  string `json:"beforeInvocationId,omitempty"`
			ID      string `json:"sessionId,omitempty"`
		}
	)
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "fork session",
		Short: "Copy a session, or the beginning of one",
		Long:  "Make a session that begins with the history of another one, or with a part of it.",
		Args:  takes(1, "the session"),
	}, func(ctx context.Context, c *client, args []string) error {
		var doc sessionDocument
		if err := c.call(ctx, &doc, http.MethodPost, fork, c.sessions(args[0], "fork")...); err != nil {
			return err
		}
		return made(env, asJSON, &doc)
	})
	section(cmd, "Fork", func(flags *pflag.FlagSet) {
		flags.StringVar(&fork.AtEvent, "at_event", "", "`id` of the last event to copy")
		flags.StringVar(&fork.Before, "before_run", "", "`id` of the run before which to end")
		flags.StringVar(&fork.ID, "session", "", "`id` of the new session (default a new one)")
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// made says which session was made.
func made(env *Env, asJSON bool, doc *sessionDocument) error {
	if asJSON {
		return env.writeJSON(map[string]any{"id": doc.ID, "events": len(doc.Events)})
	}
	_, err := fmt.Fprintf(env.Stdout, "The session %s has %d events.\n", printable(doc.ID), len(doc.Events))
	return err
}

func newSessionsExport(env *Env) *cobra.Command {
	var output string
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "export session",
		Short: "Write a session to a file",
		Long: `Write a session to a file or to standard output, as JSON lines: one about the
session, and one for each event. parley sessions import reads it.`,
		Args: takes(1, "the session"),
	}, func(ctx context.Context, c *client, args []string) (err error) {
		resp, err := c.do(ctx, http.MethodGet, nil, nil, nil, c.sessions(args[0], "export")...)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if output == "" || output == "-" {
			_, err = io.Copy(env.Stdout, resp.Body)
			return err
		}
		file, err := os.OpenFile(env.path(output), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, resp.Body)
		return errors.Join(err, file.Close())
	})
	section(cmd, "Export", func(flags *pflag.FlagSet) {
		flags.StringVar(&output, "output", "", "new `file` to write (default standard output)")
	})
	return cmd
}

func newSessionsImport(env *Env) *cobra.Command {
	var (
		asJSON bool
		id     string
	)
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "import file",
		Short: "Make a session of a file",
		Long: `Make a session of a file, or of standard input if the file is -: of what parley
sessions export wrote, or of a session as JSON, which parley run --save_session and
adk-web write.`,
		Args: takes(1, "the file"),
	}, func(ctx context.Context, c *client, args []string) error {
		in := env.Stdin
		if args[0] != "-" {
			file, err := os.Open(env.path(args[0]))
			if err != nil {
				return err
			}
			defer file.Close()
			in = file
		}
		text, err := io.ReadAll(io.LimitReader(in, maxDocument))
		if err != nil {
			return err
		}
		if id == "" {
			id = ident.Session()
		}
		header := http.Header{"Content-Type": {"application/jsonl"}}
		resp, err := c.do(ctx, http.MethodPost, header, nil, bytes.NewReader(exportLines(text)), c.sessions(id, "import")...)
		if err != nil {
			return err
		}
		var doc sessionDocument
		if err := decode(resp, &doc); err != nil {
			return err
		}
		return made(env, asJSON, &doc)
	})
	section(cmd, "Import", func(flags *pflag.FlagSet) {
		flags.StringVar(&id, "session", "", "`id` of the session (default a new one)")
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// exportLines makes lines of a session that is one document. Any other text is
// returned as it is: the server says what is wrong with it.
func exportLines(text []byte) []byte {
	var doc struct {
		State  json.RawMessage   `json:"state"`
		Events []json.RawMessage `json:"events"`
	}
	if json.Unmarshal(text, &doc) != nil || doc.Events == nil {
		return text
	}
	if len(doc.State) == 0 {
		doc.State = json.RawMessage("{}")
	}
	lines := bytes.NewBufferString(`{"parley":1,"state":`)
	_ = json.Compact(lines, doc.State) // it has been read
	lines.WriteByte('}')
	for _, ev := range doc.Events {
		lines.WriteByte('\n')
		_ = json.Compact(lines, ev)
	}
	return lines.Bytes()
}

func newSessionsDelete(env *Env) *cobra.Command {
	var asJSON, yes bool
	cmd := remoteCommand(env, &cobra.Command{
		Use:   "delete session...",
		Short: "Delete sessions",
		Long: `Delete sessions, with their events, runs and files. In a terminal, it asks first,
unless --yes is given.`,
		Args: needs("the session"),
	}, func(ctx context.Context, c *client, args []string) error {
		if !yes && env.StdinTerminal && !asJSON {
			fmt.Fprintf(env.Stdout, "Delete %s of %s for good (y/N)? ", printable(strings.Join(args, ", ")), c.user)
			var answer string
			if _, err := fmt.Fscanln(env.Stdin, &answer); err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
				return errors.New("nothing was deleted")
			}
		}
		for _, id := range args { // deleting one that does not exist is not an error of the server
			if err := c.get(ctx, nil, c.sessions(id)...); err != nil {
				return fmt.Errorf("%s: %w", printable(id), err)
			}
		}
		for _, id := range args {
			if err := c.call(ctx, nil, http.MethodDelete, nil, c.sessions(id)...); err != nil {
				return fmt.Errorf("%s: %w", printable(id), err)
			}
			if !asJSON {
				fmt.Fprintf(env.Stdout, "The session %s is deleted.\n", printable(id))
			}
		}
		if asJSON {
			return env.writeJSON(map[string][]string{"deleted": args})
		}
		return nil
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

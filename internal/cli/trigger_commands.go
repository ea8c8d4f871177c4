package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newTriggers(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "triggers",
		Short: "List, create and change triggers",
		Long: `List, create and change the triggers of an application on a server that runs. A trigger
starts a run when another service sends a request to its address.`,
		Example: `  parley triggers create issues --check github --event issues.opened \
      --session "issue-{{ body.issue.number }}" --message "A new issue: {{ body.issue.title }}"
  parley triggers show issues
  parley triggers pause issues`,
		GroupID: groupMore,
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { writeHelp(env.Stdout, cmd); return nil },
	}
	cmd.AddGroup(&cobra.Group{ID: groupSessions, Title: "Commands"})
	change := func(name, short, long string, doc any) *cobra.Command {
		return newTriggersChange(env, name, short, long, doc)
	}
	cmd.AddCommand(newTriggersList(env), newTriggersShow(env), newTriggersCreate(env),
		change("pause", "Pause a trigger", "Pause a trigger: it accepts requests, and starts no runs.", map[string]bool{"paused": true}),
		change("resume", "Resume a trigger", "Resume a trigger that was paused.", map[string]bool{"paused": false}),
		change("rotate", "Give a trigger another secret", "Give a trigger another secret, and print it. The one before does not count any more.", map[string]any{"secret": nil}),
		newTriggersDelete(env))
	return cmd
}

// triggerDocument is a trigger as the server sends it.
type triggerDocument struct {
	Name        string   `json:"name"`
	Path        string   `json:"path"`
	Description string   `json:"description"`
	Check       string   `json:"check"`
	UserID      string   `json:"userId"`
	SessionID   string   `json:"sessionId"`
	Message     string   `json:"message"`
	Events      []string `json:"events"`
	Paused      bool     `json:"paused"`
	Source      string   `json:"source"`
	Problem     string   `json:"problem"`
	Secret      string   `json:"secret"`
}

// status says whether the trigger starts runs.
func (t *triggerDocument) status() string {
	switch {
	case t.Problem != "":
		return t.Problem
	case t.Paused:
		return "paused"
	}
	return "ready"
}

// deliveryDocument is a delivery as the server sends it.
type deliveryDocument struct {
	Time      time.Time `json:"time"`
	Outcome   string    `json:"outcome"`
	EventType string    `json:"eventType"`
	SessionID string    `json:"sessionId"`
	RunID     string    `json:"runId"`
	Reason    string    `json:"reason"`
}

// triggers returns the parts of the path of the application's triggers, or below one.
func (c *client) triggers(below ...string) []string {
	return append([]string{"apps", c.app, "triggers"}, below...)
}

// triggerCommand is a remoteCommand that needs a server, which has the key for secrets.
func triggerCommand(env *Env, cmd *cobra.Command, run func(ctx context.Context, c *client, args []string) error) *cobra.Command {
	return remoteCommand(env, cmd, func(ctx context.Context, c *client, args []string) error {
		if c.database {
			return &usageError{"triggers need a server, which has the key that their secrets are sealed with: give --server"}
		}
		return run(ctx, c, args)
	})
}

func newTriggersList(env *Env) *cobra.Command {
	var asJSON bool
	cmd := triggerCommand(env, &cobra.Command{
		Use:   "list",
		Short: "List the triggers of an application",
		Long:  "List the triggers of an application that you may see.",
		Args:  takes(0),
	}, func(ctx context.Context, c *client, _ []string) error {
		var list []json.RawMessage
		if err := c.get(ctx, &list, c.triggers()...); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(list)
		}
		rows := newTable(env, "TRIGGER", "CHECK", "USER", "SESSION", "SOURCE", "STATUS")
		for _, one := range list {
			var t triggerDocument
			if err := json.Unmarshal(one, &t); err != nil {
				return err
			}
			rows.row(t.Name, t.Check, t.UserID, t.SessionID, t.Source, t.status())
		}
		return rows.flush()
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newTriggersShow(env *Env) *cobra.Command {
	var asJSON bool
	cmd := triggerCommand(env, &cobra.Command{
		Use:   "show trigger",
		Short: "Show a trigger, and what has come of it",
		Long:  "Show a trigger, its address, and the latest requests that the server has got for it.",
		Args:  takes(1, "the trigger"),
	}, func(ctx context.Context, c *client, args []string) error {
		var text, past json.RawMessage
		if err := c.get(ctx, &text, c.triggers(args[0])...); err != nil {
			return err
		}
		if err := c.get(ctx, &past, c.triggers(args[0], "deliveries")...); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(map[string]json.RawMessage{"trigger": text, "deliveries": past})
		}
		if err := showTrigger(env, c, text); err != nil {
			return err
		}
		var list []deliveryDocument
		if err := json.Unmarshal(past, &list); err != nil || len(list) == 0 {
			return err
		}
		fmt.Fprintln(env.Stdout)
		rows := newTable(env, "TIME", "OUTCOME", "EVENT", "SESSION", "RUN", "REASON")
		for _, d := range list {
			rows.row(shortTime(d.Time), d.Outcome, d.EventType, d.SessionID, d.RunID, d.Reason)
		}
		return rows.flush()
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func showTrigger(env *Env, c *client, text json.RawMessage) error {
	var t triggerDocument
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	facts := newFacts(env)
	facts.row("trigger", t.Name)
	facts.row("description", t.Description)
	facts.row("address", c.base.JoinPath(t.Path).String())
	facts.row("check", t.Check)
	facts.row("events", strings.Join(t.Events, ", "))
	facts.row("user", t.UserID)
	facts.row("session", t.SessionID)
	facts.row("message", cut(t.Message, 200))
	facts.row("status", t.status())
	facts.row("secret", t.Secret)
	if err := facts.flush(); err != nil {
		return err
	}
	if t.Secret != "" {
		fmt.Fprintln(env.Stderr, "The secret is not shown again.")
	}
	return nil
}

func newTriggersCreate(env *Env) *cobra.Command {
	var (
		asJSON          bool
		file            string
		events, matches []string
	)
	texts := map[string]*string{}
	cmd := triggerCommand(env, &cobra.Command{
		Use:   "create [trigger]",
		Short: "Create a trigger",
		Long: `Create a trigger with a name, or with one that the server makes up, and print its secret.
It is shown this once. --check is how the trigger knows who sends a request: secret,
standard-webhooks, github, slack, stripe or google. --user, --session, --message and
--delivery_id may have placeholders such as {{ body.issue.title }}.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, args []string) error {
		doc := map[string]any{"userId": c.user}
		if len(args) > 0 {
			doc["name"] = args[0]
		}
		for name, value := range texts {
			if *value != "" {
				doc[name] = *value
			}
		}
		if doc["check"] == nil {
			return &usageError{"--check must be given"}
		}
		if len(events) > 0 {
			doc["events"] = events
		}
		match := map[string][]string{}
		for _, one := range matches {
			path, value, ok := strings.Cut(one, "=")
			if !ok {
				return &usageError{fmt.Sprintf("--match: %q is not like body.ref=refs/heads/main", one)}
			}
			match[path] = append(match[path], value)
		}
		if len(match) > 0 {
			doc["match"] = match
		}
		if file != "" {
			secret, err := os.ReadFile(env.path(file))
			if err != nil {
				return fmt.Errorf("--secret_file: %w", err)
			}
			doc["secret"] = strings.TrimSpace(string(secret))
		}
		return changeTrigger(ctx, env, c, asJSON, http.MethodPost, doc, c.triggers()...)
	})
	section(cmd, "Trigger", func(flags *pflag.FlagSet) {
		text := func(name, member, usage string) {
			texts[member] = new(string)
			flags.StringVar(texts[member], name, "", usage)
		}
		text("check", "check", "`kind` of check of the sender")
		flags.StringVar(&file, "secret_file", "", "`file` with the secret of the sender (default a new one)")
		text("header", "header", "`name` of the header with a shared secret")
		text("query", "query", "`name` of the query parameter with a shared secret")
		text("audience", "audience", "`text` that the tokens of Google are for")
		text("email", "email", "`address` of the service account that sends, with Google")
		flags.StringSliceVar(&events, "event", nil, "`type` of events that start a run; repeat it, or use\ncommas (default all)")
		flags.StringArrayVar(&matches, "match", nil, "`path=value` that a payload must have; repeat it")
		text("message", "message", "`text` to send (default the whole body)")
		text("session", "sessionId", "`id` of the session (default a new one for each request)")
		text("delivery_id", "deliveryId", "`text` that tells requests that are repeated")
		text("concurrency", "concurrency", "`policy` if the session is busy: enqueue, reject, interrupt\nor rollback")
		text("description", "description", "`text` for people")
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// changeTrigger sends a change, and shows the trigger as it is then.
func changeTrigger(ctx context.Context, env *Env, c *client, asJSON bool, method string, doc any, parts ...string) error {
	var text json.RawMessage
	if err := c.call(ctx, &text, method, doc, parts...); err != nil {
		return err
	}
	if asJSON {
		return env.writeJSON(text)
	}
	return showTrigger(env, c, text)
}

func newTriggersChange(env *Env, name, short, long string, doc any) *cobra.Command {
	var asJSON bool
	cmd := triggerCommand(env, &cobra.Command{Use: name + " trigger", Short: short, Long: long, Args: takes(1, "the trigger")},
		func(ctx context.Context, c *client, args []string) error {
			return changeTrigger(ctx, env, c, asJSON, http.MethodPatch, doc, c.triggers(args[0])...)
		})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newTriggersDelete(env *Env) *cobra.Command {
	var asJSON bool
	cmd := triggerCommand(env, &cobra.Command{
		Use:   "delete trigger",
		Short: "Delete a trigger",
		Long:  "Delete a trigger. Its runs go on, and its sessions stay.",
		Args:  takes(1, "the trigger"),
	}, func(ctx context.Context, c *client, args []string) error {
		if err := c.call(ctx, nil, http.MethodDelete, nil, c.triggers(args[0])...); err != nil || !asJSON {
			return err
		}
		return env.writeJSON(map[string]string{"deleted": args[0]})
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

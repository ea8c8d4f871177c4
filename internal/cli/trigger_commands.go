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
	i := &items{
		env: env, one: "trigger",
		path:   func(c *client) []string { return []string{"apps", c.app, "triggers"} },
		server: "triggers need a server, which has the key that their secrets are sealed with",
		show:   func(c *client, doc json.RawMessage) error { return showTrigger(env, c, doc) },
	}
	return group(env, &cobra.Command{
		Use:   "triggers",
		Short: "List, create and change triggers",
		Long: `List, create and change the triggers of an application on a server that runs. A trigger
starts a run when another service sends a request to its address.`,
		Example: `  parley triggers create issues --check github --event issues.opened \
      --session "issue-{{ body.issue.number }}" --message "A new issue: {{ body.issue.title }}"
  parley triggers show issues
  parley triggers pause issues`,
	},
		i.list("List the triggers of an application", "List the triggers of an application that you may see.", triggerRow, "TRIGGER", "CHECK", "USER", "SESSION", "SOURCE", "STATUS"),
		i.details("Show a trigger, and what has come of it", "Show a trigger, its address, and the latest requests that the server has got for it.", "deliveries",
			func(doc json.RawMessage) error { return showTriggered(env, doc) }),
		newTriggersCreate(i),
		i.change("pause", "Pause a trigger", "Pause a trigger: it accepts requests, and starts no runs.", http.MethodPatch, map[string]bool{"paused": true}),
		i.change("resume", "Resume a trigger", "Resume a trigger that was paused.", http.MethodPatch, map[string]bool{"paused": false}),
		i.change("rotate", "Give a trigger another secret", "Give a trigger another secret, and print it. The one before does not count any more.", http.MethodPatch, map[string]any{"secret": nil}),
		i.delete("Its runs go on, and its sessions stay."))
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

func triggerRow(doc json.RawMessage) ([]string, error) {
	var t triggerDocument
	err := json.Unmarshal(doc, &t)
	return []string{t.Name, t.Check, t.UserID, t.SessionID, t.Source, t.status()}, err
}

// showTriggered shows the latest requests.
func showTriggered(env *Env, doc json.RawMessage) error {
	var list []deliveryDocument
	if err := json.Unmarshal(doc, &list); err != nil || len(list) == 0 {
		return err
	}
	fmt.Fprintln(env.Stdout)
	rows := newTable(env, "TIME", "OUTCOME", "EVENT", "SESSION", "RUN", "REASON")
	for _, d := range list {
		rows.row(shortTime(d.Time), d.Outcome, d.EventType, d.SessionID, d.RunID, d.Reason)
	}
	return rows.flush()
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

func newTriggersCreate(i *items) *cobra.Command {
	var (
		file            string
		events, matches []string
	)
	texts := map[string]*string{}
	cmd := i.command(&cobra.Command{
		Use:   "create [trigger]",
		Short: "Create a trigger",
		Long: `Create a trigger with a name, or with one that the server makes up, and print its secret.
It is shown this once. --check is how the trigger knows who sends a request: secret,
standard-webhooks, github, slack, stripe or google. --user, --session, --message and
--delivery_id may have placeholders such as {{ body.issue.title }}.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, asJSON bool, args []string) error {
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
			secret, err := os.ReadFile(i.env.path(file))
			if err != nil {
				return fmt.Errorf("--secret_file: %w", err)
			}
			doc["secret"] = strings.TrimSpace(string(secret))
		}
		return i.send(ctx, c, asJSON, http.MethodPost, doc)
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
	return cmd
}

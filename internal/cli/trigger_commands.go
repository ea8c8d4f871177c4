package cli

import (
	"context"
	"encoding/json"
	"errors"
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
  parley triggers update issues --event issues.opened,issues.reopened
  parley triggers pause issues`,
	},
		i.list("List the triggers of an application", "List the triggers of an application that you may see.", triggerRow, "TRIGGER", "CHECK", "USER", "SESSION", "SOURCE", "STATUS"),
		i.details("Show a trigger, and what has come of it", "Show a trigger, its address, and the latest requests that the server has got for it.", "deliveries",
			func(doc json.RawMessage) error { return showTriggered(env, doc) }),
		newTriggersCreate(i), newTriggersUpdate(i),
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
	s := &saving{}
	s.cmd = i.command(&cobra.Command{
		Use:   "create [trigger]",
		Short: "Create a trigger",
		Long: `Create a trigger with a name, or with one that the server makes up, and print its secret.
It is shown this once. --check is how the trigger knows who sends a request: secret,
standard-webhooks, github, slack, stripe or google. --user, --session, --message,
--delivery_id and the texts in --state may have placeholders such as {{ body.issue.title }}.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		doc, err := s.doc()
		if err != nil {
			return err
		}
		if doc["check"] == nil {
			return &usageError{"--check must be given"}
		}
		doc["userId"] = c.user
		if len(args) > 0 {
			doc["name"] = args[0]
		}
		return i.send(ctx, c, asJSON, http.MethodPost, doc)
	})
	triggerFlags(i, s)
	return s.cmd
}

func newTriggersUpdate(i *items) *cobra.Command {
	s := &saving{update: true}
	user := ""
	s.cmd = i.named("update", "Change a trigger", `Change what is given of a trigger; an empty value resets it. --user is the user that the runs
are of. "rotate" gives it a new secret.`, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		user = c.user
		doc, err := s.doc()
		if err != nil {
			return err
		}
		return i.send(ctx, c, asJSON, http.MethodPatch, doc, args[0])
	})
	s.value("user", "userId", func() (any, error) { return user, nil })
	triggerFlags(i, s)
	return s.cmd
}

// triggerFlags adds the flags with what a trigger is.
func triggerFlags(i *items, s *saving) {
	section(s.cmd, "Trigger", func(flags *pflag.FlagSet) {
		s.text(flags, "check", "check", "`kind` of check of the sender")
		file := flags.String("secret_file", "", "`file` with the secret of the sender (default a new one)")
		s.value("secret_file", "secret", func() (any, error) {
			switch {
			case *file == "" && s.update:
				return nil, errors.New("the name of the file is missing")
			case *file == "":
				return nil, nil
			}
			secret, err := os.ReadFile(i.env.path(*file))
			return strings.TrimSpace(string(secret)), err
		})
		s.text(flags, "header", "header", "`name` of the header with a shared secret")
		s.text(flags, "query", "query", "`name` of the query parameter with a shared secret")
		s.text(flags, "audience", "audience", "`text` that the tokens of Google are for")
		s.text(flags, "email", "email", "`address` of the service account that sends, with Google")
		s.texts(flags, "event", "events", "`type` of events that start a run; repeat it, or use\ncommas (default all)")
		matches := flags.StringArray("match", nil, "`path=value` that a payload must have; repeat it")
		s.value("match", "match", func() (any, error) {
			match := map[string][]string{}
			for _, one := range nonEmpty(*matches) {
				path, value, ok := strings.Cut(one, "=")
				if !ok {
					return nil, fmt.Errorf("%q is not like body.ref=refs/heads/main", one)
				}
				match[path] = append(match[path], value)
			}
			if len(match) == 0 {
				return nil, nil
			}
			return match, nil
		})
		s.text(flags, "message", "message", "`text` to send (default the whole body)")
		s.state(flags)
		s.text(flags, "session", "sessionId", "`id` of the session (default a new one for each request)")
		s.text(flags, "delivery_id", "deliveryId", "`text` that tells requests that are repeated")
		s.text(flags, "concurrency", "concurrency", "`policy` if the session is busy: enqueue, reject, interrupt\nor rollback")
		s.text(flags, "description", "description", "`text` for people")
	})
}

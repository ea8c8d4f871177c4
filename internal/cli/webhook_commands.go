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

func newWebhooks(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhooks",
		Short: "List, create and rotate webhooks, and replay deliveries",
		Long: `List, create and rotate the webhooks of an application on a server, and replay what their
receivers did not accept. It needs an administrator's key (PARLEY_API_KEY) on a server with
access control.`,
		Example: `  parley webhooks create alerts --url https://example.com/hooks --events run.failed
  parley webhooks show alerts
  parley webhooks rotate alerts`,
		GroupID: groupMore,
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { writeHelp(env.Stdout, cmd); return nil },
	}
	cmd.AddGroup(&cobra.Group{ID: groupSessions, Title: "Commands"})
	cmd.AddCommand(newWebhooksList(env), newWebhooksShow(env), newWebhooksCreate(env), newWebhooksRotate(env), newWebhooksReplay(env),
		newWebhooksDo(env, "test", "Send a test to a webhook", "Send an event of the type webhook.test to the webhooks of the application.", http.MethodPost, "tested", "test"),
		newWebhooksDo(env, "delete", "Delete a webhook", "Delete a webhook. What was not sent yet is not sent any more.", http.MethodDelete, "deleted"))
	return cmd
}

// webhookDocument is a webhook as the server sends it.
type webhookDocument struct {
	ID          string    `json:"id"`
	URL         string    `json:"url"`
	Description string    `json:"description"`
	Events      []string  `json:"events"`
	Created     time.Time `json:"createdAt"`
	Until       time.Time `json:"previousSecretUntil"`
	Secret      string    `json:"secret"`
}

// deliveriesDocument is what a receiver has not accepted, as the server sends it.
type deliveriesDocument struct {
	Deliveries []struct {
		ID        string    `json:"id"`
		Type      string    `json:"type"`
		Status    string    `json:"status"`
		SessionID string    `json:"sessionId"`
		RunID     string    `json:"runId"`
		Created   time.Time `json:"createdAt"`
		Attempts  int       `json:"attempts"`
		Error     string    `json:"error"`
	} `json:"deliveries"`
	Next string `json:"nextPageToken"`
}

// webhookCommand is a remoteCommand that needs a server.
func webhookCommand(env *Env, cmd *cobra.Command, do func(ctx context.Context, c *client, args []string) error) *cobra.Command {
	return remoteCommand(env, cmd, func(ctx context.Context, c *client, args []string) error {
		if c.database {
			return &usageError{"webhooks need a server, which has the key that seals them: give --server"}
		}
		return do(ctx, c, args)
	})
}

// webhooks returns the parts of the path of the application's webhooks, or below one.
func (c *client) webhooks(below ...string) []string {
	return append([]string{"apps", c.app, "webhooks"}, below...)
}

func newWebhooksList(env *Env) *cobra.Command {
	var asJSON bool
	cmd := webhookCommand(env, &cobra.Command{
		Use:   "list",
		Short: "List the webhooks of an application",
		Long:  "List the webhooks of an application.",
		Args:  takes(0),
	}, func(ctx context.Context, c *client, _ []string) error {
		var list []json.RawMessage
		if err := c.get(ctx, &list, c.webhooks()...); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(list)
		}
		rows := newTable(env, "WEBHOOK", "URL", "EVENTS", "DESCRIPTION")
		for _, one := range list {
			var w webhookDocument
			if err := json.Unmarshal(one, &w); err != nil {
				return err
			}
			rows.row(w.ID, w.URL, strings.Join(w.Events, " "), cut(w.Description, 60))
		}
		return rows.flush()
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newWebhooksShow(env *Env) *cobra.Command {
	var asJSON bool
	cmd := webhookCommand(env, &cobra.Command{
		Use:   "show webhook",
		Short: "Show a webhook, and what it did not accept",
		Long:  "Show a webhook, the events that its receiver has not accepted yet, and those that were given up.",
		Args:  takes(1, "the webhook"),
	}, func(ctx context.Context, c *client, args []string) error {
		var text, left json.RawMessage
		if err := c.get(ctx, &text, c.webhooks(args[0])...); err != nil {
			return err
		}
		if err := c.get(ctx, &left, c.webhooks(args[0], "deliveries")...); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(map[string]json.RawMessage{"webhook": text, "deliveries": left})
		}
		if err := showWebhook(env, text); err != nil {
			return err
		}
		return showDeliveries(env, left)
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func showWebhook(env *Env, text json.RawMessage) error {
	var w webhookDocument
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	facts := newFacts(env)
	facts.row("webhook", w.ID)
	facts.row("url", w.URL)
	facts.row("description", w.Description)
	facts.row("events", strings.Join(w.Events, " "))
	facts.row("secret", w.Secret)
	if !w.Until.IsZero() {
		facts.row("the old secret also signs until", shortTime(w.Until))
	}
	return facts.flush()
}

func showDeliveries(env *Env, text json.RawMessage) error {
	var page deliveriesDocument
	if err := json.Unmarshal(text, &page); err != nil || len(page.Deliveries) == 0 {
		return err
	}
	fmt.Fprintln(env.Stdout)
	rows := newTable(env, "DELIVERY", "TIME", "EVENT", "STATUS", "ATTEMPTS", "SESSION", "RUN", "ERROR")
	for _, d := range page.Deliveries {
		rows.row(d.ID, shortTime(d.Created), d.Type, d.Status, fmt.Sprint(d.Attempts), d.SessionID, d.RunID, cut(d.Error, 80))
	}
	return rows.flush()
}

func newWebhooksCreate(env *Env) *cobra.Command {
	var (
		asJSON                   bool
		url, description, secret string
		events                   []string
	)
	cmd := webhookCommand(env, &cobra.Command{
		Use:   "create [webhook]",
		Short: "Create a webhook",
		Long: `Create a webhook with a name, or with one that the server makes up. It needs a --url. The
secret that signs the requests is shown once.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, args []string) error {
		if url == "" {
			return &usageError{"--url must be given"}
		}
		doc := map[string]any{"url": url}
		if len(args) > 0 {
			doc["id"] = args[0]
		}
		if description != "" {
			doc["description"] = description
		}
		if secret != "" {
			doc["secret"] = secret
		}
		if len(events) > 0 {
			doc["events"] = events
		}
		return changeWebhook(ctx, env, c, asJSON, doc, c.webhooks()...)
	})
	section(cmd, "Webhook", func(flags *pflag.FlagSet) {
		flags.StringVar(&url, "url", "", "`URL` of the receiver")
		flags.StringSliceVar(&events, "events", nil, "`types` of events, such as run.failed,run.waiting (default all)")
		flags.StringVar(&secret, "secret", "", "`secret` that signs the requests (default a new one)")
		flags.StringVar(&description, "description", "", "`text` for people")
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// changeWebhook sends a change, and shows the webhook as it is then.
func changeWebhook(ctx context.Context, env *Env, c *client, asJSON bool, doc any, parts ...string) error {
	var text json.RawMessage
	if err := c.call(ctx, &text, http.MethodPost, doc, parts...); err != nil {
		return err
	}
	if asJSON {
		return env.writeJSON(text)
	}
	return showWebhook(env, text)
}

func newWebhooksRotate(env *Env) *cobra.Command {
	var asJSON bool
	cmd := webhookCommand(env, &cobra.Command{
		Use:   "rotate webhook",
		Short: "Make a new secret for a webhook",
		Long:  "Make a new secret for a webhook, which is shown once. The old one also signs for 24 hours.",
		Args:  takes(1, "the webhook"),
	}, func(ctx context.Context, c *client, args []string) error {
		return changeWebhook(ctx, env, c, asJSON, nil, c.webhooks(args[0], "rotate")...)
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// newWebhooksDo makes a command that shows nothing.
func newWebhooksDo(env *Env, name, short, long, method, done string, below ...string) *cobra.Command {
	var asJSON bool
	cmd := webhookCommand(env, &cobra.Command{Use: name + " webhook", Short: short, Long: long, Args: takes(1, "the webhook")},
		func(ctx context.Context, c *client, args []string) error {
			if err := c.call(ctx, nil, method, nil, c.webhooks(append(args, below...)...)...); err != nil || !asJSON {
				return err
			}
			return env.writeJSON(map[string]string{done: args[0]})
		})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newWebhooksReplay(env *Env) *cobra.Command {
	var asJSON bool
	cmd := webhookCommand(env, &cobra.Command{
		Use:   "replay webhook [delivery]",
		Short: "Send what was given up again",
		Long:  "Send a delivery of a webhook again, or all that were given up.",
		Args:  takes(2, "the webhook"),
	}, func(ctx context.Context, c *client, args []string) error {
		replayed := []string{}
		if len(args) == 2 {
			replayed = append(replayed, args[1])
		} else {
			var page deliveriesDocument
			if err := c.get(ctx, &page, c.webhooks(args[0], "deliveries")...); err != nil {
				return err
			}
			for _, d := range page.Deliveries {
				if d.Status == "failed" {
					replayed = append(replayed, d.ID)
				}
			}
		}
		for _, id := range replayed {
			if err := c.call(ctx, nil, http.MethodPost, nil, c.webhooks(args[0], "deliveries", id, "replay")...); err != nil {
				return err
			}
		}
		if asJSON {
			return env.writeJSON(map[string][]string{"replayed": replayed})
		}
		fmt.Fprintf(env.Stdout, "%d deliveries will be sent again\n", len(replayed))
		return nil
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

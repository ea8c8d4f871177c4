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
	i := &items{
		env: env, one: "webhook",
		path:   func(c *client) []string { return []string{"apps", c.app, "webhooks"} },
		server: "webhooks need a server, which has the key that seals them",
		show:   func(_ *client, doc json.RawMessage) error { return showWebhook(env, doc) },
	}
	return group(env, &cobra.Command{
		Use:   "webhooks",
		Short: "List, create and rotate webhooks, and replay deliveries",
		Long: `List, create and rotate the webhooks of an application on a server, and replay what their
receivers did not accept. It needs an administrator's key (PARLEY_API_KEY) on a server with
access control.`,
		Example: `  parley webhooks create alerts --url https://example.com/hooks --events run.failed
  parley webhooks show alerts
  parley webhooks rotate alerts`,
	},
		i.list("List the webhooks of an application", "List the webhooks of an application.", webhookRow, "WEBHOOK", "URL", "EVENTS", "DESCRIPTION"),
		i.details("Show a webhook, and what it did not accept", "Show a webhook, the events that its receiver has not accepted yet, and those that were given up.", "deliveries",
			func(doc json.RawMessage) error { return showDeliveries(env, doc) }),
		newWebhooksCreate(i),
		i.change("rotate", "Make a new secret for a webhook", "Make a new secret for a webhook, which is shown once. The old one also signs for 24 hours.", http.MethodPost, nil, "rotate"),
		newWebhooksReplay(i),
		i.do("test", "Send a test to a webhook", "Send an event of the type webhook.test to the webhooks of the application.", http.MethodPost, "tested", "test"),
		i.delete("What was not sent yet is not sent any more."))
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

func webhookRow(doc json.RawMessage) ([]string, error) {
	var w webhookDocument
	err := json.Unmarshal(doc, &w)
	return []string{w.ID, w.URL, strings.Join(w.Events, " "), cut(w.Description, 60)}, err
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

func newWebhooksCreate(i *items) *cobra.Command {
	var (
		url, description, secret string
		events                   []string
	)
	cmd := i.command(&cobra.Command{
		Use:   "create [webhook]",
		Short: "Create a webhook",
		Long: `Create a webhook with a name, or with one that the server makes up. It needs a --url. The
secret that signs the requests is shown once.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, asJSON bool, args []string) error {
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
		return i.send(ctx, c, asJSON, http.MethodPost, doc)
	})
	section(cmd, "Webhook", func(flags *pflag.FlagSet) {
		flags.StringVar(&url, "url", "", "`URL` of the receiver")
		flags.StringSliceVar(&events, "events", nil, "`types` of events, such as run.failed,run.waiting (default all)")
		flags.StringVar(&secret, "secret", "", "`secret` that signs the requests (default a new one)")
		flags.StringVar(&description, "description", "", "`text` for people")
	})
	return cmd
}

func newWebhooksReplay(i *items) *cobra.Command {
	return i.command(&cobra.Command{
		Use:   "replay webhook [delivery]",
		Short: "Send what was given up again",
		Long:  "Send a delivery of a webhook again, or all that were given up.",
		Args:  takes(2, "the webhook"),
	}, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		replayed := []string{}
		if len(args) == 2 {
			replayed = append(replayed, args[1])
		} else {
			var page deliveriesDocument
			if err := c.get(ctx, &page, i.at(c, args[0], "deliveries")...); err != nil {
				return err
			}
			for _, d := range page.Deliveries {
				if d.Status == "failed" {
					replayed = append(replayed, d.ID)
				}
			}
		}
		for _, id := range replayed {
			if err := c.call(ctx, nil, http.MethodPost, nil, i.at(c, args[0], "deliveries", id, "replay")...); err != nil {
				return err
			}
		}
		if asJSON {
			return i.env.writeJSON(map[string][]string{"replayed": replayed})
		}
		fmt.Fprintf(i.env.Stdout, "%d deliveries will be sent again\n", len(replayed))
		return nil
	})
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
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
  parley webhooks update alerts --events run.failed,run.waiting
  parley webhooks show alerts
  parley webhooks rotate alerts
  parley webhooks dead`,
	},
		i.list("List the webhooks of an application", "List the webhooks of an application.", webhookRow, "WEBHOOK", "URL", "EVENTS", "DESCRIPTION"),
		i.details("Show a webhook, and what it did not accept", "Show a webhook, the events that its receiver has not accepted yet, and those that were given up.", "deliveries",
			func(doc json.RawMessage) error { return showDeliveries(env, doc) }),
		newWebhooksCreate(i), newWebhooksUpdate(i),
		i.change("rotate", "Make a new secret for a webhook", "Make a new secret for a webhook, which is shown once. The old one also signs for 24 hours.", http.MethodPost, nil, "rotate"),
		newWebhooksReplay(i), newWebhooksDead(i),
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

// sentDocument is a delivery as the server sends it.
type sentDocument struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind,omitempty"`
	WebhookID string    `json:"webhookId,omitempty"`
	Receiver  string    `json:"receiver,omitempty"`
	MessageID string    `json:"messageId,omitempty"`
	Type      string    `json:"type"`
	Status    string    `json:"status"`
	UserID    string    `json:"userId,omitempty"`
	SessionID string    `json:"sessionId,omitempty"`
	RunID     string    `json:"runId,omitempty"`
	Created   time.Time `json:"createdAt"`
	Attempts  int       `json:"attempts"`
	Error     string    `json:"error,omitempty"`
}

// deliveriesDocument is what receivers have not accepted, as the server sends it.
type deliveriesDocument struct {
	Deliveries []sentDocument `json:"deliveries"`
	Next       string         `json:"nextPageToken"`
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
	s := &saving{}
	s.cmd = i.command(&cobra.Command{
		Use:   "create [webhook]",
		Short: "Create a webhook",
		Long: `Create a webhook with a name, or with one that the server makes up. It needs a --url. The
secret that signs the requests is shown once.`,
		Args: takes(1),
	}, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		doc, err := s.doc()
		if err != nil {
			return err
		}
		if doc["url"] == nil {
			return &usageError{"--url must be given"}
		}
		if len(args) > 0 {
			doc["id"] = args[0]
		}
		return i.send(ctx, c, asJSON, http.MethodPost, doc)
	})
	webhookFlags(s)
	return s.cmd
}

func newWebhooksUpdate(i *items) *cobra.Command {
	s := &saving{update: true}
	s.cmd = i.named("update", "Change a webhook", `Change what is given of a webhook. --events with no types means all. A --secret replaces the one
before at once; "rotate" makes a new one, beside which the old one signs for 24 hours.`,
		func(ctx context.Context, c *client, asJSON bool, args []string) error {
			doc, err := s.doc()
			if err != nil {
				return err
			}
			return i.send(ctx, c, asJSON, http.MethodPatch, doc, args[0])
		})
	webhookFlags(s)
	return s.cmd
}

// webhookFlags adds the flags with what a webhook is.
func webhookFlags(s *saving) {
	section(s.cmd, "Webhook", func(flags *pflag.FlagSet) {
		s.text(flags, "url", "url", "`URL` of the receiver")
		s.texts(flags, "events", "events", "`types` of events, such as run.failed,run.waiting (default all)")
		s.text(flags, "secret", "secret", "`secret` that signs the requests (default a new one)")
		s.text(flags, "description", "description", "`text` for people")
	})
}

func newWebhooksReplay(i *items) *cobra.Command {
	var dead bool
	cmd := i.command(&cobra.Command{
		Use:   "replay [webhook] [delivery]",
		Short: "Send what was given up again",
		Long: `Send a delivery of a webhook again, or all that were given up. With --dead, there is no
webhook: send a delivery again that "parley webhooks dead" lists, or all of them.`,
		Args: takes(2),
	}, func(ctx context.Context, c *client, asJSON bool, args []string) error {
		switch {
		case dead && len(args) > 1:
			return &usageError{"with --dead, there is only a delivery to name"}
		case !dead && len(args) == 0:
			return &usageError{"the webhook is missing, or --dead"}
		}
		at, named := failedDeliveries(c), args
		if !dead {
			at, named = i.at(c, args[0], "deliveries"), args[1:]
		}
		replayed := slices.Clone(named)
		if len(named) == 0 {
			replayed = []string{}
			list, err := readDeliveries(ctx, c, math.MaxInt, at)
			if err != nil {
				return err
			}
			for _, d := range list {
				if d.Status == "failed" {
					replayed = append(replayed, d.ID)
				}
			}
		}
		for _, id := range replayed {
			if err := c.call(ctx, nil, http.MethodPost, nil, append(slices.Clip(at), id, "replay")...); err != nil {
				return err
			}
		}
		if asJSON {
			return i.env.writeJSON(map[string][]string{"replayed": replayed})
		}
		fmt.Fprintf(i.env.Stdout, "%d deliveries will be sent again\n", len(replayed))
		return nil
	})
	cmd.Flags().BoolVar(&dead, "dead", false, "what was given up for all kinds of receivers")
	return cmd
}

// failedDeliveries returns the parts of the path of what was given up.
func failedDeliveries(c *client) []string { return []string{"apps", c.app, "failed-deliveries"} }

// readDeliveries reads pages of deliveries until there are as many as wanted, or no more.
func readDeliveries(ctx context.Context, c *client, most int, at []string) ([]sentDocument, error) {
	list, query := []sentDocument{}, url.Values{}
	for {
		resp, err := c.do(ctx, http.MethodGet, nil, query, nil, at...)
		if err != nil {
			return nil, err
		}
		var page deliveriesDocument
		if err := decode(resp, &page); err != nil {
			return nil, err
		}
		list = append(list, page.Deliveries...)
		if page.Next == "" || len(list) >= most {
			return list[:min(most, len(list))], nil
		}
		query.Set("pageToken", page.Next)
	}
}

func newWebhooksDead(i *items) *cobra.Command {
	var most int
	cmd := i.command(&cobra.Command{
		Use:   "dead",
		Short: "List what was given up, for all kinds of receivers",
		Long: `List what receivers of the application have not accepted within a day: webhooks, those of
single requests, and those of push notifications of A2A.`,
		Args: takes(0),
	}, func(ctx context.Context, c *client, asJSON bool, _ []string) error {
		if most < 1 {
			return &usageError{"--limit must be at least 1"}
		}
		list, err := readDeliveries(ctx, c, most, failedDeliveries(c))
		if err != nil {
			return err
		}
		if asJSON {
			return i.env.writeJSON(list)
		}
		rows := newTable(i.env, "DELIVERY", "TIME", "KIND", "WEBHOOK", "RECEIVER", "EVENT", "USER", "SESSION", "RUN", "ERROR")
		for _, d := range list {
			rows.row(d.ID, shortTime(d.Created), d.Kind, d.WebhookID, d.Receiver, d.Type, d.UserID, d.SessionID, d.RunID, cut(d.Error, 80))
		}
		return rows.flush()
	})
	cmd.Flags().IntVar(&most, "limit", 100, "maximum `number` of deliveries")
	return cmd
}

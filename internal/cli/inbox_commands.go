package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newInbox(env *Env) *cobra.Command {
	return group(env, &cobra.Command{
		Use:   "inbox",
		Short: "List and answer what waits for people",
		Long: `List and answer what runs wait for: confirmations, questions, logins and results.
The list is that of a server that runs, or of a database that servers share.`,
		Example: `  parley inbox list --kind confirmation
  parley inbox answer WyJhcHAi... --approve`,
	}, newInboxList(env), newInboxAnswer(env))
}

// entryDocument is an entry of the inbox as the server sends it.
type entryDocument struct {
	ID       string          `json:"id"`
	App      string          `json:"appName"`
	User     string          `json:"userId"`
	Session  string          `json:"sessionId"`
	Kind     string          `json:"kind"`
	Tool     string          `json:"tool"`
	Message  string          `json:"message"`
	Args     json.RawMessage `json:"args"`
	Since    time.Time       `json:"since"`
	Assignee string          `json:"assignee"`
}

// inboxCommand completes a command below inbox. The inbox is that of all applications
// and users, unless flags name one.
func inboxCommand(env *Env, cmd *cobra.Command, do func(ctx context.Context, c *client, query url.Values, args []string) error) *cobra.Command {
	var t target
	cmd.GroupID = groupSessions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query := url.Values{}
		if t.app != "" {
			query.Set("appName", t.app)
		} else if t.database == "" || cmd.Flags().Changed("server") {
			t.app = "all" // none is looked for
		}
		if cmd.Flags().Changed("user") {
			query.Set("userId", t.user)
		}
		c, err := t.open(cmd, env)
		if err != nil {
			return err
		}
		defer c.close()
		return do(cmd.Context(), c, query, args)
	}
	section(cmd, "Server, or database", func(flags *pflag.FlagSet) {
		t.define(flags)
		app, user := flags.Lookup("app_name"), flags.Lookup("user")
		app.Usage = "`name` of the application (default all; required with a\ndatabase)"
		user.Usage, user.DefValue = "`id` of the user (default all)", ""
	})
	return cmd
}

func newInboxList(env *Env) *cobra.Command {
	var (
		asJSON               bool
		kind, tool, assignee string
		most                 int
	)
	cmd := inboxCommand(env, &cobra.Command{
		Use:   "list",
		Short: "List what waits for people",
		Long:  "List what waits for people, what has waited the longest first: of all applications and\nusers, unless --app_name and --user name one.",
		Args:  takes(0),
	}, func(ctx context.Context, c *client, query url.Values, _ []string) error {
		for name, value := range map[string]string{"kind": kind, "tool": tool, "assignee": assignee} {
			if value != "" {
				query.Set(name, value)
			}
		}
		list, err := c.list(ctx, most, query, "inbox")
		if err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(list)
		}
		rows := newTable(env, "SINCE", "KIND", "TOOL", "APP", "USER", "SESSION", "ASSIGNED", "ASKS", "ENTRY")
		for _, one := range list {
			var e entryDocument
			if err := json.Unmarshal(one, &e); err != nil {
				return err
			}
			rows.row(shortTime(e.Since), e.Kind, e.Tool, e.App, e.User, e.Session, e.Assignee, cut(e.Message, 50), e.ID)
		}
		return rows.flush()
	})
	section(cmd, "List", func(flags *pflag.FlagSet) {
		flags.StringVar(&kind, "kind", "", "only this `kind`: confirmation, input, login or result")
		flags.StringVar(&tool, "tool", "", "only for this `tool`")
		flags.StringVar(&assignee, "assignee", "", "only what is assigned to this `person`")
		flags.IntVar(&most, "limit", 100, "maximum `number` of entries")
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newInboxAnswer(env *Env) *cobra.Command {
	var (
		asJSON, approve, reject bool
		reason, response        string
	)
	cmd := inboxCommand(env, &cobra.Command{
		Use:   "answer entry",
		Short: "Answer an entry",
		Long: `Answer an entry of the list, once. A confirmation is answered with --approve or
--reject, everything else with --response: a text, or JSON. Without any, a login tells
where the user logs in. It needs a server.`,
		Args: takes(1, "the entry"),
	}, func(ctx context.Context, c *client, _ url.Values, args []string) error {
		if c.database {
			return &usageError{"an answer needs a server, which has the agent: give --server"}
		}
		body, err := answerBody(approve, reject, reason, response)
		if err != nil {
			return err
		}
		var text json.RawMessage
		if err := c.call(ctx, &text, http.MethodPost, body, "inbox", args[0], "answer"); err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(text)
		}
		var got struct {
			LoginURL  string `json:"loginUrl"`
			ID        string `json:"id"`
			SessionID string `json:"sessionId"`
		}
		if err := json.Unmarshal(text, &got); err != nil {
			return err
		}
		if got.LoginURL != "" {
			fmt.Fprintln(env.Stdout, "log in at "+printable(got.LoginURL))
			return nil
		}
		facts := newFacts(env)
		facts.row("session", got.SessionID)
		facts.row("run", got.ID)
		return facts.flush()
	})
	section(cmd, "Answer", func(flags *pflag.FlagSet) {
		flags.BoolVar(&approve, "approve", false, "approve a confirmation")
		flags.BoolVar(&reject, "reject", false, "reject a confirmation")
		flags.StringVar(&reason, "reason", "", "`text` that says why it is rejected")
		flags.StringVar(&response, "response", "", "`text` or JSON that answers")
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// answerBody returns the body of a request with an answer.
func answerBody(approve, reject bool, reason, response string) (map[string]any, error) {
	switch {
	case approve && reject, (approve || reject) && response != "":
		return nil, &usageError{"only one of --approve, --reject and --response can be given"}
	case reason != "" && !reject:
		return nil, &usageError{"--reason needs --reject"}
	case approve:
		return map[string]any{"response": true}, nil
	case reject && reason != "":
		return map[string]any{"response": map[string]any{"confirmed": false, "reason": reason}}, nil
	case reject:
		return map[string]any{"response": false}, nil
	case response == "":
		return map[string]any{}, nil
	case json.Valid([]byte(response)):
		return map[string]any{"response": json.RawMessage(response)}, nil
	}
	return map[string]any{"response": response}, nil
}

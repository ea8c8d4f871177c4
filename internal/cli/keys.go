package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

func newKeys(env *Env) *cobra.Command {
	var sessions, keys string
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke API keys",
		Long: `Make, list and revoke the API keys of a server that runs with --access keys.

Keys are kept in the database of the sessions, or in one of their own. What is
kept there is not enough to use them.`,
		Example: `  parley keys create --user alice --session_db_url sqlite:///var/lib/parley.db
  parley keys list --session_db_url sqlite:///var/lib/parley.db
  parley keys revoke 4k2mvq7x1c --session_db_url sqlite:///var/lib/parley.db`,
		GroupID: groupMore,
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { writeHelp(env.Stdout, cmd); return nil },
	}
	database := func(flags *pflag.FlagSet) {
		flags.StringVar(&sessions, "session_db_url", "", "database of the sessions: a `url` like\nsqlite:///path/to/file.db or postgres://user@host/db")
		flags.StringVar(&keys, "keys_db_url", "", "`url` of the database of the keys, if it is a different\none")
	}
	with := func(cmd *cobra.Command, do func(*parley.APIKeys) error) error {
		url := cmp.Or(keys, sessions)
		if url == "" {
			return &usageError{"no database: set --session_db_url or --keys_db_url"}
		}
		open := parley.OpenExistingAPIKeys
		if cmd.Name() == "create" {
			open = parley.OpenAPIKeys // the first key may be created before the first start of the server
		}
		opened, err := open(cmd.Context(), url)
		if err != nil {
			name := "--session_db_url"
			if keys != "" {
				name = "--keys_db_url"
			}
			return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "parley: "))
		}
		return errors.Join(do(opened), opened.Close())
	}
	cmd.AddGroup(&cobra.Group{ID: groupKeys, Title: "Commands"})
	cmd.AddCommand(newKeysCreate(env, database, with), newKeysList(env, database, with), newKeysRevoke(env, database, with))
	return cmd
}

// groupKeys is the group of commands below keys, and below credentials.
const groupKeys = "keys"

type (
	keysFlags  func(*pflag.FlagSet)
	keysOpened func(*cobra.Command, func(*parley.APIKeys) error) error
)

func newKeysCreate(env *Env, database keysFlags, with keysOpened) *cobra.Command {
	var (
		key    parley.NewAPIKey
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key",
		Long: `Make an API key, and print it. It is shown this once.

A key speaks for one user, unless it has the scope users or admin. The scopes are
read (look at the user's sessions), review (that, and give feedback), run (all
that users do), schedules, triggers and inbox (only that part of it), users (act
for any user) and admin (everything).`,
		Example: `  parley keys create --user alice --name laptop --session_db_url sqlite:///var/lib/parley.db
  parley keys create --scope run,users --name backend --expires 2160h`,
		GroupID: groupKeys,
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(key.Scopes) == 0 || slices.Contains(key.Scopes, "") {
				return &usageError{"--scope is empty: set read, review, run, schedules, triggers, inbox, users or admin, or omit the flag for run"}
			}
			return with(cmd, func(keys *parley.APIKeys) error {
				text, made, err := keys.Create(cmd.Context(), key)
				if err != nil {
					return err
				}
				if asJSON {
					out := newKeyJSON(made)
					out.Key = text
					return env.writeJSON(out)
				}
				fmt.Fprintln(env.Stdout, text)
				fmt.Fprintf(env.Stderr, "This is the key %s, which is not shown again. Send it as: Authorization: Bearer <key>\n", made.ID)
				return nil
			})
		},
	}
	section(cmd, "The key", func(flags *pflag.FlagSet) {
		flags.StringVar(&key.User, "user", "", "`id` of the user that it acts as")
		flags.StringVar(&key.Name, "name", "", "`text` that describes its purpose")
		flags.StringSliceVar(&key.Scopes, "scope", []string{"run"}, "`scope`: read, review, run, schedules, triggers, inbox,\nusers, admin; repeat it, or use commas")
		flags.DurationVar(&key.Life, "expires", 0, "`time` until it expires (default until it is revoked)")
	})
	section(cmd, "Database", database)
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newKeysList(env *Env, database keysFlags, with keysOpened) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the API keys",
		GroupID: groupKeys,
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(cmd, func(keys *parley.APIKeys) error {
				list, err := keys.List(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					keys := make([]keyJSON, len(list))
					for i, k := range list {
						keys[i] = newKeyJSON(k)
					}
					return env.writeJSON(keys)
				}
				out := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(out, "ID\tUSER\tSCOPES\tCREATED\tEXPIRES\tLAST USED\tNAME")
				for _, k := range list {
					fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, cmp.Or(printable(k.User), "-"), strings.Join(k.Scopes, ","),
						day(k.Created, "-"), day(k.Expires, "never"), day(k.Used, "never"), printable(k.Name))
				}
				return out.Flush()
			})
		},
	}
	section(cmd, "Database", database)
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newKeysRevoke(env *Env, database keysFlags, with keysOpened) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "revoke id",
		Short: "Revoke an API key",
		Long: `Revoke the API key with an id, which is the part of the key after parley_ and is
shown by list. The whole key will do as well. Servers that have seen the key
lately let it in for 10 seconds more.`,
		GroupID: groupKeys,
		Args:    takes(1, "the id of the key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd, func(keys *parley.APIKeys) error {
				id := keyID(args[0])
				if err := keys.Revoke(cmd.Context(), id); err != nil {
					return err
				}
				if asJSON {
					return env.writeJSON(map[string]any{"id": id, "revoked": true})
				}
				fmt.Fprintf(env.Stdout, "The key %s is revoked.\n", id)
				return nil
			})
		},
	}
	section(cmd, "Database", database)
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// keyID returns the part of a key that is not secret, and may be shown. It returns
// text without a secret part unchanged.
func keyID(key string) string {
	if parts := strings.Split(key, "_"); len(parts) == 3 {
		return parts[1]
	}
	return key
}

// day formats a time for people, to the minute.
func day(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format("2006-01-02T15:04Z")
}

// printable replaces control characters, so that a table cannot control the
// terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}

package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/parley-run/parley"
)

func newCredentials(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credentials",
		Short: "Manage the keys that seal the logins of users",
		Long: `Manage the keys that seal the logins of users.

A server seals what it keeps of logins with the newest key in a file, and opens
what older keys in it have sealed. It looks at the file before it uses it, so it
need not be started again.`,
		GroupID: groupMore,
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var prepare bool
	rotate := keyCommand(env, "rotate", "Seal logins with a new key", `Add a new key to the file, and seal all logins in the database again with it.
Servers may run at the same time. The old keys stay in the file, until prune
removes them.

Servers that have copies of the file must know a key before another one uses it:
run rotate --prepare, give the file to all of them, and then run rotate.`,
		`  parley credentials rotate --session_db_url sqlite:///var/lib/parley.db
  parley credentials rotate --session_db_url postgres://db/parley --credential_key_file keys.json`,
		func(ctx context.Context, cfg parley.Config, out io.Writer) error {
			if prepare {
				file, err := parley.PrepareSealingKeys(ctx, cfg)
				if err == nil {
					fmt.Fprintf(out, "The new key is in %s, and is not used yet.\n", file)
				}
				return err
			}
			done, err := parley.RotateSealingKeys(ctx, cfg)
			resealed(out, done)
			return err
		})
	rotate.Flags().BoolVar(&prepare, "prepare", false, "add the key, and do not use it yet")
	cmd.AddGroup(&cobra.Group{ID: groupKeys, Title: "Commands"})
	cmd.AddCommand(
		keyCommand(env, "create", "Create a file with a new key", "Create a file with a new key. An existing file is not changed.",
			`  parley credentials create --credential_key_file keys.json`,
			func(ctx context.Context, cfg parley.Config, out io.Writer) error {
				file, err := parley.CreateSealingKeys(ctx, cfg)
				if err == nil {
					fmt.Fprintf(out, "The key is in %s. Keep a copy: without it, users have to log in again.\n", file)
				}
				return err
			}),
		rotate,
		keyCommand(env, "prune", "Remove old keys", "Reseal with the newest key what is still sealed with old ones, and remove the\nold keys from the file.",
			`  parley credentials prune --session_db_url sqlite:///var/lib/parley.db`,
			func(ctx context.Context, cfg parley.Config, out io.Writer) error {
				done, err := parley.PruneSealingKeys(ctx, cfg)
				resealed(out, done)
				if err == nil {
					fmt.Fprintf(out, "The newest key is the only one in %s.\n", done.File)
				}
				return err
			}),
	)
	return cmd
}

// resealed prints how many logins were resealed, if any.
func resealed(out io.Writer, done parley.Resealed) {
	if done.File == "" {
		return
	}
	fmt.Fprintf(out, "%d secrets were resealed with the newest key.\n", done.Sealed)
	if done.Lost > 0 {
		fmt.Fprintf(out, "%d secrets cannot be opened with any of the keys: those users have to log in again.\n", done.Lost)
	}
}

// keyCommand creates a command that changes keys.
func keyCommand(env *Env, name, short, long, example string, do func(context.Context, parley.Config, io.Writer) error) *cobra.Command {
	var cfg parley.Config
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Example: example, GroupID: groupKeys, Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Logins.KeyFile != "" {
				cfg.Logins.KeyFile = env.path(cfg.Logins.KeyFile)
			}
			return do(cmd.Context(), cfg, env.Stdout)
		},
	}
	cmd.Flags().StringVar(&cfg.Sessions.URL, "session_db_url", "", "`url` of the database with the logins")
	cmd.Flags().StringVar(&cfg.Logins.KeyFile, "credential_key_file", "", "`file` with the keys (default next to a SQLite file)")
	cmd.Flags().StringVar(&cfg.Logins.KMS, "credential_kms", "", "`key` of a key management service that the keys are\nwrapped with")
	return cmd
}

package cli

import (
	"context"
	"errors"
	"fmt"

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
		func(ctx context.Context, cfg parley.Config) (sealing, error) {
			if prepare {
				file, err := parley.PrepareSealingKeys(ctx, cfg)
				if err != nil {
					return sealing{}, err
				}
				return sealing{File: file, say: "The new key is in " + file + ", and is not used yet."}, nil
			}
			done, err := parley.RotateSealingKeys(ctx, cfg)
			return resealed(done), err
		})
	rotate.Flags().BoolVar(&prepare, "prepare", false, "add the key, and do not use it yet")
	cmd.AddGroup(&cobra.Group{ID: groupKeys, Title: "Commands"})
	cmd.AddCommand(
		keyCommand(env, "create", "Create a file with a new key", "Create a file with a new key. An existing file is not changed.",
			`  parley credentials create --credential_key_file keys.json`,
			func(ctx context.Context, cfg parley.Config) (sealing, error) {
				file, err := parley.CreateSealingKeys(ctx, cfg)
				if err != nil {
					return sealing{}, err
				}
				return sealing{File: file, say: "The key is in " + file + ". Keep a copy: without it, users have to log in again."}, nil
			}),
		rotate,
		keyCommand(env, "prune", "Remove old keys", "Reseal with the newest key what is still sealed with old ones, and remove the\nold keys from the file.",
			`  parley credentials prune --session_db_url sqlite:///var/lib/parley.db`,
			func(ctx context.Context, cfg parley.Config) (sealing, error) {
				done, err := parley.PruneSealingKeys(ctx, cfg)
				out := resealed(done)
				if err == nil {
					out.say += "\nThe newest key is the only one in " + done.File + "."
				}
				return out, err
			}),
	)
	return cmd
}

// sealing is what a command has done with the keys in a file, and with the secrets that
// they seal.
type sealing struct {
	File   string `json:"file"`
	Sealed *int   `json:"sealed,omitempty"` // again, with the newest key
	Lost   *int   `json:"lost,omitempty"`
	say    string // for people
}

// resealed says how many logins were resealed. It is empty if that was not attempted.
func resealed(done parley.Resealed) sealing {
	if done.File == "" {
		return sealing{}
	}
	say := fmt.Sprintf("%d secrets were resealed with the newest key.", done.Sealed)
	if done.Lost > 0 {
		say += fmt.Sprintf("\n%d secrets cannot be opened with any of the keys: those users have to log in again.", done.Lost)
	}
	return sealing{File: done.File, Sealed: &done.Sealed, Lost: &done.Lost, say: say}
}

// keyCommand creates a command that changes keys. What it has done before an error is
// printed, too.
func keyCommand(env *Env, name, short, long, example string, do func(context.Context, parley.Config) (sealing, error)) *cobra.Command {
	var (
		cfg    parley.Config
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Example: example, GroupID: groupKeys, Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Logins.KeyFile != "" {
				cfg.Logins.KeyFile = env.path(cfg.Logins.KeyFile)
			}
			done, err := do(cmd.Context(), cfg)
			switch {
			case done.File == "":
				return err
			case asJSON:
				return errors.Join(err, env.writeJSON(done))
			}
			fmt.Fprintln(env.Stdout, done.say)
			return err
		},
	}
	cmd.Flags().StringVar(&cfg.Sessions.URL, "session_db_url", "", "`url` of the database with the logins")
	cmd.Flags().StringVar(&cfg.Logins.KeyFile, "credential_key_file", "", "`file` with the keys (default next to a SQLite file)")
	cmd.Flags().StringVar(&cfg.Logins.KMS, "credential_kms", "", "`key` of a key management service that the keys are\nwrapped with")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

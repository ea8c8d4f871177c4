package cli

import (
	"github.com/spf13/cobra"

	"github.com/parley-run/parley"
)

func newDoctor(env *Env) *cobra.Command {
	var (
		url    string
		repair bool
	)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the sessions in a database",
		Long: `Check every session in a database: that its log has no gaps and can be read,
that every call is answered once, that the state follows from the log, and that
its runs are where they should be. Servers may be at work meanwhile.

The exit code is 1 when something is left that should not be.`,
		Example: `  parley doctor --session_db_url sqlite:///var/lib/parley.db
  parley doctor --session_db_url postgres://parley@db/parley --repair`,
		GroupID: groupMore,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				return &usageError{"--session_db_url says which database to check"}
			}
			return parley.Doctor(cmd.Context(), url, repair, env.Stdout)
		},
	}
	cmd.Flags().StringVar(&url, "session_db_url", "", "`url` of the database")
	cmd.Flags().BoolVar(&repair, "repair", false, "repair what can be repaired")
	return cmd
}

package cli

import (
	"fmt"
	"io"

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
its runs are where they should be. Servers may run at the same time.

The exit code is 1 when something is left that should not be.`,
		Example: `  parley doctor --session_db_url sqlite:///var/lib/parley.db
  parley doctor --session_db_url postgres://parley@db/parley --repair`,
		GroupID: groupMore,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				return &usageError{"--session_db_url says which database to check"}
			}
			found, err := parley.Doctor(cmd.Context(), url, repair)
			if found != nil {
				show(env.Stdout, found)
			}
			if err != nil {
				return err
			}
			if left := found.Unrepaired(); left > 0 {
				return fmt.Errorf("%d problems remain", left)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "session_db_url", "", "`url` of the database")
	cmd.Flags().BoolVar(&repair, "repair", false, "repair what can be repaired")
	return cmd
}

// show prints a line for each problem, and a summary.
func show(out io.Writer, found *parley.Diagnosis) {
	for _, p := range found.Problems {
		fmt.Fprintf(out, "%s/%s/%s", p.Session.App, p.Session.User, p.Session.ID)
		if p.Seq > 0 {
			fmt.Fprintf(out, " #%d", p.Seq)
		}
		if p.Repaired {
			fmt.Fprint(out, ": repaired")
		}
		fmt.Fprintf(out, ": %s\n", p.Text)
	}
	fmt.Fprintf(out, "%d sessions, %d events, %d runs: %d problems, %d repaired\n",
		found.Sessions, found.Events, found.Runs, len(found.Problems), len(found.Problems)-found.Unrepaired())
}

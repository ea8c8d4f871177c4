package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/session"
)

func newDoctor(env *Env) *cobra.Command {
	var (
		url    string
		repair bool
		move   bool
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the sessions in a database",
		Long: `Check every session in a database: that its log has no gaps and can be read,
that every call is answered once, that the state follows from the log, and that
its runs are where they should be. Servers may run at the same time.

The exit code is 1 when something is left that should not be. The first line names
the file that flags were read from, if there is one.

With --move, do not check, but move the users whose database changes because
one was added to a list of databases. All servers must have the whole list
before; they continue to serve. A move that was interrupted is completed.`,
		Example: `  parley doctor --session_db_url sqlite:///var/lib/parley.db
  parley doctor --session_db_url postgres://parley@db/parley --repair
  parley doctor --session_db_url postgres://db1/parley,postgres://db2/parley --move`,
		GroupID: groupMore,
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				return &usageError{"--session_db_url says which database to check"}
			}
			if move {
				if repair {
					return &usageError{"--move and --repair cannot be combined"}
				}
				return moveUsers(cmd.Context(), env.Stdout, url, asJSON)
			}
			if env.config.path != "" && !asJSON {
				fmt.Fprintln(env.Stdout, &env.config)
			}
			found, err := parley.Doctor(cmd.Context(), url, repair)
			if found != nil && asJSON {
				if err := showJSON(env.Stdout, found, env.config.path); err != nil {
					return err
				}
			} else if found != nil {
				show(env, found)
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
	cmd.Flags().StringVar(&url, "session_db_url", "", "`url` of the database, or a list, separated by commas")
	cmd.Flags().BoolVar(&repair, "repair", false, "repair what can be repaired")
	cmd.Flags().BoolVar(&move, "move", false, "move users to the databases where they belong")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, a line for each step of a move")
	return cmd
}

// moveUsers moves users, and prints the progress.
func moveUsers(ctx context.Context, out io.Writer, url string, asJSON bool) error {
	encoder := json.NewEncoder(out)
	var unread error // the move goes on if its output is not read
	report := func(m session.Moved) {
		if asJSON {
			unread = encoder.Encode(m)
			return
		}
		fmt.Fprintf(out, "%d of %d slots, %d of %d sessions\n", m.DoneSlots, m.Slots, m.DoneSessions, m.Sessions)
	}
	moved, err := parley.Move(ctx, url, report)
	if err != nil {
		return err
	}
	if asJSON {
		return cmp.Or(unread, encoder.Encode(moved))
	}
	for _, d := range moved.Databases {
		fmt.Fprintf(out, "database %s has %d slots\n", d.Name, d.Slots)
	}
	fmt.Fprintf(out, "moved %d slots of users, %d sessions\n", moved.DoneSlots, moved.DoneSessions)
	return nil
}

// showJSON prints what was found as one line.
func showJSON(out io.Writer, found *parley.Diagnosis, config string) error {
	type problem struct {
		App      string `json:"app"`
		User     string `json:"user"`
		Session  string `json:"session"`
		Seq      int64  `json:"seq,omitempty"`
		Text     string `json:"text"`
		Repaired bool   `json:"repaired"`
	}
	problems := []problem{}
	for _, p := range found.Problems {
		problems = append(problems, problem{p.Session.App, p.Session.User, p.Session.ID, p.Seq, p.Text, p.Repaired})
	}
	doc := map[string]any{"sessions": found.Sessions, "events": found.Events, "runs": found.Runs, "problems": problems}
	if config != "" {
		doc["config"] = config
	}
	return json.NewEncoder(out).Encode(doc)
}

// show prints a line for each problem, and a summary.
func show(env *Env, found *parley.Diagnosis) {
	out := env.Stdout
	for _, p := range found.Problems {
		fmt.Fprintf(out, "%s/%s/%s", p.Session.App, p.Session.User, p.Session.ID)
		if p.Seq > 0 {
			fmt.Fprintf(out, " #%d", p.Seq)
		}
		if p.Repaired {
			fmt.Fprint(out, env.colour(": repaired", colourGreen))
		}
		fmt.Fprintf(out, ": %s\n", p.Text)
	}
	outcome, colour := fmt.Sprintf("%d problems, %d repaired", len(found.Problems), len(found.Problems)-found.Unrepaired()), colourGreen
	if found.Unrepaired() > 0 {
		colour = colourRed
	}
	fmt.Fprintf(out, "%d sessions, %d events, %d runs: %s\n", found.Sessions, found.Events, found.Runs, env.colour(outcome, colour))
}

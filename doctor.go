package parley

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/parley-run/parley/internal/doctor"
)

// Doctor looks whether the sessions in a database are what they should be,
// writes what it finds to out, a line for each problem and a last one that sums
// up, and mends what can be mended if it is told to. It fails when something is
// left that should not be. Servers may be at work meanwhile.
func Doctor(ctx context.Context, sessionDBURL string, mend bool, out io.Writer) error {
	if inMemory(sessionDBURL) {
		return errors.New("parley: there is nothing to examine: sessions in memory are gone with their server")
	}
	store, err := openExisting(ctx, sessionDBURL)
	if err != nil {
		return inField("Sessions.URL", err)
	}
	defer store.Close()
	report, err := doctor.Examine(ctx, store, mend)
	for _, p := range report.Problems {
		fmt.Fprintln(out, p)
	}
	fmt.Fprintf(out, "%d sessions, %d events, %d runs: %d problems, %d mended\n",
		report.Sessions, report.Events, report.Runs, len(report.Problems), len(report.Problems)-report.Left())
	if err != nil {
		return fmt.Errorf("parley: %w", err)
	}
	if left := report.Left(); left > 0 {
		return fmt.Errorf("parley: %d problems are left", left)
	}
	return nil
}

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/parley-run/parley"
)

// build describes the build of the program.
type build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func currentBuild() build {
	return build{parley.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
}

func (b build) String() string {
	return fmt.Sprintf("parley %s %s %s/%s", b.Version, b.Go, b.OS, b.Arch)
}

func newVersion(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		GroupID: groupMore,
		Args:    takes(0),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return env.writeJSON(currentBuild())
			}
			_, err := fmt.Fprintln(env.Stdout, currentBuild())
			return err
		},
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

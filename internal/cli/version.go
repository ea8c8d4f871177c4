package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/parley-run/parley"
)

// build describes the build of the program.
type build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	// Revision is the commit of the working copy that the program was built in, and
	// Modified means that files had been changed since. They are not known of a
	// program that was installed from a module, or built with -buildvcs=false.
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
}

func currentBuild() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(parley.Version(), info)
}

// buildOf describes the build of a program with a version. info may be nil.
func buildOf(version string, info *debug.BuildInfo) build {
	b := build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil || info.Main.Path != "github.com/parley-run/parley" { // it would be the revision of another module
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// String has the revision where the version does not say which one it is.
func (b build) String() string {
	version := b.Version
	if version == "devel" && b.Revision != "" {
		version += " " + b.Revision[:min(12, len(b.Revision))]
		if b.Modified {
			version += " (modified)"
		}
	}
	return fmt.Sprintf("parley %s %s %s/%s", version, b.Go, b.OS, b.Arch)
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

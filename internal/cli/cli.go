// Package cli implements the parley command: it parses flags, passes them to
// package parley, and prints the results. It contains no product logic.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes of the command.
const (
	// ExitOK means success, including that of a server that was interrupted.
	ExitOK = 0
	// ExitFailure means that the command failed.
	ExitFailure = 1
	// ExitUsage means that the command was not run because of an unknown command,
	// an unknown flag or an invalid value.
	ExitUsage = 2
)

// Env is the environment of the process.
type Env struct {
	Args    []string // without the name of the program
	Environ []string // as "KEY=value"
	Dir     string   // the working directory
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// CacheDir is for files that can be created again; empty means none.
	CacheDir string
	// Executable is the file of the program; empty if unknown.
	Executable string
	// StdinTerminal and StdoutTerminal report whether these are terminals.
	StdinTerminal, StdoutTerminal bool
	// Raw puts the terminal of Stdin into raw mode, until restore is called. It is
	// nil where lines cannot be edited.
	Raw func() (restore func(), err error)
	// Size returns the size of the terminal of Stdout, or 0; nil if it is unknown.
	Size func() (columns, rows int)

	config configFile // of the command that runs
	// transport is that of parley deploy in tests; nil otherwise.
	transport http.RoundTripper
}

// getenv returns the value of an environment variable, the last one if there are
// several.
func (e *Env) getenv(key string) (string, bool) {
	for _, one := range slices.Backward(e.Environ) {
		if value, ok := strings.CutPrefix(one, key+"="); ok {
			return value, true
		}
	}
	return "", false
}

// path resolves a path relative to the working directory.
func (e *Env) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.Dir, name)
}

// Main runs the command that env.Args name, until it returns or ctx is done, and
// returns its exit code.
func Main(ctx context.Context, env *Env) int {
	root := newRoot(env) //nolint:contextcheck // commands get ctx when they run
	// Every error before a command begins is a usage error.
	began := false
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := env.defaults(cmd.Flags()); err != nil {
			return err
		}
		if err := env.configure(cmd, args); err != nil {
			return err
		}
		began = true
		return nil
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	// Errors of package parley begin with its name, too.
	fmt.Fprintln(env.Stderr, "parley:", strings.TrimPrefix(strings.TrimSpace(message(err)), "parley: "))
	if _, usage := errors.AsType[*usageError](err); began && !usage {
		return ExitFailure
	}
	fmt.Fprintf(env.Stderr, "See '%s --help'.\n", cmd.CommandPath())
	return ExitUsage
}

// usageError is a usage error that a command finds after it has begun.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "Host agents behind HTTP, and talk to them in the terminal",
		Long: `Parley hosts agents behind HTTP, and talks to them in the terminal. It runs
agents in TypeScript as they are; an agent in Go is a program with Parley in it,
and parley create --style go makes one.

Every flag can also be given as an environment variable: PARLEY_AGENT_DIR is
--agent_dir. Values can also be in parley.yaml, in the directory of the agent or
in the working directory, as in port: 8000. A flag comes before its variable, and
a variable before the file. parley deploy does not read the file: the server that
it deploys does.

The exit code is 0 when a command did what it was asked for, 1 when it could
not, and 2 when it was not understood.`,
		Example: `  parley web my_agent --offline     the UI on http://127.0.0.1:8000, without a key
  parley create my_agent            make an agent to start from
  parley run my_agent --offline     talk to it in the terminal
  parley api_server my_agent        serve it without the UI`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Not cobra's own version flag: it takes a template, which would keep
			// every method of every type in the binary.
			if asked, _ := cmd.Flags().GetBool("version"); !asked {
				return pflag.ErrHelp
			}
			_, err := fmt.Fprintln(env.Stdout, currentBuild())
			return err
		},
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetArgs(append([]string{}, env.Args...)) // nil would mean those of the process
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetGlobalNormalizationFunc(underscores)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return suggest(err, cmd.Flags()) })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(env.Stdout, cmd) })
	root.PersistentFlags().BoolP("help", "h", false, "show the help of a command")
	root.PersistentFlags().String("config", "", "`file` with values of flags (default parley.yaml, if it\nexists)")
	root.Flags().Bool("version", false, "show the version")
	root.AddGroup(&cobra.Group{ID: groupAgents, Title: "Agents"}, &cobra.Group{ID: groupMore, Title: "More"})
	root.AddCommand(newAPIServer(env), newWeb(env), newRun(env), newEval(env), newReplay(env), newSessions(env), newRuns(env), newSchedules(env), newTriggers(env), newInbox(env), newWebhooks(env), newTools(env), newCreate(env), newDoctor(env), newDeploy(env), newKeys(env), newCredentials(env), newVersion(env), newCompletion(env))
	root.SetHelpCommand(newHelp())
	return root
}

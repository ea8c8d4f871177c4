// Parley hosts agents behind HTTP, and talks to them in the terminal.
package main

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/term"

	_ "github.com/parley-run/parley/all" // stores, models, TypeScript, the UI
	"github.com/parley-run/parley/internal/cli"
)

func main() {
	dir, _ := os.Getwd()            // without one, relative paths are up to the system
	cache, err := os.UserCacheDir() // without one, starting takes a little longer
	if err == nil {
		cache = filepath.Join(cache, "parley")
	}
	executable, _ := os.Executable() // without one, others can be deployed
	in, out := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	env := &cli.Env{
		Args: os.Args[1:], Environ: os.Environ(), Dir: dir, CacheDir: cache, Executable: executable,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTerminal: term.IsTerminal(in), StdoutTerminal: term.IsTerminal(out),
	}
	if env.StdoutTerminal {
		env.Size = func() (int, int) {
			columns, rows, _ := term.GetSize(out) // without one, lines are not broken
			return columns, rows
		}
	}
	if env.StdinTerminal && env.StdoutTerminal {
		env.Raw = func() (func(), error) {
			before, err := term.MakeRaw(in)
			return func() { _ = term.Restore(in, before) }, err
		}
	}
	os.Exit(cli.Main(context.Background(), env))
}

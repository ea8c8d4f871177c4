// Parley hosts agents behind HTTP, and talks to them in the terminal.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/parley-run/parley/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on, a signal is deadly again
	dir, _ := os.Getwd()         // without one, relative paths are up to the system
	os.Exit(cli.Main(ctx, &cli.Env{
		Args: os.Args[1:], Environ: os.Environ(), Dir: dir,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
	}))
}

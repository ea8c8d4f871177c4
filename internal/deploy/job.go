package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/parley-run/parley/internal/shell"
)

// patience is how long an interrupted program may take to end.
const patience = 10 * time.Second

// job is one deployment: it writes files to its own directory, and runs programs. In a dry run it shows what it would
// write and run.
type job struct {
	env    *Env
	dryRun bool
	dir    string
	// environ is added to the environment of programs.
	environ []string
	// hidden are arguments that are not shown, because they have secrets.
	hidden []string
}

// perform runs a deployment in a temporary directory, which it always removes afterwards. needs are the programs that
// it runs. The first signal ends it gracefully, the second one immediately.
func (o *Options) perform(ctx context.Context, env *Env, needs []string, do func(context.Context, *job) error) (err error) {
	for _, name := range needs {
		if _, err := exec.LookPath(name); err != nil && !o.DryRun {
			return fmt.Errorf("%s is needed and is not in the PATH", name)
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)
	// The reader of the output may disappear, and that must not keep the files.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	defer signal.Stop(unread)
	j := &job{env: env, dryRun: o.DryRun}
	remove, err := j.open(o.TempFolder, o.AgentDir)
	if err != nil {
		return err
	}
	defer func() {
		if failed := remove(); failed != nil {
			err = errors.Join(err, fmt.Errorf("remove the temporary files: %w", failed))
		}
		if ctx.Err() != nil && err != nil {
			err = errors.New("interrupted")
		}
	}()
	return do(ctx, j)
}

// open creates the directory of the job, and returns a function that removes it.
func (j *job) open(folder, agentDir string) (remove func() error, err error) {
	nothing := func() error { return nil }
	if folder == "" {
		pattern := "parley_deploy_" + j.env.Now().Format("20060102_150405") + "_"
		if j.dryRun {
			j.dir = filepath.Join(os.TempDir(), strings.TrimSuffix(pattern, "_"))
			return nothing, nil
		}
		if j.dir, err = os.MkdirTemp("", pattern+"*"); err != nil {
			return nil, err
		}
		return j.removal(j.dir), nil
	}
	if j.dir, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	if inside(agentDir, j.dir) {
		return nil, usage("--temp_folder: %s is in the agent directory", folder)
	}
	there, err := os.ReadDir(j.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if j.dryRun {
			return nothing, nil
		}
		if err := os.MkdirAll(j.dir, 0o700); err != nil {
			return nil, err
		}
		return j.removal(j.dir), nil
	case err != nil:
		return nil, fmt.Errorf("--temp_folder: %w", err)
	case len(there) > 0:
		return nil, usage("--temp_folder: %s is not empty: everything in it would be lost", folder)
	case j.dryRun:
		return nothing, nil
	}
	// The directory belongs to the user, its content to the job.
	return func() error {
		made, err := os.ReadDir(j.dir)
		if err != nil {
			return err
		}
		paths := make([]string, len(made))
		for i, one := range made {
			paths[i] = filepath.Join(j.dir, one.Name())
		}
		return j.removal(paths...)()
	}, nil
}

func (j *job) removal(paths ...string) func() error {
	return func() error {
		j.say("Removing the temporary files in %s", j.dir)
		var errs []error
		for _, path := range paths {
			errs = append(errs, os.RemoveAll(path))
		}
		return errors.Join(errs...)
	}
}

// inside reports whether path is dir or below it.
func inside(dir, path string) bool {
	if dir, err := filepath.Abs(dir); err == nil {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	}
	return false
}

// say reports progress to the user.
func (j *job) say(format string, args ...any) {
	fmt.Fprintf(j.env.Stdout, format+"\n", args...)
}

// path returns the path of a file of the job.
func (j *job) path(name string) string { return filepath.Join(j.dir, filepath.FromSlash(name)) }

// write writes a text file. shown is what a dry run shows of it.
func (j *job) write(name, text, shown string) error {
	if j.dryRun {
		j.say("\n--- %s", j.path(name))
		_, err := io.WriteString(j.env.Stdout, shown)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(j.path(name)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(j.path(name), []byte(text), 0o600)
}

// mkdir creates a directory that is readable by all users, regardless of the umask.
func (j *job) mkdir(name string) error {
	if name == "." {
		return nil
	}
	if err := j.mkdir(path.Dir(name)); err != nil {
		return err
	}
	err := os.Mkdir(j.path(name), 0o755) //nolint:gosec // the server has to read it
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(j.path(name), 0o755) //nolint:gosec // the server has to read it
}

// copy copies a file and makes it readable by all users: in a container the server runs as another user.
func (j *job) copy(from, name string, mode fs.FileMode) error {
	if err := j.mkdir(path.Dir(name)); err != nil {
		return err
	}
	in, err := os.Open(from) //nolint:gosec // what the user deploys
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(j.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close() // the copy has already failed
		return err
	}
	if err := out.Chmod(mode); err != nil { // regardless of the umask
		_ = out.Close()
		return err
	}
	return out.Close()
}

// run runs a program that can interact with the user.
func (j *job) run(ctx context.Context, name string, args ...string) error {
	j.show(name, args)
	if j.dryRun {
		return nil
	}
	cmd := j.command(ctx, name, args)
	cmd.Stdout = j.env.Stdout
	return j.ended(cmd, cmd.Run())
}

// output runs a program and returns its output. A dry run returns instead.
func (j *job) output(ctx context.Context, instead, name string, args ...string) (string, error) {
	j.show(name, args)
	if j.dryRun {
		return instead, nil
	}
	var out bytes.Buffer
	cmd := j.command(ctx, name, args)
	cmd.Stdout = &out
	err := j.ended(cmd, cmd.Run())
	return strings.TrimSpace(out.String()), err
}

// feed runs a program with a text on its standard input, which is not shown.
func (j *job) feed(ctx context.Context, text, name string, args ...string) error {
	j.show(name, args)
	if j.dryRun {
		return nil
	}
	cmd := j.command(ctx, name, args)
	cmd.Stdin, cmd.Stdout = strings.NewReader(text), j.env.Stdout
	return j.ended(cmd, cmd.Run())
}

func (j *job) command(ctx context.Context, name string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // one of the programs above; every value is an argument of its own
	cmd.Env = append(append([]string{}, j.env.Environ...), j.environ...)
	cmd.Stderr = j.env.Stderr
	if j.env.Interactive {
		cmd.Stdin = j.env.Stdin
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	return cmd
}

func (j *job) ended(cmd *exec.Cmd, err error) error {
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%s failed with exit code %d", filepath.Base(cmd.Args[0]), exit.ExitCode())
	}
	return fmt.Errorf("%s: %w", filepath.Base(cmd.Args[0]), err)
}

// variables returns the arguments of another program with variables of the environment,
// which may be keys: the values of options with these names.
func variables(args []string, names ...string) (list []string) {
	within := false
	for _, arg := range args {
		name, _, joined := strings.Cut(arg, "=")
		short := len(arg) > 2 && !strings.HasPrefix(arg, "--") && slices.Contains(names, arg[:2])
		switch {
		case short, joined && slices.Contains(names, name):
			list = append(list, arg)
		case strings.HasPrefix(arg, "-"):
			within = slices.Contains(names, arg)
		case within:
			list = append(list, arg)
		}
	}
	return list
}

// has reports whether one of the options is among the arguments of another program.
func has(args []string, options ...string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(options, name)
	})
}

// show prints a command as one would type it.
func (j *job) show(name string, args []string) {
	words := append(append([]string{}, j.environ...), name)
	for _, arg := range args {
		if slices.Contains(j.hidden, arg) {
			name, _, joined := strings.Cut(arg, "=")
			if arg = "…"; joined && strings.HasPrefix(name, "--") {
				arg = name + "=…"
			}
		}
		words = append(words, shell.Quote(arg))
	}
	line := "$ " + strings.Join(words, " ")
	if j.env.Styled { // beside the output of the programs
		line = "\x1b[1m" + line + "\x1b[0m"
	}
	j.say("%s", line)
}

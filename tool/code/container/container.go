// Package container runs Python code and shell scripts in containers of Docker or
// Podman: a new one for each execution, without network, with a read-only file
// system, an unprivileged user without capabilities, and limits of memory,
// processors, processes and time.
//
// The image needs sh, tar and the interpreters of the languages: python3 for
// Python, bash or sh for shell scripts, node for JavaScript. It is not pulled: do
// that before, with docker pull.
package container

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// Config describes an executor. The zero value uses the first of docker and podman
// that is on the PATH, and DefaultImage.
type Config struct {
	// Program is the name or the path of docker, podman, or a program with the same
	// commands.
	Program string
	// Environ is the environment of Program, such as DOCKER_HOST; nil means that of
	// this process. Code never sees it.
	Environ []string
	// Image is the image of the containers; empty means DefaultImage.
	Image string
	// Limits of an execution.
	Memory    int64         // bytes; 0 means 512 MB
	CPUs      float64       // 0 means 1
	Processes int           // 0 means 128
	Disk      int64         // bytes of all files that are written; 0 means 64 MB
	Timeout   time.Duration // 0 means 30 seconds
	Parallel  int           // executions at a time, others wait; 0 means 4
}

// DefaultImage is the image of an executor that names none.
const DefaultImage = "python:3.13-slim"

// Executor runs code in containers.
type Executor struct {
	cfg   Config
	slots chan struct{}
}

var _ code.Executor = (*Executor)(nil)

// New returns an executor. It fails if the program is not found.
func New(cfg Config) (*Executor, error) {
	program, err := find(cfg.Program)
	if err != nil {
		return nil, err
	}
	cfg.Program = program
	cfg.Image = cmp.Or(cfg.Image, DefaultImage)
	if strings.HasPrefix(cfg.Image, "-") {
		return nil, fmt.Errorf("the name %q of an image begins with a dash", cfg.Image)
	}
	cfg.Memory = cmp.Or(cfg.Memory, 512<<20)
	cfg.CPUs = cmp.Or(cfg.CPUs, 1)
	cfg.Processes = cmp.Or(cfg.Processes, 128)
	cfg.Disk = cmp.Or(cfg.Disk, 64<<20)
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	return &Executor{cfg: cfg, slots: make(chan struct{}, max(cmp.Or(cfg.Parallel, 4), 1))}, nil
}

// find finds the program.
func find(program string) (string, error) {
	names := []string{"docker", "podman"}
	if program != "" {
		names = []string{program}
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("code cannot be run in containers: %s is not on the PATH", strings.Join(names, " or "))
}

// Effect is that of an execution: code reaches nothing outside of its container,
// so it may be repeated.
func (e *Executor) Effect() tool.Effect { return tool.Pure }

// script runs in the container. It reads an archive with the directory work, runs
// the command in it, and writes an archive with the directories out and work. Its
// first argument is a number of seconds after which the command ends even if the
// server, which ends it earlier, has died.
const script = `limit=; command -v timeout >/dev/null && limit="timeout -s KILL $1"; shift; ` +
	`cd /box && tar -xf - && mkdir out && cd work && { $limit "$@" >../out/stdout 2>../out/stderr </dev/null; echo $? >../out/status; cd .. && tar -cf - out work; }`

// grace is how much later the container ends the code by itself.
const grace = 10 * time.Second

// shell runs a file with bash, if there is one.
const shell = `command -v bash >/dev/null && exec bash "$0" "$@"; exec sh "$0" "$@"`

// program returns the name of the file with the code, and the command that runs
// it.
func program(language string) (file string, command []string) {
	switch language {
	case code.Python, "":
		return ".parley_code.py", []string{"python3", ".parley_code.py"}
	case code.Shell:
		return ".parley_code.sh", []string{"sh", "-c", shell, ".parley_code.sh"}
	case code.JavaScript:
		return ".parley_code.cjs", []string{"node", ".parley_code.cjs"}
	}
	return "", nil
}

// Execute runs the code of a request. It is code.Executor.
func (e *Executor) Execute(ctx *tool.Context, req *code.Request) (*code.Result, error) {
	file, command := program(req.Language)
	if command == nil {
		return &code.Result{Stderr: fmt.Sprintf("Code in %s cannot be run here. Write Python or a shell script.", req.Language)}, nil
	}
	for _, a := range req.Args {
		if a.Name != "" {
			command = append(command, "--"+a.Name)
		}
		command = append(command, a.Value)
	}
	input, err := pack(file, req)
	if err != nil {
		return nil, err
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	within, cancel := code.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	output, err := e.run(within, input, command)
	switch {
	case errors.Is(context.Cause(within), code.ErrTimeout):
		return nil, fmt.Errorf("%w: %v", code.ErrTimeout, e.cfg.Timeout)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	return unpack(output, file, req)
}

// exitKilled is the status of a container that was killed, and of code that was.
const exitKilled = 137

// run runs a container, and returns the archive that it has written; nil if it was
// killed.
func (e *Executor) run(ctx context.Context, input []byte, command []string) ([]byte, error) {
	name := "parley-code-" + strings.ToLower(rand.Text())
	//nolint:gosec // G204: the operator chooses the program, and the code is not part of its command line
	cmd := exec.CommandContext(ctx, e.cfg.Program, append(e.args(name), command...)...)
	output, failure := &limited{most: int(2*e.cfg.Disk + 1<<20)}, &limited{most: 4 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), output, failure
	cmd.Env, cmd.WaitDelay = e.cfg.Environ, 5*time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		e.remove(ctx, name)
		return nil, ctx.Err()
	}
	exit := (*exec.ExitError)(nil)
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == exitKilled:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("run a container of %s: %s", e.cfg.Image, cmp.Or(strings.TrimSpace(string(failure.data)), err.Error()))
	case output.full:
		return nil, errors.New("the code has written too much")
	}
	return output.data, nil
}

// args are the arguments up to the command.
func (e *Executor) args(name string) []string {
	memory := strconv.FormatInt(e.cfg.Memory, 10)
	return []string{
		"run", "--rm", "--interactive", "--name", name, "--pull", "never", "--label", "run.parley=code",
		"--network", "none", "--read-only", "--user", "65534:65534",
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--memory", memory, "--memory-swap", memory, "--cpus", strconv.FormatFloat(e.cfg.CPUs, 'f', -1, 64),
		"--pids-limit", strconv.Itoa(e.cfg.Processes),
		"--tmpfs", fmt.Sprintf("/box:rw,exec,nosuid,nodev,mode=1777,size=%d", e.cfg.Disk),
		"--tmpfs", fmt.Sprintf("/tmp:rw,nosuid,nodev,mode=1777,size=%d", e.cfg.Disk),
		"--env", "HOME=/tmp", "--env", "PYTHONDONTWRITEBYTECODE=1",
		"--workdir", "/", "--entrypoint", "sh", e.cfg.Image, "-c", script, "sh", strconv.Itoa(int((e.cfg.Timeout + grace) / time.Second)),
	}
}

// remove ends the container of an execution that has no time left. The program that
// started it has ended, which does not end the container.
func (e *Executor) remove(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	//nolint:gosec // G204: the operator chooses the program
	cmd := exec.CommandContext(ctx, e.cfg.Program, "rm", "--force", name)
	cmd.Env, cmd.WaitDelay = e.cfg.Environ, time.Second
	_ = cmd.Run() // the container may not exist yet, and is not started then
}

// limited keeps the beginning of what is written to it.
type limited struct {
	data []byte
	most int
	full bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.most-len(l.data))
	l.data, l.full = append(l.data, p[:n]...), l.full || n < len(p)
	return len(p), nil
}

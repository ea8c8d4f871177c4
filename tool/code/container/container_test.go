//go:build unix

package container_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
	"github.com/parley-run/parley/tool/code/container"
)

// TestMain is also the program that stands in for docker and podman: a link to the
// test binary of that name.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); name == "docker" || name == "podman" {
		os.Exit(standIn(os.Args[1:]))
	}
	leak.Main(m)
}

// standIn records its arguments beside itself. Instead of a container it runs the
// command here, below a directory of its own.
func standIn(args []string) int {
	dir := filepath.Dir(os.Args[0])
	line, err := json.Marshal(args)
	if err != nil {
		return 125
	}
	f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 125
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
	image := slices.Index(args, "-c") - 1
	if args[0] != "run" || image < 0 {
		return 0
	}
	switch args[image] {
	case "missing":
		os.Stderr.WriteString("Unable to find image 'missing' locally\n")
		return 125
	case "environ":
		os.Stderr.WriteString(strings.Join(os.Environ(), " "))
		return 125
	case "hangs":
		for {
			time.Sleep(time.Hour)
		}
	case "killed":
		return 137
	case "orphan": // the server does not end the code
		args[image+4] = "0.1"
	case "talks":
		_, _ = io.Copy(os.Stdout, bytes.NewReader(make([]byte, 4<<20)))
		return 0
	}
	box, err := os.MkdirTemp(dir, "box")
	if err != nil {
		return 125
	}
	args[image+2] = strings.Replace(args[image+2], "/box", box, 1)
	cmd := exec.Command("sh", args[image+1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return 1
	}
	return 0
}

// engine puts the stand-in into a directory, and returns its path and a function
// that returns the arguments of its calls.
func engine(t *testing.T, name string) (program string, calls func() [][]string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program = filepath.Join(dir, name)
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	return program, func() (all [][]string) {
		text, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			return nil
		}
		for line := range strings.Lines(string(text)) {
			var args []string
			if err := json.Unmarshal([]byte(line), &args); err != nil {
				return nil // it is being written
			}
			all = append(all, args)
		}
		return all
	}
}

func execute(t *testing.T, cfg container.Config, req *code.Request) (*code.Result, error) {
	t.Helper()
	e, err := container.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e.Execute(&tool.Context{Context: t.Context()}, req)
}

// generous is for code that ends by itself, also on a busy machine.
const generous = 5 * time.Minute

func TestCommandLine(t *testing.T) {
	t.Parallel()
	program, calls := engine(t, "docker")
	cfg := container.Config{Program: program, Image: "img", Memory: 1 << 20, CPUs: 0.5, Processes: 7, Disk: 1 << 20, Timeout: generous}
	if _, err := execute(t, cfg, &code.Request{Code: "echo hi", Language: "shell"}); err != nil {
		t.Fatal(err)
	}
	args := calls()[0]
	name := args[slices.Index(args, "--name")+1]
	if !strings.HasPrefix(name, "parley-code-") || len(name) < 30 {
		t.Errorf("the name is %q", name)
	}
	line := strings.Join(args, " ")
	line = strings.Replace(line[:strings.Index(line, " -c ")], name, "NAME", 1)
	want := "run --rm --interactive --name NAME --pull never --label run.parley=code --network none --read-only --user 65534:65534" +
		" --cap-drop ALL --security-opt no-new-privileges --memory 1048576 --memory-swap 1048576 --cpus 0.5 --pids-limit 7" +
		" --tmpfs /box:rw,exec,nosuid,nodev,mode=1777,size=1048576 --tmpfs /tmp:rw,nosuid,nodev,mode=1777,size=1048576" +
		" --env HOME=/tmp --env PYTHONDONTWRITEBYTECODE=1 --workdir / --entrypoint sh img"
	if diff := cmp.Diff(want, line); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if limit := args[slices.Index(args, "-c")+3]; limit != "310" {
		t.Errorf("the container ends the code after %s seconds", limit)
	}
	if strings.Contains(strings.Join(args, " "), "echo hi") {
		t.Error("the code is in the command line")
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	program, _ := engine(t, "podman")
	cfg := container.Config{Program: program, Timeout: generous}
	for source, want := range map[string]*code.Result{
		"echo out; echo warned >&2":      {Stdout: "out\nwarned\n"},
		"echo out; echo bad >&2; exit 3": {Stdout: "out\n", Stderr: "bad\n"},
		"exit 3":                         {Stderr: "Exit code 3"},
		"exit 137":                       {Stderr: "\nThe code was killed. It may have used more memory than it is allowed."},
		`echo "$1 $2"; cat in/a.txt; read x || echo no input`:                             {Stdout: "--room big hall\nAno input\n"},
		"mkdir -p o; printf 1 > o/new.txt; printf B > in/a.txt; ln -s /etc/passwd o/link": {Files: []code.File{{Name: "in/a.txt", Data: []byte("B")}, {Name: "o/new.txt", Data: []byte("1")}}},
	} {
		got, err := execute(t, cfg, &code.Request{
			Code: source, Language: "shell", Args: []code.Arg{{Name: "room", Value: "big hall"}}, Files: []code.File{{Name: "in/a.txt", Data: []byte("A")}},
		})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		slices.SortFunc(got.Files, func(a, b code.File) int { return strings.Compare(a.Name, b.Name) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	got, err := execute(t, cfg, &code.Request{Code: "import helper\nprint(helper.x * 2)\nopen('out.txt', 'w').write('o')", Language: "python", Files: []code.File{{Name: "helper.py", Data: []byte("x = 21")}}})
	if err != nil || got.Stdout != "42\n" || !slices.ContainsFunc(got.Files, func(f code.File) bool { return f.Name == "out.txt" && string(f.Data) == "o" }) {
		t.Errorf("python: %+v %v", got, err)
	}
}

func TestExecuteFailures(t *testing.T) {
	t.Parallel()
	program, _ := engine(t, "docker")
	cfg := container.Config{Program: program, Timeout: generous, Disk: 1 << 20}
	for image, want := range map[string]string{
		"missing": "run a container of missing: Unable to find image 'missing' locally",
		"talks":   "the code has written too much",
	} {
		cfg.Image = image
		if _, err := execute(t, cfg, &code.Request{Code: "x"}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", image, err, want)
		}
	}
	cfg.Image, cfg.Environ = "environ", []string{"DOCKER_HOST=there"}
	if _, err := execute(t, cfg, &code.Request{Code: "x"}); err == nil || err.Error() != "run a container of environ: DOCKER_HOST=there" {
		t.Errorf("%v, want the environment that was given", err)
	}
	cfg.Image = "killed"
	if got, err := execute(t, cfg, &code.Request{Code: "x"}); err != nil || !strings.Contains(got.Stderr, "was killed") {
		t.Errorf("killed: %+v %v", got, err)
	}
	if _, err := exec.LookPath("timeout"); err == nil {
		cfg.Image, cfg.Environ = "orphan", nil
		if got, err := execute(t, cfg, &code.Request{Code: "sleep 1000", Language: "shell"}); err != nil || !strings.Contains(got.Stderr, "was killed") {
			t.Errorf("orphan: %+v %v", got, err)
		}
	}
	if got, err := execute(t, cfg, &code.Request{Code: "x", Language: "powershell"}); err != nil || !strings.Contains(got.Stderr, "powershell cannot be run here") {
		t.Errorf("language: %+v %v", got, err)
	}
	if _, err := execute(t, cfg, &code.Request{Code: "x", Files: []code.File{{Name: "../x"}}}); err == nil {
		t.Error("a file outside of the working directory is accepted")
	}
	if _, err := container.New(container.Config{Program: program, Image: "--privileged"}); err == nil {
		t.Error("an option is accepted as an image")
	}
}

// An execution whose time is over does not go on in its container.
func TestContainersAreRemoved(t *testing.T) {
	t.Parallel()
	t.Run("at the time limit", func(t *testing.T) {
		t.Parallel()
		program, calls := engine(t, "docker")
		if _, err := execute(t, container.Config{Program: program, Image: "hangs", Timeout: time.Millisecond}, &code.Request{Code: "x"}); !errors.Is(err, code.ErrTimeout) {
			t.Errorf("%v, want that it did not end in its time", err)
		}
		all := calls()
		if last := all[len(all)-1]; last[0] != "rm" || last[1] != "--force" || !strings.HasPrefix(last[2], "parley-code-") {
			t.Errorf("the last call is %q", last)
		}
	})
	t.Run("with the run", func(t *testing.T) {
		t.Parallel()
		program, calls := engine(t, "docker")
		e, err := container.New(container.Config{Program: program, Image: "hangs", Timeout: generous})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for len(calls()) == 0 && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		if _, err := e.Execute(&tool.Context{Context: ctx}, &code.Request{Code: "x"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want that it was cancelled", err)
		}
		all := calls()
		if want := []string{"rm", "--force", all[0][slices.Index(all[0], "--name")+1]}; !slices.Equal(all[len(all)-1], want) {
			t.Errorf("the last call is %q, want %q", all[len(all)-1], want)
		}
	})
}

func TestProgramIsFound(t *testing.T) {
	program, _ := engine(t, "podman")
	t.Setenv("PATH", filepath.Dir(program))
	if _, err := container.New(container.Config{}); err != nil {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := container.New(container.Config{}); err == nil || err.Error() != "code cannot be run in containers: docker or podman is not on the PATH" {
		t.Errorf("%v", err)
	}
}

// TestEngine uses the real thing.
func TestEngine(t *testing.T) {
	t.Parallel()
	e, err := container.New(container.Config{Timeout: generous})
	if err != nil {
		t.Skip(err)
	}
	found := false
	for _, name := range []string{"docker", "podman"} {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if text, err := exec.CommandContext(t.Context(), program, "info").CombinedOutput(); err != nil {
			t.Skipf("%s info: %v: %s", name, err, text)
		}
		if err := exec.CommandContext(t.Context(), program, "image", "inspect", container.DefaultImage).Run(); err != nil {
			t.Skipf("the image %s is not there: %s pull %s", container.DefaultImage, name, container.DefaultImage)
		}
		found = true
		break
	}
	if !found {
		t.Skip("neither docker nor podman is installed")
	}
	ctx := &tool.Context{Context: t.Context()}
	for source, want := range map[string]string{
		"print(open('a.txt').read() * 2)": "AA\n",
		"import os\nprint(os.getuid())":   "65534\n",
		"import urllib.request\ntry:\n  urllib.request.urlopen('http://1.1.1.1', timeout=5)\nexcept Exception as e:\n  print('offline')": "offline\n",
		"try:\n  open('/etc/x', 'w')\nexcept OSError as e:\n  print('read-only')":                                                        "read-only\n",
	} {
		got, err := e.Execute(ctx, &code.Request{Code: source, Language: "python", Files: []code.File{{Name: "a.txt", Data: []byte("A")}}})
		if err != nil || got.Stdout != want || got.Stderr != "" {
			t.Errorf("%s\n%+v %v, want %q", source, got, err, want)
		}
	}
}

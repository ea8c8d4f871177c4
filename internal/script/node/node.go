// Package node runs the code of an application in a process of Node.js: native
// addons, WebAssembly and processes work there, which QuickJS does not have.
//
// The process speaks the protocol of package engine over pipes. It is not a
// sandbox: it has the rights of the user that the server runs as. It has limits of
// memory and time, and ends with the server.
package node

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/script/tempdir"
)

// Options describe an application.
type Options struct {
	App string // its name
	Dir string // its directory, absolute
}

//go:embed boot.cjs
var boot []byte

// The files in the directory of a process.
const (
	bootFile    = "boot.cjs"
	libraryFile = "library.js"
)

// Start returns a function that starts a process for each engine. Its library is
// the body of a CommonJS module.
func Start(o Options) engine.Start {
	return func(limits engine.Limits, functions map[string]engine.Function, post engine.Post) (engine.Thread, error) {
		p, err := start(o, limits, functions, post)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
}

// find returns the path of the program.
func find(app string) (string, error) {
	if !supported {
		return "", fmt.Errorf("the application %q needs Node.js (\"parley\": {\"engine\": \"node\"} in its package.json, or --engine node), which does not work on this system: serve it on Linux or macOS", app)
	}
	program, err := exec.LookPath("node")
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return "", fmt.Errorf("the application %q needs Node.js (\"parley\": {\"engine\": \"node\"} in its package.json, or --engine node), and there is no program node in PATH: install Node.js 20 or newer", app)
	}
	return program, nil
}

// scratch makes the directory of a process: the code that it runs, and what the
// code writes to its home directory or below os.tmpdir().
func scratch() (*tempdir.Dir, error) {
	dir, err := tempdir.New("parley-node-")
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir.Path, bootFile), boot, 0o600),
		os.WriteFile(filepath.Join(dir.Path, "package.json"), []byte(`{"type":"module"}`), 0o600),
		os.Mkdir(filepath.Join(dir.Path, "tmp"), 0o700),
	)
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// environ is the environment that the process starts with. The application's own
// is that of process.env in every engine, and comes later: it must not change how
// Node.js starts.
func environ(dir, mark string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), //nolint:forbidigo // the programs that code may start are those of the server
		"HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"), mark,
	}
}

// markName is the variable by which processes are found that the code has started.
const markName = "ENGINE_OF_PARLEY"

// heapMB is the limit of the heap that Node.js is given.
func heapMB(limits engine.Limits) string {
	return fmt.Sprintf("--max-old-space-size=%d", max(limits.Memory>>20, 1))
}

// outOfMemory reports whether Node.js has ended for lack of memory, by what it
// printed last.
func outOfMemory(printed string) bool { return noMemory.MatchString(printed) }

var noMemory = regexp.MustCompile(`JavaScript heap out of memory|Fatal process (OOM|out of memory)|FATAL ERROR:.*Allocation failed|std::bad_alloc`)

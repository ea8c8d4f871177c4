package parley

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/link"
	"github.com/parley-run/parley/internal/run"
)

// apps are the applications of a server: those that were given in code, and
// those that were found in a directory.
type apps struct {
	code  map[string]*agent.Agent
	found link.Scripts // nil without a directory
	evals string       // EvaluationConfig.Dir
}

func (a *apps) Names() []string {
	names := slices.Collect(maps.Keys(a.code))
	if a.found != nil {
		names = append(names, a.found.Names()...)
	}
	slices.Sort(names)
	return names
}

func (a *apps) Agent(app string) (*agent.Agent, error) {
	if root, ok := a.code[app]; ok {
		return root, nil
	}
	if a.found == nil {
		return nil, run.ErrUnknownApp
	}
	root, ok, err := a.found.Agent(app)
	switch {
	case !ok:
		return nil, run.ErrUnknownApp
	case root == nil:
		return nil, &run.AppError{Cause: err}
	}
	return root, nil
}

func (a *apps) Dir(app string) string {
	if _, ok := a.code[app]; ok || a.found == nil {
		return ""
	}
	return a.found.DirOf(app)
}

// EvalDir is the directory with the evaluation sets of an application, empty if it can
// have none.
func (a *apps) EvalDir(app string) string {
	if _, ok := a.code[app]; ok && a.evals != "" {
		return filepath.Join(a.evals, app)
	}
	return a.Dir(app)
}

// makeEvalDirs creates the directories of EvalDir.
func (a *apps) makeEvalDirs() error {
	if a.evals == "" {
		return nil
	}
	for app := range a.code {
		dir := a.EvalDir(app)
		if !filepath.IsLocal(app) || filepath.Base(app) != app {
			return fmt.Errorf("the application %q cannot have a directory: its name is not one for a file", app)
		}
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return err
		}
	}
	return nil
}

func (a *apps) ReloadError(app string) error {
	if _, ok := a.code[app]; ok || a.found == nil {
		return nil
	}
	return a.found.ReloadError(app)
}

func (a *apps) Language(app string) string {
	if _, ok := a.code[app]; ok {
		return "go"
	}
	return "typescript"
}

// Code identifies the code of an application: the version of the program, and the
// files of one that is written in TypeScript.
func (a *apps) Code(app string) string {
	if _, ok := a.code[app]; ok || a.found == nil {
		return revision()
	}
	return a.found.Code(app)
}

// revision is what the program was built of.
var revision = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
})

// Package link describes parts of the server that not every program links, as
// package registry holds them: the JavaScript engine and the developer UI.
package link

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/public"
	"github.com/parley-run/parley/model"
)

// LoadScripts loads applications that are written in TypeScript.
type LoadScripts func(ctx context.Context, o ScriptOptions) (Scripts, error)

// YAML returns a document of YAML as JSON.
type YAML func(text []byte) ([]byte, error)

// DevUI creates the handler of the developer UI; dir is UIConfig.Dir.
type DevUI func(dir string) (http.Handler, error)

// ScriptOptions say what to load.
type ScriptOptions struct {
	// Dir is one application, or a directory of applications. AppName is the name
	// of a single one; empty for that of its directory.
	Dir, AppName string
	// Environ is what applications may see of the environment of the process, as
	// "KEY=value".
	Environ []string
	// Processes lets applications start processes.
	Processes bool
	// Models makes the models that agents name. getenv is the application's
	// view of the environment.
	Models func(name string, options json.RawMessage, getenv func(string) string) (model.Model, error)
	Log    *slog.Logger
	// CacheDir keeps bundles and packs from one start to the next; empty for none.
	CacheDir string
	// Reload picks up changes on disk.
	Reload bool
	// Engine runs applications that do not choose one: "quickjs" or "node"; empty
	// for the former.
	Engine string
	// Engines is how many JavaScript engines each application has; 0 for one.
	Engines int
	// Memory is how many bytes each engine may use; 0 for the default.
	Memory int64
	// Hosts are what code may connect to beside the public internet; nil for every
	// address.
	Hosts *public.Hosts
	// Scratch is how many bytes the code of an application may keep in its scratch
	// directory; 0 or less for none.
	Scratch int64
	// MaxResponse is the size limit of a response that code fetches; 0 for the
	// default.
	MaxResponse int64
}

// Scripts are applications that were loaded from a directory.
type Scripts interface {
	// Dir is the directory of all, DirOf that of one.
	Dir() string
	DirOf(app string) string
	Names() []string
	// Agent is the root agent of an application; ok is false if there is no such
	// application.
	Agent(app string) (root *agent.Agent, ok bool, err error)
	// ReloadError is why the last change of an application could not be loaded, if the
	// version before it is served.
	ReloadError(app string) error
	// Code identifies the code of an application that is served; empty if there is none.
	Code(app string) string
	// Getenv returns a variable of the environment of an application; empty if there is
	// none.
	Getenv(app, variable string) string
	Engines() []Engines
	Close()
}

// Engines are the JavaScript engines of an application.
type Engines struct {
	App         string
	Count       int
	Restarts    int64
	MemoryLimit int64 // of each
}

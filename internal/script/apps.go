// Package script runs applications that are written in TypeScript. It loads them from
// a directory, restarts their JavaScript engines if the code has to be stopped, and
// reloads them when their files change.
//
// The packages below it do the parts: bundle finds and bundles the code, engine runs
// it, host provides the API of Node.js, and adk builds agents of what the code
// describes. Only the functions of authors are JavaScript: tools, callbacks,
// instruction functions, custom agents and models. The loop around a model, sessions
// and everything else are Go.
package script

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/public"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/script/adk"
	"github.com/parley-run/parley/internal/script/bundle"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/script/host"
	"github.com/parley-run/parley/internal/script/node"
	"github.com/parley-run/parley/model"
)

// Options of Load.
type Options struct {
	// Dir is one application, or a directory of applications. It may be the file
	// that an application starts with.
	Dir string
	// AppName is the name of a single application; empty for that of its
	// directory.
	AppName string
	// Environ is the part of the environment of the process that applications get,
	// as "KEY=value".
	Environ []string
	// Processes allows applications to start processes.
	Processes bool
	// Models makes the models that agents name. getenv is the application's
	// view of the environment.
	Models func(name string, options json.RawMessage, getenv func(string) string) (model.Model, error)
	Log    *slog.Logger
	// Engine runs applications that do not choose one themselves: "quickjs" or "node";
	// empty for the former.
	Engine string
	// Limits of each engine; nil for the default.
	Limits *engine.Limits
	// Memory replaces Limits.Memory, unless it is 0.
	Memory int64
	// MaxResponse is the size limit of a response that code fetches; 0 for the
	// default.
	MaxResponse int64
	// Hosts are what code may connect to beside the public internet; nil for every
	// address.
	Hosts *public.Hosts
	// Scratch is how many bytes the code of an application may keep in its scratch
	// directory; 0 for none.
	Scratch int64
	// CacheDir keeps bundles and bytecode from one start to the next; empty for
	// none. It is not used if other users can write to it.
	CacheDir string
	// Reload picks up changes on disk.
	Reload bool
	// Engines is how many JavaScript engines each application has; 0 for one.
	// They share no variables.
	Engines int
}

// Apps are applications that were loaded from disk.
type Apps struct {
	opts    Options
	dir     string
	root    string // dir without symbolic links
	watcher *watcher
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc

	mu        sync.RWMutex
	apps      map[string]*app
	instances map[*instance]bool // that may still be in use
	restarts  restarts
	codes     sync.Map                 // of applications, see Code
	scratch   map[string]*host.Scratch // of applications
}

// app is one application: its agents, or the error of loading it.
type app struct {
	bundle.App
	root *agent.Agent
	err  error
	// change is why the last change could not be loaded, if a version before it is
	// served.
	change error
}

// Load finds and starts applications. The error of one that does not work is kept,
// and the others are served.
func Load(ctx context.Context, opts Options) (*Apps, error) {
	if opts.Limits == nil {
		limits := engine.DefaultLimits()
		opts.Limits = &limits
	}
	if opts.Memory > 0 {
		limits := *opts.Limits
		limits.Memory = opts.Memory
		opts.Limits = &limits
	}
	root, found, err := bundle.Find(opts.Dir, opts.AppName)
	if err != nil {
		return nil, err
	}
	a := &Apps{opts: opts, root: root, apps: map[string]*app{}, instances: map[*instance]bool{}}
	a.dir, _ = filepath.Abs(opts.Dir)
	if info, err := os.Stat(a.dir); err == nil && !info.IsDir() {
		a.dir = filepath.Dir(a.dir)
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	if opts.Reload {
		if a.watcher, err = newWatcher(a.reload, opts.Log); err != nil {
			a.cancel()
			return nil, err
		}
	}
	// Some may take long: the others do not wait for them.
	var wg sync.WaitGroup
	loaded, files := make([]*app, len(found)), make([][]string, len(found))
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, p := range found {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			one := &app{App: p}
			one.root, files[i], one.err = a.start(ctx, p)
			loaded[i] = one
		})
	}
	wg.Wait()
	for _, one := range loaded {
		a.apps[one.Name] = one
		if one.err != nil {
			opts.Log.Error("the application does not work", "app", one.Name, "err", one.err)
		}
	}
	for i, one := range loaded { // from here on, they may change
		a.watcher.watch(one.App, files[i])
	}
	return a, nil
}

// Dir is the absolute path of the agent directory.
func (a *Apps) Dir() string { return a.dir }

// DirOf is the directory of an application, empty when there is none of that
// name.
func (a *Apps) DirOf(name string) string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if one := a.apps[name]; one != nil {
		return one.Dir
	}
	return ""
}

// Names are the names of all applications, sorted, those that do not work
// included.
func (a *Apps) Names() []string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Sorted(maps.Keys(a.apps))
}

// Agent is the root agent of an application, or why it has none. ok is false
// when there is no such application.
func (a *Apps) Agent(name string) (root *agent.Agent, ok bool, err error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	one := a.apps[name]
	if one == nil {
		return nil, false, nil
	}
	return one.root, true, one.err
}

// ReloadError returns why the last change of an application could not be loaded, if
// the version before it is served; nil otherwise.
func (a *Apps) ReloadError(name string) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if one := a.apps[name]; one != nil {
		return one.change
	}
	return nil
}

// Code identifies the code of an application that is served: two that are equal are
// bundled to the same.
func (a *Apps) Code(name string) string {
	sum, _ := a.codes.Load(name)
	text, _ := sum.(string)
	return text
}

// Engines are the JavaScript engines of an application.
type Engines struct {
	App         string
	Count       int   // of all versions of the code that are in use
	Restarts    int64 // because the code had to be stopped
	MemoryLimit int64 // of each
}

// Engines returns the engines of all applications, by name.
func (a *Apps) Engines() []Engines {
	a.mu.RLock()
	defer a.mu.RUnlock()
	counts, limits := map[string]int{}, map[string]int64{}
	for in := range a.instances {
		counts[in.name] += in.count
		limits[in.name] = max(limits[in.name], in.limits.Memory)
	}
	list := make([]Engines, 0, len(a.apps))
	for _, name := range slices.Sorted(maps.Keys(a.apps)) {
		list = append(list, Engines{name, counts[name], a.restarts.of(name).Load(), cmp.Or(limits[name], a.opts.Limits.Memory)})
	}
	return list
}

// restarts counts, for each application, the engines that had to be replaced.
type restarts struct{ byApp sync.Map }

func (r *restarts) of(app string) *atomic.Int64 {
	count, _ := r.byApp.LoadOrStore(app, new(atomic.Int64))
	return count.(*atomic.Int64)
}

// start bundles and runs the code of an application. The files are its sources, as
// far as they are known.
func (a *Apps) start(ctx context.Context, p bundle.App) (*agent.Agent, []string, error) {
	within := bundle.NewBounds(a.root, p.Dir)
	settings, file, err := settingsOf(p.Dir, within)
	files := []string{p.Entry, file}
	if err != nil {
		return nil, files, err
	}
	target, err := settings.target(a.opts.Engine, a.opts.Processes)
	if err != nil {
		return nil, files, err
	}
	if target == bundle.Node && a.opts.Hosts != nil {
		return nil, files, errors.New("it runs in Node.js, whose connections cannot be restricted: let it run in QuickJS, or leave out --allow_hosts_for_agents (Scripts.AllowHosts)")
	}
	code, err := bundle.Build(target, a.opts.CacheDir, p.Entry, within)
	if err != nil {
		if failed, ok := errors.AsType[*bundle.Error](err); ok {
			files = append(files, failed.Files...)
		}
		return nil, files, err
	}
	files = append(files, code.Files...)
	library, err := code.Library(a.opts.CacheDir)
	if err != nil {
		return nil, files, err
	}
	env, places, err := environment(p.Dir, a.root, within, a.opts.Environ)
	files = append(files, places...)
	if err != nil {
		return nil, files, err
	}
	skills, places := skillsOf(p.Dir)
	files = append(files, places...)
	limits, err := settings.limit(*a.opts.Limits)
	if err != nil {
		return nil, files, err
	}
	secrets := &adk.Secrets{}
	log := slog.New(redact.Handler(a.opts.Log.Handler(), secrets.Scrub))
	services := host.New(host.Options{App: p.Name, Dir: p.Dir, Scratch: a.scratchOf(p.Name), Env: env, Log: log, MapTraces: code.MapTraces, MaxResponse: a.opts.MaxResponse, Hosts: a.opts.Hosts})
	in := &instance{
		name: p.Name, bundle: code, library: library, limits: limits, log: log, host: services.Engine(),
		thread: engine.QuickJS, count: max(a.opts.Engines, 1), restarts: a.restarts.of(p.Name),
	}
	if target == bundle.Node {
		in.thread, in.count = node.Start(node.Options{App: p.Name, Dir: p.Dir}), 1 // more would be more processes
	}
	in.app = adk.New(adk.Options{
		Name: p.Name, Engines: in, Single: in.count == 1, Log: log, Secrets: secrets, CredentialCall: settings.CredentialCall,
		Processes: a.opts.Processes, Env: env, Dir: p.Dir, Locate: services.Locate, Skills: skills.load,
		Models: modelCache(func(name string, options json.RawMessage) (model.Model, error) {
			return a.opts.Models(name, options, func(key string) string { return env[key] })
		}),
	})
	root, err := in.start(ctx)
	if err != nil {
		in.close()
		return nil, files, err
	}
	for one, m := range agentrt.Models(root) {
		if ignored := model.Ignored(m, agentrt.ModelConfig(one)); len(ignored) > 0 {
			a.opts.Log.Warn("settings have no effect, because the model does not have them", "app", p.Name, "agent", one.Name(), "model", m.Name(), "settings", ignored)
		}
	}
	sum := sha256.Sum256([]byte(code.Code))
	a.codes.Store(p.Name, hex.EncodeToString(sum[:8]))
	a.mu.Lock()
	a.instances[in] = true
	a.mu.Unlock()
	// The engines exist as long as a run may use the agents: an old version is
	// closed when the last run that began with it has ended.
	runtime.AddCleanup(root, func(in *instance) { go a.end(in) }, in)
	return root, files, nil
}

func (a *Apps) end(in *instance) {
	in.close()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.instances, in)
}

// reload loads an application again. A version that does not work is not served.
func (a *Apps) reload(p bundle.App) ([]string, error) {
	root, files, err := a.start(a.ctx, p)
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.apps[p.Name]
	switch {
	case err != nil && a.ctx.Err() != nil: // Close was called
	case err == nil:
		a.apps[p.Name] = &app{App: p, root: root}
		a.opts.Log.Info("the application was reloaded", "app", p.Name)
	case old.root != nil:
		old.change = err
		a.opts.Log.Error("the application was changed but does not work; the version before is still served", "app", p.Name, "err", err)
	default:
		old.err = err
		a.opts.Log.Error("the application still does not work", "app", p.Name, "err", err)
	}
	return files, err
}

// Close stops watching and closes all engines. All runs must have ended.
func (a *Apps) Close() {
	a.cancel()
	a.watcher.close()
	a.mu.Lock()
	instances := slices.Collect(maps.Keys(a.instances))
	a.mu.Unlock()
	for _, in := range instances {
		a.end(in)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, s := range a.scratch {
		if err := s.Close(); err != nil {
			a.opts.Log.Warn("could not delete the scratch directory of an application", "app", name, "err", err)
		}
	}
}

// scratchOf returns the scratch directory of an application, which all of its
// versions share.
func (a *Apps) scratchOf(name string) *host.Scratch {
	if a.opts.Scratch <= 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.scratch == nil {
		a.scratch = map[string]*host.Scratch{}
	}
	if a.scratch[name] == nil {
		a.scratch[name] = host.NewScratch(a.opts.Scratch)
	}
	return a.scratch[name]
}

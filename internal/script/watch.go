package script

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/parley-run/parley/internal/script/bundle"
)

// settle is how long files must be unchanged before they are reloaded: editors
// write in several steps.
const settle = 100 * time.Millisecond

// watcher reloads applications when their files change. A nil watcher does nothing.
type watcher struct {
	notify *fsnotify.Watcher
	reload func(bundle.App) (files []string, err error)
	log    *slog.Logger
	done   chan struct{}

	mu    sync.Mutex
	apps  map[string]bundle.App // by name
	files map[string][]string   // by name of the application
}

func newWatcher(reload func(bundle.App) ([]string, error), log *slog.Logger) (*watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch for changes: %w", err)
	}
	w := &watcher{
		notify: notify, reload: reload, log: log, done: make(chan struct{}),
		apps: map[string]bundle.App{}, files: map[string][]string{},
	}
	go w.loop()
	return w, nil
}

// watch watches the files of an application, by their directories, because editors
// replace files. A path that ends with a separator is a directory of which every
// entry matters.
func (w *watcher) watch(p bundle.App, files []string) {
	if w == nil {
		return
	}
	files = append(files, filepath.Join(p.Dir, ".env"), filepath.Join(p.Dir, "tsconfig.json"), p.Entry)
	w.mu.Lock()
	w.apps[p.Name], w.files[p.Name] = p, files
	w.mu.Unlock()
	for _, file := range files {
		if err := w.notify.Add(filepath.Dir(file)); err != nil {
			w.log.Warn("a directory cannot be watched for changes", "err", err)
		}
	}
}

func (w *watcher) loop() {
	defer close(w.done)
	changed := map[string]bool{}
	quiet := time.NewTimer(settle)
	quiet.Stop()
	for {
		select {
		case ev, ok := <-w.notify.Events:
			if !ok {
				return
			}
			if ev.Op == fsnotify.Chmod {
				continue
			}
			w.enter(ev)
			for _, name := range w.affected(ev.Name) {
				changed[name] = true
				quiet.Reset(settle)
			}
		case err, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			w.log.Warn("watching for changes failed", "err", err)
		case <-quiet.C:
			for name := range changed {
				w.mu.Lock()
				p := w.apps[name]
				w.mu.Unlock()
				w.watch(p, w.reloaded(p))
			}
			clear(changed)
		}
	}
}

// reloaded reloads an application, and returns the files to watch from now on. If it
// does not work, not all of them are known, so the previous ones are included.
func (w *watcher) reloaded(p bundle.App) []string {
	files, err := w.reload(p)
	if err != nil {
		w.mu.Lock()
		files = slices.Concat(files, w.files[p.Name])
		w.mu.Unlock()
		slices.Sort(files)
		files = slices.Compact(files)
	}
	return files
}

// enter watches a new directory in one of which every entry matters. It does so
// before the application is reloaded: files may appear in it at any time.
func (w *watcher) enter(ev fsnotify.Event) {
	if !ev.Has(fsnotify.Create) {
		return
	}
	parent := filepath.Dir(ev.Name) + string(filepath.Separator)
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, files := range w.files {
		if !slices.Contains(files, parent) {
			continue
		}
		if info, err := os.Lstat(ev.Name); err != nil || !info.IsDir() {
			return
		}
		w.files[name] = append(files, ev.Name+string(filepath.Separator))
		if err := w.notify.Add(ev.Name); err != nil {
			w.log.Warn("a directory cannot be watched for changes", "err", err)
		}
	}
}

// affected are the applications that a file belongs to.
func (w *watcher) affected(file string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for name, files := range w.files {
		if slices.Contains(files, file) || slices.Contains(files, filepath.Dir(file)+string(filepath.Separator)) {
			names = append(names, name)
		}
	}
	return names
}

func (w *watcher) close() {
	if w == nil {
		return
	}
	_ = w.notify.Close() // nothing depends on it
	<-w.done
}

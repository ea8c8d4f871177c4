package parley

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/link"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/trigger"
	"github.com/parley-run/parley/session"
)

// openTriggers prepares what starts runs for other services.
func (s *Server) openTriggers() {
	files := &triggerFiles{server: s, read: map[string]*triggerFile{}}
	s.triggers = &trigger.Service{
		Vault: s.logins, Files: files.of, Starter: triggered{s}, Tokens: &access.Tokens{}, Now: s.cfg.Now, Log: s.cfg.Log,
	}
	for _, app := range s.apps.Names() { // so that mistakes are in the log
		_, _ = files.of(app)
	}
}

// recallFor is what callers of the past may do on a listener at an address, as gateFor
// is for those of now.
func (s *Server) recallFor(listening *net.TCPAddr) access.Recall {
	switch {
	case s.cfg.Access.Mode == AccessKeys:
		store := s.store
		if s.keys.Keys != nil {
			store = s.keys
		}
		return access.RecallKeys(store.Keys)
	case s.cfg.Access.Mode == AccessOIDC, s.cfg.Access.UserHeader != "":
		return access.RecallUsers
	case s.cfg.Access.Mode == AccessPublic:
		return access.RecallAll(access.Run, access.Users)
	case s.gateFor(listening) == nil:
		return nil
	}
	return access.RecallAll(access.Admin)
}

// triggered starts runs for triggers.
type triggered struct{ *Server }

// Start implements trigger.Starter.
func (s triggered) Start(ctx context.Context, start *trigger.Start) (string, bool, error) {
	if _, err := s.apps.Agent(start.Key.App); err != nil {
		return "", false, err
	}
	if _, err := s.engine.Create(ctx, session.NewSession{Key: start.Key}, nil); err != nil && !errors.Is(err, session.ErrExists) {
		return "", false, err
	}
	busy := start.Busy
	if busy == "" {
		busy = s.cfg.Sessions.OnBusy
	}
	about := map[string]string{"name": start.Trigger}
	for name, value := range map[string]string{"deliveryId": start.Delivery, "eventType": start.Type} {
		if value != "" {
			about[name] = value
		}
	}
	mark, err := json.Marshal(about)
	if err != nil {
		return "", false, err
	}
	req := run.Request{
		Key: start.Key, Message: start.Message, StateDelta: start.StateDelta, Busy: busy,
		Caller: "trigger:" + start.Key.App + "/" + start.Trigger, MessageMetadata: map[string]json.RawMessage{"parley:trigger": mark},
	}
	if start.IdempotencyKey != "" {
		// The run of a delivery is the same even if the trigger is changed between two attempts.
		req.IdempotencyKey, req.Fingerprint = start.IdempotencyKey, "trigger"
	}
	started, err := s.engine.Start(ctx, req)
	if err != nil {
		return "", false, err
	}
	return started.ID(), started.Repeat, nil
}

// triggerFiles reads the triggers in the directories of applications.
type triggerFiles struct {
	server *Server

	mu   sync.Mutex
	read map[string]*triggerFile // by application
}

// triggerFile is a file as it was read last.
type triggerFile struct {
	dir    string
	looked time.Time
	all    map[string]*trigger.Trigger
	err    error
}

// triggerLook is how often a file is read that may change, as its environment may.
const triggerLook = time.Second

// of returns the triggers of an application. If the file has a mistake, they are those
// before it.
func (f *triggerFiles) of(app string) (map[string]*trigger.Trigger, error) {
	dir := f.server.apps.Dir(app)
	if dir == "" {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.read[app]
	if known == nil || known.dir != dir {
		known = &triggerFile{dir: dir}
		f.read[app] = known
	} else if !f.server.cfg.Scripts.Reload || time.Since(known.looked) < triggerLook {
		return known.all, known.err
	}
	known.looked = time.Now()
	all, err := f.load(app, filepath.Join(dir, trigger.FileName))
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err // without the path
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		known.all, known.err = all, nil
		return all, nil
	}
	if known.err == nil || known.err.Error() != err.Error() {
		f.server.cfg.Log.Error("the triggers of the application cannot be read", "app", app, "file", trigger.FileName, "err", err)
	}
	known.err = err
	return known.all, err
}

func (f *triggerFiles) load(app, path string) (map[string]*trigger.Trigger, error) {
	file, err := os.Open(path) //nolint:gosec // of the application
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, trigger.MaxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > trigger.MaxFile:
		return nil, errors.New("the file is too large")
	}
	decode, ok := registry.Find[link.YAML]("")
	if !ok { // directories come with scripts, and the decoder with them
		return nil, registry.Missing("the reader of YAML", "typescript")
	}
	doc, err := decode(text)
	if err != nil {
		return nil, err
	}
	return trigger.ReadFile(app, doc, func(name string) string { return f.getenv(app, name) })
}

// getenv returns a variable of the environment of an application, which has no
// variables of the server, or one for triggers alone.
func (f *triggerFiles) getenv(app, name string) string {
	if strings.HasPrefix(name, "PARLEY_TRIGGER_") {
		return os.Getenv(name) //nolint:forbidigo // the file names it
	}
	return f.server.apps.found.Getenv(app, name)
}

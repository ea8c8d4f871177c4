package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
)

// logins are the credentials that one call of JavaScript can use.
//
// The API of the authors is synchronous, but finding a credential may need a query
// of a database or a request to a provider. The engine must not wait for that,
// because no other code runs in the meantime. So the credentials that a function has
// used before are looked up before it is called, and only the first use of a
// credential blocks the engine, for a limited time.
type logins struct {
	tc     *tool.Context
	recent *recentLogins
	fn     int

	work    sync.WaitGroup // look-ups in flight
	mu      sync.Mutex
	answers map[string]*lookedUp // by the JSON of the config
	dropped []*credential.Config // in that order, and still to be deleted
	over    bool
}

// lookedUp is a look-up, and its result when done is closed.
type lookedUp struct {
	done chan struct{}
	cred json.RawMessage // nil when the user has to log in
	err  error
}

// lookupTimeout is how long the engine waits for a look-up.
const lookupTimeout = 2 * time.Second

var (
	errNoLogins = errors.New("logins are available in tools and callbacks of agents that a server runs, and not here")
	errSlow     = errors.New("the credential takes long to get, and is not available yet: call the tool again, or use await context.loadCredential(authConfig)")
)

// prepare looks up what the function has used before.
func (l *logins) prepare() {
	var all []*lookedUp
	for _, text := range l.recent.of(l.fn) {
		all = append(all, l.look(text))
	}
	for _, one := range all {
		select {
		case <-one.done:
		case <-l.tc.Done():
		}
	}
}

// look starts the look-up of a login, unless it has been started.
func (l *logins) look(text string) *lookedUp {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.answers[text]
	if found != nil {
		return found
	}
	found = &lookedUp{done: make(chan struct{})}
	if l.over {
		found.err = engine.ErrCallOver
		close(found.done)
		return found
	}
	if l.answers == nil {
		l.answers = map[string]*lookedUp{}
	}
	l.answers[text] = found
	l.work.Go(func() {
		defer close(found.done)
		found.cred, found.err = l.find(text)
	})
	return found
}

func (l *logins) find(text string) (json.RawMessage, error) {
	cfg, err := authConfigOf(json.RawMessage(text))
	if err != nil {
		return nil, err
	}
	if err := l.carryOut(); err != nil {
		return nil, err
	}
	cred, err := l.tc.AuthResponse(cfg)
	if err != nil || cred == nil {
		return nil, err
	}
	return cred.AppendJSON(nil, credential.Camel)
}

func authConfigOf(text json.RawMessage) (*credential.Config, error) {
	cfg, err := credential.DecodeConfig(text)
	if err != nil {
		return nil, fmt.Errorf("authConfig: %w", err)
	}
	return cfg, nil
}

// drop deletes a credential, when the function has returned or asks for another.
func (l *logins) drop(text json.RawMessage) error {
	cfg, err := authConfigOf(text)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return engine.ErrCallOver
	}
	l.dropped = append(l.dropped, cfg)
	clear(l.answers)
	return nil
}

func (l *logins) carryOut() error {
	l.mu.Lock()
	todo := l.dropped
	l.dropped = nil
	l.mu.Unlock()
	for _, cfg := range todo {
		if err := l.tc.DropCredential(cfg); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for the look-ups, and deletes what was dropped.
func (l *logins) finish() error {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.work.Wait()
	return l.carryOut()
}

// askUser asks the user for credentials. A function can ask for its own call only.
func askUser(tc *tool.Context, asked map[string]json.RawMessage) error {
	for id, doc := range asked {
		if id != tc.FunctionCallID {
			return errors.New("a tool can ask for a credential for its own call only: use context.requestCredential(authConfig)")
		}
		cfg, err := authConfigOf(doc)
		if err != nil {
			return err
		}
		if err := tc.RequestCredential(cfg); err != nil {
			return err
		}
	}
	return nil
}

// apply carries out the actions of a function.
func apply(tc *tool.Context, did *event.Actions) error {
	asked := did.RequestedAuthConfigs
	did.RequestedAuthConfigs = nil
	tc.Actions.Merge(did)
	return askUser(tc, asked)
}

func loginsOf(v any) (*logins, error) {
	sc, err := scopeOf(v)
	if err != nil {
		return nil, err
	}
	if sc.logins == nil {
		return nil, errNoLogins
	}
	return sc.logins, nil
}

// findCredential implements getAuthResponse.
func findCredential(scope any, config json.RawMessage) (any, error) {
	l, err := loginsOf(scope)
	if err != nil {
		return nil, err
	}
	found := l.look(string(config))
	select {
	case <-found.done:
	default:
		l.recent.add(l.fn, string(config))
		wait := time.NewTimer(lookupTimeout)
		defer wait.Stop()
		select {
		case <-found.done:
		case <-wait.C:
			return nil, errSlow
		}
	}
	return found.cred, found.err
}

func dropCredential(scope any, config json.RawMessage) (any, error) {
	l, err := loginsOf(scope)
	if err != nil {
		return nil, err
	}
	return nil, l.drop(config)
}

// loadCredential implements loadCredential, which waits for as long as it takes.
func loadCredential(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	sc, _ := engine.Scope(ctx).(*scope)
	if sc == nil || sc.logins == nil {
		return errNoLogins
	}
	found := sc.logins.look(string(params))
	select {
	case <-found.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if found.err != nil {
		return found.err
	}
	return yield(found.cred)
}

// recentLogins are the logins that functions have used recently.
type recentLogins struct {
	mu sync.RWMutex
	by map[int][]string
}

// maxRecentLogins is how many logins are kept for a function.
const maxRecentLogins = 4

func (h *recentLogins) of(fn int) []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.by[fn]
}

func (h *recentLogins) add(fn int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.by[fn], text) {
		return
	}
	if h.by == nil {
		h.by = map[int][]string{}
	}
	list := append(slices.Clone(h.by[fn]), text) // readers have the old one
	h.by[fn] = list[max(0, len(list)-maxRecentLogins):]
}

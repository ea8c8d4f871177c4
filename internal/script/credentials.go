package script

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
	"github.com/parley-run/parley/tool"
)

// logins is what one call of JavaScript may ask about credentials.
//
// Authors expect an answer at once, where it may take a look into a database or
// a call to a provider. The engine must not wait for that, since nobody else's
// code runs meanwhile. So what a function has asked for before is looked up
// before it is called, and only what it asks for the first time keeps the engine
// waiting, for a moment.
type logins struct {
	tc     *tool.Context
	habits *habits
	fn     int

	work    sync.WaitGroup // look-ups that are under way
	mu      sync.Mutex
	answers map[string]*lookedUp // by the text of the login
	dropped []*credential.Config // in that order, and not carried out yet
	over    bool
}

// lookedUp is a look-up, and what came of it when done is closed.
type lookedUp struct {
	done chan struct{}
	cred json.RawMessage // nil when the user has to log in
	err  error
}

// patience is how long the engine waits for a look-up.
const patience = 2 * time.Second

var (
	errNoLogins = errors.New("logins are there in tools and callbacks of agents that a server runs, and not here")
	errOver     = errors.New("the call that this context belongs to is over")
	errSlow     = errors.New("the credential takes long to get, and is not there yet: call the tool again, or use await context.loadCredential(authConfig)")
)

// prepare looks up what the function has asked for before.
func (l *logins) prepare() {
	var all []*lookedUp
	for _, text := range l.habits.of(l.fn) {
		all = append(all, l.look(text))
	}
	for _, one := range all {
		select {
		case <-one.done:
		case <-l.tc.Done():
		}
	}
}

// look begins to look up a login, if nobody has.
func (l *logins) look(text string) *lookedUp {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.answers[text]
	if found != nil {
		return found
	}
	found = &lookedUp{done: make(chan struct{})}
	if l.over {
		found.err = errOver
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

// drop forgets a credential, when the function has returned or asks for another.
func (l *logins) drop(text json.RawMessage) error {
	cfg, err := authConfigOf(text)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return errOver
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

// finish ends what the function has begun.
func (l *logins) finish() error {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.work.Wait()
	return l.carryOut()
}

// askUser asks the user for what the function wants. A function can ask for its
// own call only.
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

// apply carries out what a function of the author's did in its context.
func apply(tc *tool.Context, did *event.Actions) error {
	asked := did.RequestedAuthConfigs
	did.RequestedAuthConfigs = nil
	tc.Actions.Merge(did)
	return askUser(tc, asked)
}

// about names a login, and the call that wants to know about it.
type about struct {
	Call   int64           `json:"call"`
	Config json.RawMessage `json:"config"`
}

func (g *guest) loginsOf(call int64) (*logins, error) {
	sc, err := g.scope(call)
	if err != nil {
		return nil, err
	}
	if sc.logins == nil {
		return nil, errNoLogins
	}
	return sc.logins, nil
}

// credential is what getAuthResponse gets.
func (g *guest) credential(p about) (any, error) {
	l, err := g.loginsOf(p.Call)
	if err != nil {
		return nil, err
	}
	found := l.look(string(p.Config))
	select {
	case <-found.done:
	default:
		l.habits.learn(l.fn, string(p.Config))
		wait := time.NewTimer(patience)
		defer wait.Stop()
		select {
		case <-found.done:
		case <-wait.C:
			return nil, errSlow
		}
	}
	return found.cred, found.err
}

func (g *guest) dropCredential(p about) (any, error) {
	l, err := g.loginsOf(p.Call)
	if err != nil {
		return nil, err
	}
	return nil, l.drop(p.Config)
}

// loadCredential is what loadCredential waits for.
func loadCredential(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	sc, _ := ctx.Value(scopeKey{}).(*scope)
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

// habits are the logins that functions have asked for lately.
type habits struct {
	mu sync.RWMutex
	by map[int][]string
}

// mostHabits is how many logins are remembered for a function. One that makes up
// a new one for each call gains nothing by it.
const mostHabits = 4

func (h *habits) of(fn int) []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.by[fn]
}

func (h *habits) learn(fn int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.by[fn], text) {
		return
	}
	if h.by == nil {
		h.by = map[int][]string{}
	}
	list := append(slices.Clone(h.by[fn]), text) // readers have the old one
	h.by[fn] = list[max(0, len(list)-mostHabits):]
}

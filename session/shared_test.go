package session_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/storetest"
)

// The suite for stores that are shared, with a memory that plays the part of a
// database: what it says must be possible, and a cache in front of each process
// must not be seen, however much the others write behind its back.
func TestShared(t *testing.T) {
	for _, room := range []int64{-1, 0, 2000, 1 << 30} {
		t.Run(fmt.Sprint("room=", room), func(t *testing.T) {
			storetest.RunShared(t, func(*testing.T) func(session.Options) session.Store {
				db := newDatabase()
				return func(o session.Options) session.Store {
					p := session.NewStore(&process{Store: db.memory, db: db, options: o})
					if room < 0 {
						return p
					}
					return session.Cached(p, room)
				}
			})
		})
	}
}

// database is a memory store whose runs have owners.
type database struct {
	memory session.Store

	mu       sync.Mutex
	owners   map[int64]*lease           // by epoch
	deaths   map[string]map[string]bool // owners by run
	requests map[string][]byte
	watchers map[chan uint64]string
}

// expired reports whether the leases of the process expire immediately.
func (p *process) expired() bool { return p.options.Lease < 0 || p.options.Lease > session.MaxLease }

type lease struct {
	owner   string
	address string
	over    bool
}

func newDatabase() *database {
	return &database{
		memory: memstore.New(-1),
		owners: map[int64]*lease{}, deaths: map[string]map[string]bool{}, requests: map[string][]byte{}, watchers: map[chan uint64]string{},
	}
}

// process is one that uses the database.
type process struct {
	session.Store
	db      *database
	options session.Options
}

// given books a run that this process has been given. The lock must be held.
func (p *process) given(begun *session.Begun) *session.Begun {
	if begun.Session != nil {
		p.db.owners[begun.Run.Epoch] = &lease{p.options.Owner, p.options.Address, p.expired()}
	}
	begun.Run.Request = p.db.requests[begun.Run.ID]
	return begun
}

func (p *process) Begin(ctx context.Context, run session.NewRun) (*session.Begun, error) {
	request, err := run.Request()
	if err != nil {
		return nil, err
	}
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	begun, err := p.Store.Begin(ctx, run)
	if err != nil {
		return nil, err
	}
	if !begun.Repeat {
		p.db.requests[run.ID] = request
	}
	p.tell(run.Key)
	return p.given(begun), nil
}

// free reports whether the running run of a session, if any, is for anyone. The
// lock must be held.
func (p *process) free(ctx context.Context, key session.Key) bool {
	runs, _, _ := p.ListRuns(ctx, key, session.Page{})
	i := slices.IndexFunc(runs, func(r *session.Run) bool { return r.Status == session.Running })
	return i < 0 || p.db.owners[runs[i].Epoch].over
}

func (p *process) Claim(ctx context.Context, key session.Key, read session.Read) (*session.Begun, error) {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	if !p.free(ctx, key) {
		return nil, session.ErrIdle
	}
	runs, _, _ := p.ListRuns(ctx, key, session.Page{})
	begun, err := p.Store.Claim(ctx, key, read)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if l := p.db.owners[r.Epoch]; r.ID == begun.Run.ID && l != nil && l.owner != "" && l.owner != p.options.Owner {
			if p.db.deaths[r.ID] == nil {
				p.db.deaths[r.ID] = map[string]bool{}
			}
			p.db.deaths[r.ID][l.owner] = true
		}
	}
	begun.Deaths = len(p.db.deaths[begun.Run.ID])
	return p.given(begun), nil
}

func (p *process) Idle(ctx context.Context, limit int) ([]session.Key, error) {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	keys, err := p.Store.Idle(ctx, 1<<30)
	keys = slices.DeleteFunc(keys, func(key session.Key) bool { return !p.free(ctx, key) })
	return keys[:min(limit, len(keys))], err
}

func (p *process) Renew(ctx context.Context) ([]session.Held, error) {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	held, err := p.Store.Renew(ctx)
	held = slices.DeleteFunc(held, func(h session.Held) bool { return p.db.owners[h.Epoch].owner != p.options.Owner })
	for _, owners := range p.db.deaths {
		delete(owners, p.options.Owner)
	}
	for _, h := range held {
		p.db.owners[h.Epoch].over = p.expired()
	}
	return held, err
}

func (p *process) HandOver(ctx context.Context, key session.Key, epoch int64) error {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	if l := p.db.owners[epoch]; l != nil {
		l.over, l.owner, l.address = true, "", ""
	}
	p.tell(key)
	return p.Store.HandOver(ctx, key, epoch)
}

func (p *process) Run(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	run, err := p.Store.Run(ctx, key, id)
	if err == nil && run.Status == session.Running {
		run.Worker = p.db.owners[run.Epoch].address
	}
	return run, err
}

// tell tells the others of a change. The lock must be held.
func (p *process) tell(key session.Key) {
	for hear, owner := range maps.All(p.db.watchers) {
		if owner != p.options.Owner {
			select {
			case hear <- key.Hint():
			case <-time.After(time.Minute):
				panic("a watcher sleeps")
			}
		}
	}
}

func (p *process) changed(key session.Key) {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	p.tell(key)
}

func (p *process) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	defer p.changed(key)
	return p.Store.Append(ctx, key, epoch, notes, entries...)
}

func (p *process) End(ctx context.Context, key session.Key, epoch int64, end session.End) (bool, error) {
	defer p.changed(key)
	return p.Store.End(ctx, key, epoch, end)
}

func (p *process) Patch(ctx context.Context, key session.Key, e *session.Entry) error {
	defer p.changed(key)
	return p.Store.Patch(ctx, key, e)
}

func (p *process) Delete(ctx context.Context, key session.Key) error {
	defer p.changed(key)
	return p.Store.Delete(ctx, key)
}

func (p *process) StopRun(ctx context.Context, key session.Key, id string, how session.Stop) (*session.Run, error) {
	defer p.changed(key)
	return p.Store.StopRun(ctx, key, id, how)
}

func (p *process) Watch(ctx context.Context, changed func(uint64)) {
	hear := make(chan uint64, 1000)
	p.db.mu.Lock()
	p.db.watchers[hear] = p.options.Owner
	p.db.mu.Unlock()
	defer func() {
		p.db.mu.Lock()
		defer p.db.mu.Unlock()
		delete(p.db.watchers, hear)
	}()
	for {
		select {
		case hint := <-hear:
			changed(hint)
		case <-ctx.Done():
			return
		}
	}
}

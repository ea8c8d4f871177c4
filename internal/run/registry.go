package run

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// registry holds the active runs of this server, and the readers of other runs. It
// has an index for each lookup, so that neither limits nor notifications scan all
// of them.
type registry struct {
	wg       sync.WaitGroup // one for every turn, and for every claim
	mirrored sync.WaitGroup // one for every mirror

	mu       sync.Mutex
	turns    map[string]*turn
	sessions map[uint64][]*turn  // by the hint of their session
	users    map[owner][]*turn   // nil unless usage is asked for
	callers  map[owner]int       // the number of turns of a caller in an application
	claims   map[session.Key]int // claims of sessions that have no turn yet
	readers  map[uint64]map[*Reader]struct{}
	mirrors  map[uint64][]*mirror // by the hint of their session
	closing  bool
	over     error // the cause with which the remaining turns end, once they do
}

// owner is a user, or a caller, of an application.
type owner struct{ app, name string }

// newRegistry returns an empty registry. Without byUser its method used must not
// be used.
func newRegistry(byUser bool) *registry {
	r := &registry{
		turns: map[string]*turn{}, sessions: map[uint64][]*turn{}, callers: map[owner]int{},
		claims: map[session.Key]int{}, readers: map[uint64]map[*Reader]struct{}{}, mirrors: map[uint64][]*mirror{},
	}
	if byUser {
		r.users = map[owner][]*turn{}
	}
	return r
}

// admit adds a turn, unless the engine is closing or its caller already has
// maxRuns; 0 means no limit.
func (r *registry) admit(t *turn, maxRuns int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return ErrClosing
	}
	if r.turns[t.id] != nil {
		return session.ErrRunExists
	}
	if maxRuns > 0 && r.callers[t.caller()] >= maxRuns {
		return &LimitError{Message: fmt.Sprintf("Too many runs at once: at most %d may be active", maxRuns), After: time.Second}
	}
	r.add(t)
	return nil
}

// add adds a turn. r.mu must be held.
func (r *registry) add(t *turn) {
	r.wg.Add(1)
	r.turns[t.id] = t
	same := r.sessions[t.hint]
	if same == nil {
		same = t.alone[:0]
	}
	r.sessions[t.hint] = append(same, t)
	if r.users != nil {
		r.users[t.user()] = append(r.users[t.user()], t)
	}
	if t.req.Caller != "" {
		r.callers[t.caller()]++
	}
}

// remove removes a turn. Its readers continue with the store.
func (r *registry) remove(t *turn) {
	r.mu.Lock()
	if r.turns[t.id] == t { // a queued run may have been claimed already
		delete(r.turns, t.id)
	}
	without(r.sessions, t.hint, t)
	if r.users != nil {
		without(r.users, t.user(), t)
	}
	if t.req.Caller != "" {
		if r.callers[t.caller()]--; r.callers[t.caller()] == 0 {
			delete(r.callers, t.caller())
		}
	}
	r.mu.Unlock()
	r.wg.Done()
}

func without[K comparable](index map[K][]*turn, key K, t *turn) {
	left := slices.DeleteFunc(index[key], func(other *turn) bool { return other == t })
	if index[key] = left; len(left) == 0 {
		delete(index, key)
	}
}

// find returns the turn of a run of a session, or nil. A run of another session, perhaps
// of another user, may have its id: callers choose ids, too.
func (r *registry) find(key session.Key, id string) *turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of(key, id)
}

// of is find. r.mu must be held.
func (r *registry) of(key session.Key, id string) *turn {
	if t := r.turns[id]; t != nil && t.req.Key == key {
		return t
	}
	return nil
}

// all returns all turns.
func (r *registry) all() []*turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := make([]*turn, 0, len(r.turns))
	for _, t := range r.turns {
		found = append(found, t)
	}
	return found
}

// ofSession returns the turns of a session by its hint, which other sessions may
// share; 0 means all.
func (r *registry) ofSession(hint uint64) []*turn {
	if hint == 0 {
		return r.all()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sessions[hint])
}

// used returns what the turns of a user have used.
func (r *registry) used(user owner) (tokens, nanos int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.users[user] {
		tokens += t.ledger.tokens.Load()
		nanos += t.ledger.nanos.Load()
	}
	return tokens, nanos
}

// len returns the number of turns.
func (r *registry) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.turns)
}

// beginClaim announces that a run of a session is about to be claimed. It returns
// false if the engine is closing.
func (r *registry) beginClaim(key session.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return false
	}
	r.wg.Add(1)
	r.claims[key]++
	return true
}

func (r *registry) endClaim(key session.Key) {
	r.mu.Lock()
	if r.claims[key]--; r.claims[key] == 0 {
		delete(r.claims, key)
	}
	r.mu.Unlock()
	r.wg.Done()
}

// claimed adds the turn of a claimed run, and passes its feed to the readers of the
// run. If the turn has to end immediately, it returns the cause; otherwise nil.
func (r *registry) claimed(t *turn) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(t)
	for reader := range r.readers[t.hint] {
		if reader.id == t.id && reader.key == t.req.Key {
			reader.offer(source{t, t.feed.Follow(0)})
		}
	}
	for _, m := range r.mirrors[t.hint] {
		if m.id == t.id && m.key == t.req.Key {
			m.stop()
		}
	}
	return r.over
}

// has reports whether a run is active here, or about to be.
func (r *registry) has(run string, key session.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turns[run] != nil || r.claims[key] > 0
}

// listen registers a reader, and passes the feed of its run to it, if any.
func (r *registry) listen(reader *Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := r.readers[reader.hint]
	if same == nil {
		same = map[*Reader]struct{}{}
		r.readers[reader.hint] = same
	}
	same[reader] = struct{}{}
	if t := r.of(reader.key, reader.id); t != nil {
		reader.offer(source{t, t.feed.Follow(reader.after)})
	}
}

// unlisten removes a reader.
func (r *registry) unlisten(reader *Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := r.readers[reader.hint]
	if delete(same, reader); len(same) == 0 {
		delete(r.readers, reader.hint)
	}
}

// wake makes the readers of a session read the store again; 0 means all readers.
func (r *registry) wake(hint uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if hint != 0 {
		for reader := range r.readers[hint] {
			reader.wake()
		}
		for _, m := range r.mirrors[hint] {
			m.wake()
		}
		return
	}
	for _, same := range r.readers {
		for reader := range same {
			reader.wake()
		}
	}
	for _, same := range r.mirrors {
		for _, m := range same {
			m.wake()
		}
	}
}

// close refuses new turns. It reports whether it is the first call.
func (r *registry) close() (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, r.closing = !r.closing, true
	for _, same := range r.mirrors {
		for _, m := range same {
			m.stop() // its readers continue on another server
		}
	}
	return first
}

func (r *registry) closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

// finish makes turns that are claimed from now on end with cause.
func (r *registry) finish(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = cause
}

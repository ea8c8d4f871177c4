package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// many is a store in several databases. Every user is in one of them, with all that
// belongs to the user: sessions, runs, secrets, memories, usage, subscriptions, schedules.
// The app: keys of the state are in all of them, API keys in the first.
//
// Which database a user is in follows from the slot of the user, and is stored in the
// databases themselves. This copy of it may be out of date: a database that has a user
// answers correctly, and one that knows nothing of a user is asked where the user is.
type many struct {
	members []*backend // by number
	byName  map[string]*backend
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	added   chan struct{}
	wait    time.Duration // see askTimeout

	mu        sync.Mutex
	homes     [slots]*backend
	hops      [slots]int32     // of the moves after which the slots were there; -1 for those that may not have arrived
	unknown   map[int32]string // slots in databases that are not members
	renewing  map[*backend]chan struct{}
	following map[int32]chan struct{} // slots that are being followed
}

var (
	_ session.Backend      = (*many)(nil)
	_ session.Outbox       = (*many)(nil)
	_ session.Recordings   = (*many)(nil)
	_ session.Schedules    = (*many)(nil)
	_ session.Searcher     = (*many)(nil)
	_ session.MemoryEditor = (*many)(nil)
	_ session.Spender      = (*many)(nil)
	_ session.APIKeys      = (*many)(nil)
)

// openMany opens several databases.
func openMany(ctx context.Context, urls []string, o session.Options) (*many, error) {
	var list []*backend
	for i, url := range urls {
		s, err := open(ctx, url, o)
		if err != nil {
			for _, s := range list {
				s.shut()
			}
			return nil, fmt.Errorf("database %d of the list: %w", i+1, err)
		}
		list = append(list, s)
	}
	return combine(ctx, list)
}

// combine makes a store of several databases, and closes them if it fails. A database
// that is new gets no users before they are moved, unless there are none yet.
func combine(ctx context.Context, list []*backend) (*many, error) {
	m := &many{
		members: list, byName: map[string]*backend{}, added: make(chan struct{}, 1), wait: askTimeout, unknown: map[int32]string{},
		renewing: map[*backend]chan struct{}{}, following: map[int32]chan struct{}{},
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.cancel = cancel
	ctx = session.Insist(ctx) // as open does
	err := join(ctx, m.members)
	if err == nil {
		for _, s := range m.members {
			m.byName[s.member.name] = s
			s.added = m.added
		}
		err = m.load(ctx)
	}
	if err == nil {
		err = m.placeNew(ctx)
	}
	if err == nil {
		err = m.shareEndpoints(ctx)
	}
	if err != nil {
		_ = m.Close()
		return nil, err
	}
	if len(m.members) > 1 {
		m.ended.Go(func() { m.shareAlways(life) })
	}
	return m, nil
}

// Close implements session.Backend.
func (m *many) Close() error {
	m.cancel()
	m.ended.Wait()
	for _, s := range m.members {
		s.shut()
	}
	return nil
}

// load reads where all users are.
func (m *many) load(ctx context.Context) error {
	var all [slots]location
	for _, s := range m.members {
		known, err := s.allSlots(ctx)
		if err != nil {
			return err
		}
		for slot, w := range known {
			if all[slot].Name == "" || w.Hop > all[slot].Hop || w.Hop == all[slot].Hop && w.Here {
				all[slot] = w
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.unknown)
	for slot, w := range all {
		m.set(int32(slot), w)
	}
	return nil
}

// set notes where a slot is. m.mu must be held.
func (m *many) set(slot int32, w location) {
	home := m.byName[w.Name]
	if w.Name == "" {
		home = m.members[0]
	}
	m.homes[slot], m.hops[slot] = home, -1
	if w.Here || w.Hop == 0 { // one that has never moved is there
		m.hops[slot] = w.Hop
	}
	if home == nil {
		m.unknown[slot] = w.Name
	}
}

// note is set without m.mu.
func (m *many) note(slot int32, w location) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(slot, w)
}

// home returns the database of a slot, as far as it is known.
func (m *many) home(slot int32) (*backend, error) {
	s, _, err := m.place(slot)
	return s, err
}

// place returns the database of a slot, as far as it is known, and the number of the move
// after which it was there, or -1.
func (m *many) place(slot int32) (*backend, int32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.homes[slot]; s != nil {
		return s, m.hops[slot], nil
	}
	return nil, 0, &session.UnavailableError{Cause: &elsewhereError{m.unknown[slot]}}
}

// moved reports whether a slot may not have been in a database since place returned hop,
// and follows it.
func (m *many) moved(ctx context.Context, slot int32, from *backend, hop int32) (bool, error) {
	here, err := from.slot(ctx, slot)
	if err != nil {
		return false, err
	}
	if here.Here {
		if here.Hop != hop { // it has arrived in the meantime
			m.note(slot, here)
		}
		return here.Hop != hop, nil
	}
	// One of the callers follows it for all.
	m.mu.Lock()
	if wait := m.following[slot]; wait != nil {
		m.mu.Unlock()
		select {
		case <-wait:
			return true, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	done := make(chan struct{})
	m.following[slot] = done
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.following, slot)
		m.mu.Unlock()
		close(done)
	}()
	for range len(m.members) + 1 {
		m.note(slot, here)
		to, err := m.home(slot)
		if err != nil {
			return false, err
		}
		there, err := to.slot(ctx, slot)
		if err != nil {
			return false, err
		}
		if there.Hop < here.Hop { // it has not arrived
			ctx, cancel := context.WithTimeout(ctx, to.patient())
			defer cancel()
			if err := to.arrive(ctx, []int32{slot}, from); err != nil {
				return false, unavailable("moving a user", err, false)
			}
			m.note(slot, location{Name: here.Name, Here: true, Hop: here.Hop})
			return true, nil
		}
		if there.Here {
			m.note(slot, there)
			return true, nil
		}
		from, here = to, there
	}
	return false, unavailable("looking for a user", errMoving, false)
}

var errMoving = errors.New("the user moves between databases")

// mostHops is how often a call follows a user from one database to the next.
const mostHops = 4

// route calls f with the database of a user. If the result is one of a database that does
// not have the user, it looks whether the user has moved, and calls f again.
func route[T any](ctx context.Context, m *many, key session.Key, absent func(T, error) bool, f func(context.Context, *backend) (T, error)) (T, error) {
	slot := slotOf(key)
	one := calling{nonce: nonce()}
	for hop := 0; ; hop++ {
		s, at, err := m.place(slot)
		if err != nil {
			var zero T
			return zero, err
		}
		result, err := f(context.WithValue(ctx, call{}, one), s)
		if !absent(result, err) {
			return result, err
		}
		if hop == mostHops {
			return result, unavailable("looking for a user", errMoving, err == nil)
		}
		look := ctx
		if err == nil {
			look = context.WithoutCancel(ctx) // it has taken effect
		}
		moved, lost := m.moved(look, slot, s, at)
		if lost != nil {
			return result, lost // the result may be that of a database without the user
		}
		if !moved {
			return result, err
		}
		one.again = true
	}
}

// do is like route for a call without a result.
func do(ctx context.Context, m *many, key session.Key, absent func(error) bool, f func(context.Context, *backend) error) error {
	_, err := route(ctx, m, key, func(_ struct{}, err error) bool { return absent(err) }, func(ctx context.Context, s *backend) (struct{}, error) {
		return struct{}{}, f(ctx, s)
	})
	return err
}

// always is for calls whose result does not show whether the database has the user.
func always(err error) bool { return err == nil }

// failed is failure for a call with a result.
func failed[T any](with ...error) func(T, error) bool {
	is := failure(with...)
	return func(_ T, err error) bool { return is(err) }
}

// failure reports whether an error is one of those, or says that the user is in
// another database.
func failure(with ...error) func(error) bool {
	return func(err error) bool {
		for _, one := range with {
			if errors.Is(err, one) {
				return true
			}
		}
		_, away := errors.AsType[*elsewhereError](err)
		return away
	}
}

// empty reports whether a list has nothing.
func empty[T any](list []T, err error) bool { return err == nil && len(list) == 0 }

// answer is what one database has answered.
type answer[T any] struct {
	of    *backend
	value T
	err   error
}

// askTimeout is how long calls that concern all databases wait for one of them. One
// that does not respond must not delay what the others have to do.
const askTimeout = time.Second

// ask calls f with all databases at once, and returns the answers in their order. A
// database that cannot be used now, or does not answer in time, has an error.
func ask[T any](ctx context.Context, m *many, wait time.Duration, f func(context.Context, *backend) (T, error)) []answer[T] {
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, max(time.Until(deadline)/3, 0))
	}
	type indexed struct {
		i int
		answer[T]
	}
	got := make(chan indexed, len(m.members))
	answers := make([]answer[T], len(m.members))
	for i, s := range m.members {
		answers[i] = answer[T]{of: s, err: unavailable("asking a database", errSlowMember, false)}
		go func() {
			one := answer[T]{of: s}
			if o := s.outage(true); o != nil {
				one.err = unavailable("asking a database", o.Err, false)
			} else {
				one.value, one.err = f(ctx, s)
			}
			got <- indexed{i, one}
		}()
	}
	var late <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		late = timer.C
	}
	for range m.members {
		select {
		case one := <-got:
			answers[one.i] = one.answer
		case <-late:
			return answers
		case <-ctx.Done():
			return answers
		}
	}
	return answers
}

var errSlowMember = errors.New("it does not answer in time")

// every is ask for calls that need all databases.
func every[T any](ctx context.Context, m *many, f func(context.Context, *backend) (T, error)) ([]answer[T], error) {
	answers := ask(ctx, m, 0, f)
	for _, one := range answers {
		if one.err != nil {
			return nil, one.err
		}
	}
	return answers, nil
}

// Ready implements session.Upkeep. As long as one database can be used, its users can
// be served.
func (m *many) Ready(ctx context.Context) error {
	answers := ask(ctx, m, 0, func(ctx context.Context, s *backend) (struct{}, error) { return struct{}{}, s.Ready(ctx) })
	partial := &session.PartialError{}
	var reasons []string
	for _, one := range answers {
		if one.err != nil {
			partial.Names = append(partial.Names, one.of.member.name)
			reasons = append(reasons, one.err.Error())
		}
	}
	switch len(reasons) {
	case 0:
		return nil
	case len(m.members):
		return &session.UnavailableError{Cause: errors.New(strings.Join(reasons, "; "))}
	}
	return partial
}

package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-run/parley/session"
)

// agreesWithModel does things at random to a store and to a model of it that is
// too simple to be wrong, and compares. Each try has applications of its own,
// so that all tries can share the store.
func agreesWithModel(k *kit) {
	tries := 0
	rapid.Check(k.T, func(t *rapid.T) {
		tries++
		m := &model{kit: k, epochs: []int64{0}, last: map[session.Key]int64{}, shared: map[string]map[string]string{}}
		for _, app := range []string{"a", "b"} {
			for _, user := range []string{"ann", "bob"} {
				for _, id := range []string{"1", "2", "adk-eval-session-1"} {
					m.sessions = append(m.sessions, &modelled{key: session.Key{App: fmt.Sprint(app, tries), User: user, ID: id}})
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"create":  m.create,
			"get":     func(t *rapid.T) { m.compare(t, m.pick(t)) },
			"acquire": m.acquire,
			"append":  m.append,
			"patch":   m.patch,
			"release": m.release,
			"delete":  m.delete,
			"list":    m.list,
		})
		for _, s := range m.sessions {
			m.compare(t, s)
		}
	})
}

// model is what the store should hold. Its methods do one thing to both.
type model struct {
	kit      *kit
	sessions []*modelled                  // all that can be
	shared   map[string]map[string]string // state, by application and by application and user
	epochs   []int64                      // all that were given out, and 0
	last     map[session.Key]int64        // the greatest of each user
	made     int
	events   int
}

type modelled struct {
	key   session.Key
	there bool
	order int
	epoch int64
	log   []string
	state map[string]string
}

func (m *model) pick(t *rapid.T) *modelled { return rapid.SampledFrom(m.sessions).Draw(t, "session") }

// delta is a change of the state, as pairs.
func (m *model) delta(t *rapid.T) []string {
	var pairs []string
	for _, name := range []string{"k", "l", "user:k", "user:l", "app:k", "app:l"} {
		if v := rapid.SampledFrom([]string{"", "", "", "null", "1", `"x"`, `{"b":1.0,"a":null}`}).Draw(t, name); v != "" {
			pairs = append(pairs, name, v)
		}
	}
	return pairs
}

func (m *model) entries(t *rapid.T, most int) []*session.Entry {
	entries := make([]*session.Entry, rapid.IntRange(1, most).Draw(t, "entries"))
	for i := range entries {
		m.events++
		entries[i] = set(fmt.Sprint("e", m.events), m.delta(t)...)
	}
	return entries
}

func (m *model) apply(s *modelled, delta session.State) {
	for name, v := range delta {
		into := s.state
		switch scope, _, _ := strings.Cut(name, ":"); scope {
		case "user":
			into = m.scope(s.key.App + "/" + s.key.User)
		case "app":
			into = m.scope(s.key.App)
		}
		if into[name] = string(v); string(v) == "null" {
			delete(into, name)
		}
	}
}

func (m *model) scope(name string) map[string]string {
	if m.shared[name] == nil {
		m.shared[name] = map[string]string{}
	}
	return m.shared[name]
}

func (m *model) write(s *modelled, entries []*session.Entry) {
	for _, e := range entries {
		s.log = append(s.log, string(e.JSON))
		m.apply(s, e.Event.Actions.StateDelta)
	}
}

// wants fails the try when err is not want; nil wants none.
func wants(t *rapid.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", what, err, want)
	}
}

func (m *model) create(t *rapid.T) {
	s, given, log := m.pick(t), m.delta(t), number("import", rapid.IntRange(0, 2).Draw(t, "log"))
	got, err := m.kit.store.Create(m.kit.Context(), s.key, state(given...), log)
	if s.there {
		wants(t, "create", err, session.ErrExists)
		m.compare(t, s)
		return
	}
	wants(t, "create", err, nil)
	m.made++
	*s = modelled{key: s.key, there: true, order: m.made, state: map[string]string{}}
	m.apply(s, state(given...))
	m.write(s, log)
	m.equal(t, s, got)
	m.compare(t, s)
}

func (m *model) acquire(t *rapid.T) {
	s := m.pick(t)
	got, epoch, err := m.kit.store.Acquire(m.kit.Context(), s.key)
	if !s.there {
		wants(t, "acquire", err, session.ErrNotFound)
		return
	}
	wants(t, "acquire", err, nil)
	owner := ownerOf(s.key)
	if epoch <= m.last[owner] {
		t.Fatalf("epoch %d was given out after %d", epoch, m.last[owner])
	}
	m.equal(t, s, got)
	s.epoch, m.last[owner] = epoch, epoch
	m.epochs = append(m.epochs, epoch)
}

// epoch is that of the session, or any.
func (m *model) epoch(t *rapid.T, s *modelled) int64 {
	if rapid.Bool().Draw(t, "own epoch") {
		return s.epoch
	}
	return m.epochs[rapid.IntRange(0, len(m.epochs)-1).Draw(t, "epoch")]
}

func (m *model) append(t *rapid.T) {
	s := m.pick(t)
	epoch, entries := m.epoch(t, s), m.entries(t, 3)
	err := m.kit.store.Append(m.kit.Context(), s.key, epoch, entries...)
	if !s.there || epoch == 0 || epoch != s.epoch {
		wants(t, "append", err, session.ErrFenced)
	} else {
		wants(t, "append", err, nil)
		m.write(s, entries)
	}
	m.compare(t, s)
}

func (m *model) patch(t *rapid.T) {
	s, entries := m.pick(t), m.entries(t, 1)
	err := m.kit.store.Patch(m.kit.Context(), s.key, entries[0])
	if !s.there {
		wants(t, "patch", err, session.ErrNotFound)
	} else {
		wants(t, "patch", err, nil)
		m.write(s, entries)
	}
	m.compare(t, s)
}

func (m *model) release(t *rapid.T) {
	s := m.pick(t)
	epoch := m.epoch(t, s)
	wants(t, "release", m.kit.store.Release(m.kit.Context(), s.key, epoch), nil)
	if epoch == s.epoch {
		s.epoch = 0
	}
}

func (m *model) delete(t *rapid.T) {
	s := m.pick(t)
	wants(t, "delete", m.kit.store.Delete(m.kit.Context(), s.key), nil)
	*s = modelled{key: s.key}
	m.compare(t, s)
}

func (m *model) list(t *rapid.T) {
	owner := m.pick(t).key
	var want []*modelled
	for _, s := range m.sessions {
		if s.there && s.key.App == owner.App && s.key.User == owner.User && !strings.HasPrefix(s.key.ID, "adk-eval") {
			want = append(want, s)
		}
	}
	slices.SortFunc(want, func(a, b *modelled) int { return b.order - a.order })

	page := session.Page{Size: rapid.IntRange(0, 3).Draw(t, "size")}
	for {
		got, next, err := m.kit.store.List(m.kit.Context(), owner.App, owner.User, page)
		wants(t, "list", err, nil)
		if len(got) > len(want) || page.Size > 0 && len(got) > page.Size {
			t.Fatalf("a page of %d has %d sessions; %d are left", page.Size, len(got), len(want))
		}
		for i, s := range got {
			if len(s.Entries) > 0 {
				t.Fatalf("%v is listed with events", s.Key)
			}
			m.equalBut(t, want[i], s, len(want[i].log))
		}
		want, page.Token = want[len(got):], next
		if (next == "") != (len(want) == 0) {
			t.Fatalf("%d sessions are left, and the token is %q", len(want), next)
		}
		if next == "" {
			return
		}
	}
}

// compare reads a session and wants it to be as the model says.
func (m *model) compare(t *rapid.T, s *modelled) {
	t.Helper()
	after := rapid.IntRange(-1, len(s.log)+1).Draw(t, "after")
	got, err := m.kit.store.Get(m.kit.Context(), s.key, session.Read{After: int64(after)})
	if !s.there {
		wants(t, "get", err, session.ErrNotFound)
		return
	}
	wants(t, "get", err, nil)
	m.equalBut(t, s, got, min(max(after, 0), len(s.log)))
}

func (m *model) equal(t *rapid.T, s *modelled, got *session.Session) {
	t.Helper()
	m.equalBut(t, s, got, 0)
}

// equalBut is equal without the first entries of the log.
func (m *model) equalBut(t *rapid.T, s *modelled, got *session.Session, without int) {
	t.Helper()
	want := view{Key: s.key, State: maps.Clone(s.state), Seq: int64(len(s.log)), Created: got.Created, Updated: got.Updated}
	maps.Copy(want.State, m.scope(s.key.App+"/"+s.key.User))
	maps.Copy(want.State, m.scope(s.key.App))
	for i, text := range s.log[without:] {
		want.Entries = append(want.Entries, fmt.Sprintf("%d %s", without+i+1, text))
	}
	if got := look(got); !want.equal(got) {
		t.Fatalf("session %v (-want +got):\n%s", s.key, cmp.Diff(want, got))
	}
}

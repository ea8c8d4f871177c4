package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-run/parley/session"
)

// runsAgreeWithModel is agreesWithModel for runs: a session is a line of runs of
// which the first may be in progress, and that is all that there is to it.
func runsAgreeWithModel(k *kit) {
	tries := 0
	rapid.Check(k.T, func(t *rapid.T) {
		tries++
		m := &runModel{kit: k, app: fmt.Sprint("app", tries)}
		for _, id := range []string{"1", "2", "3"} {
			m.lines = append(m.lines, &runLine{key: session.Key{App: m.app, User: "user", ID: id}})
			m.create(m.lines[len(m.lines)-1])
		}
		t.Repeat(map[string]func(*rapid.T){
			"compare":  m.compare,
			"begin":    m.begin,
			"claim":    m.claim,
			"append":   m.append,
			"end":      m.end,
			"handOver": m.handOver,
			"stop":     m.stop,
			"patch":    func(t *rapid.T) { s := m.pick(t); k.patch(s.key, say("patch")); s.seq++ },
			"delete":   func(t *rapid.T) { s := m.pick(t); k.delete(s.key); m.create(s) },
		})
		m.compare(t)
		for _, s := range m.lines {
			k.delete(s.key)
		}
	})
}

// runModel is what the store should hold. Its methods do one thing to both.
type runModel struct {
	kit   *kit
	app   string
	lines []*runLine
	last  int64 // the greatest epoch
	made  int
	old   []int64 // epochs that were good once
}

// runLine is a session.
type runLine struct {
	key     session.Key
	running *runModelled
	left    bool // whether the owner of the running one has left it
	queue   []*runModelled
	all     []*runModelled // in the order in which they came
	notes   map[string]string
	seq     int64
}

// runModelled is a run, with an idempotency key that is its own name, or none.
type runModelled struct {
	session.Run
	keyed bool
	wrote bool
}

func (m *runModel) pick(t *rapid.T) *runLine { return rapid.SampledFrom(m.lines).Draw(t, "session") }

// create makes a session that is not there, or not any more.
func (m *runModel) create(s *runLine) {
	m.kit.create(s.key, nil)
	*s = runLine{key: s.key}
}

// busy reports whether a run would have to wait.
func (s *runLine) busy() bool { return s.running != nil || len(s.queue) > 0 }

func (s *runLine) epoch() int64 {
	if s.running == nil || s.left {
		return 0
	}
	return s.running.Epoch
}

// given updates the model for a run that a process has got, as begun says.
func (m *runModel) given(t *rapid.T, s *runLine, r *runModelled, begun *session.Begun) {
	t.Helper()
	if begun.Session == nil || begun.Run.ID != r.ID || begun.Session.Seq != s.seq {
		t.Fatalf("given is %+v, with %+v, want %s with %d entries", begun.Run, begun.Session, r.ID, s.seq)
	}
	if begun.Run.Epoch <= m.last {
		t.Fatalf("the epoch %d comes after %d", begun.Run.Epoch, m.last)
	}
	m.old = append(m.old, r.Epoch)
	m.last = begun.Run.Epoch
	r.Status, r.Epoch, r.Attempt = session.Running, begun.Run.Epoch, r.Attempt+1
	s.running, s.left = r, false
	got := map[string]string{}
	for name, note := range begun.Journal {
		got[name] = string(note)
	}
	if !maps.Equal(got, s.notes) {
		t.Fatalf("the notes of %s are %v, want %v", r.ID, got, s.notes)
	}
}

func (m *runModel) begin(t *rapid.T) {
	s := m.pick(t)
	policy := rapid.SampledFrom([]session.Policy{session.Enqueue, session.Enqueue, session.Reject, session.Interrupt, session.Rollback}).Draw(t, "policy")
	m.made++
	r := &runModelled{Run: session.Run{ID: fmt.Sprintf("%s-%d", m.app, m.made), Key: s.key, Status: session.Queued}, keyed: rapid.Bool().Draw(t, "keyed")}
	req := asked(r.ID, s.key)
	req.Busy = policy
	if r.keyed {
		req.IdempotencyKey, req.Fingerprint = r.ID, "print"
	}
	// Some ask again for what they have asked for.
	if before := m.some(t, s); before != nil && before.keyed && rapid.Bool().Draw(t, "again") {
		req.IdempotencyKey, req.Fingerprint = before.ID, "print"
		begun, err := m.kit.store.Begin(m.kit.Context(), req)
		wants(t, "a repeat", err, nil)
		if !begun.Repeat || begun.Run.ID != before.ID || begun.Session != nil {
			t.Fatalf("a repeat of %s is %+v", before.ID, begun.Run)
		}
		req.Fingerprint = "another"
		_, err = m.kit.store.Begin(m.kit.Context(), req)
		wants(t, "a key for something else", err, session.ErrReused)
		return
	}
	message := rapid.Bool().Draw(t, "message")
	if message {
		req.Message = say("message")
	}
	begun, err := m.kit.store.Begin(m.kit.Context(), req)
	if s.busy() && policy == session.Reject {
		if _, ok := errors.AsType[*session.BusyError](err); !ok {
			t.Fatalf("begin: error %v, want a BusyError", err)
		}
		return
	}
	wants(t, "begin", err, nil)
	r.Number = begun.Run.Number
	if len(s.all) > 0 && r.Number <= s.all[len(s.all)-1].Number {
		t.Fatalf("the number %d comes after %d", r.Number, s.all[len(s.all)-1].Number)
	}
	s.all = append(s.all, r)
	if !s.busy() {
		m.given(t, s, r, begun)
		if message {
			m.wrote(s, 1)
		}
		return
	}
	if begun.Session != nil {
		t.Fatalf("%s has begun in a busy session", r.ID)
	}
	if policy != session.Enqueue {
		for _, waits := range s.queue {
			waits.Status = session.Cancelled
		}
		s.queue = nil
		if s.running != nil {
			how := map[session.Policy]session.Stop{session.Interrupt: session.StopCancel, session.Rollback: session.StopRollback}[policy]
			s.running.Stop = s.running.Stop.With(how)
		}
	}
	s.queue = append(s.queue, r)
}

// wrote is what happens when the running run has written.
func (m *runModel) wrote(s *runLine, entries int) {
	if entries > 0 && s.running.First == 0 {
		s.running.First = s.seq + 1
	}
	s.running.wrote = s.running.wrote || entries > 0
	s.seq += int64(entries)
}

func (m *runModel) claim(t *rapid.T) {
	s := m.pick(t)
	begun, err := m.kit.store.Claim(m.kit.Context(), s.key, session.Read{})
	switch {
	case s.left:
		wants(t, "claim", err, nil)
		m.given(t, s, s.running, begun)
	case s.running == nil && len(s.queue) > 0:
		wants(t, "claim", err, nil)
		r := s.queue[0]
		s.queue = s.queue[1:]
		m.given(t, s, r, begun)
	default:
		wants(t, "claim", err, session.ErrIdle)
	}
}

// some is any run of the session, nil if there is none.
func (m *runModel) some(t *rapid.T, s *runLine) *runModelled {
	if len(s.all) == 0 {
		return nil
	}
	return rapid.SampledFrom(s.all).Draw(t, "run")
}

// anEpoch is that of the session, or one that was good once.
func (m *runModel) anEpoch(t *rapid.T, s *runLine) int64 {
	if len(m.old) == 0 || rapid.IntRange(0, 3).Draw(t, "old epoch") > 0 {
		return s.epoch()
	}
	return rapid.SampledFrom(m.old).Draw(t, "epoch")
}

func (m *runModel) append(t *rapid.T) {
	s := m.pick(t)
	epoch, entries := m.anEpoch(t, s), number("e", rapid.IntRange(0, 2).Draw(t, "entries"))
	notes := session.Journal{}
	for _, name := range []string{"a", "b"} {
		switch v := rapid.SampledFrom([]string{"", "delete", "1", "2"}).Draw(t, name); v {
		case "":
		case "delete":
			notes[name] = nil
		default:
			notes[name] = []byte(v)
		}
	}
	err := m.kit.store.Store.Append(m.kit.Context(), s.key, epoch, notes, entries...)
	if epoch == 0 || epoch != s.epoch() {
		wants(t, "append", err, session.ErrFenced)
		return
	}
	wants(t, "append", err, nil)
	m.wrote(s, len(entries))
	for name, note := range notes {
		if s.notes == nil {
			s.notes = map[string]string{}
		}
		if s.notes[name] = string(note); note == nil {
			delete(s.notes, name)
		}
	}
}

func (m *runModel) end(t *rapid.T) {
	s := m.pick(t)
	epoch := m.anEpoch(t, s)
	end := session.End{Status: rapid.SampledFrom([]session.Status{session.Completed, session.Failed, session.Cancelled, session.Waiting}).Draw(t, "status")}
	r := s.running
	if r != nil && !r.wrote && rapid.Bool().Draw(t, "discard") {
		end = session.End{Discard: true}
	} else {
		end.Entries = number("e", rapid.IntRange(0, 2).Draw(t, "entries"))
	}
	queued, err := m.kit.store.End(m.kit.Context(), s.key, epoch, end)
	if epoch == 0 || epoch != s.epoch() {
		wants(t, "end", err, session.ErrFenced)
		return
	}
	wants(t, "end", err, nil)
	if queued != (len(s.queue) > 0) {
		t.Fatalf("queued is %v, and %d are queued", queued, len(s.queue))
	}
	m.wrote(s, len(end.Entries))
	r.Status, r.Last = end.Status, s.seq
	if end.Discard {
		s.all = slices.DeleteFunc(s.all, func(one *runModelled) bool { return one == r })
	}
	m.old = append(m.old, epoch)
	s.running, s.notes = nil, nil
}

func (m *runModel) handOver(t *rapid.T) {
	s := m.pick(t)
	epoch := m.anEpoch(t, s)
	wants(t, "hand over", m.kit.store.HandOver(m.kit.Context(), s.key, epoch), nil)
	if epoch != 0 && epoch == s.epoch() {
		s.left = true
	}
}

func (m *runModel) stop(t *rapid.T) {
	s := m.pick(t)
	r := m.some(t, s)
	if r == nil {
		_, err := m.kit.store.StopRun(m.kit.Context(), s.key, "never", session.StopCancel)
		wants(t, "stop", err, session.ErrRunNotFound)
		return
	}
	how := rapid.SampledFrom([]session.Stop{session.StopCancel, session.StopRollback}).Draw(t, "how")
	got, err := m.kit.store.StopRun(m.kit.Context(), s.key, r.ID, how)
	wants(t, "stop", err, nil)
	switch {
	case r == s.running:
		r.Stop = r.Stop.With(how)
	case r.Status == session.Queued:
		r.Status = session.Cancelled
		s.queue = slices.DeleteFunc(s.queue, func(one *runModelled) bool { return one == r })
	}
	m.equal(t, r, got)
}

// equal wants a run to be as the model says, but for its times. How a run that
// is not running any more was asked to end is not said anywhere.
func (m *runModel) equal(t *rapid.T, want *runModelled, got *session.Run) {
	t.Helper()
	a, b := want.Run, *got
	a.Created, a.Ended, b.Request = b.Created, b.Ended, nil
	if a.Status != session.Running {
		a.Stop, b.Stop = session.StopNot, session.StopNot
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Fatalf("the run %s (-want +got):\n%s", want.ID, diff)
	}
	if got.Status.Ended() == got.Ended.IsZero() {
		t.Fatalf("the run is %+v", got)
	}
}

// compare wants everything to be as the model says.
func (m *runModel) compare(t *rapid.T) {
	ctx := m.kit.Context()
	var idle []string
	held := map[string]session.Held{}
	for _, s := range m.lines {
		if s.left || s.running == nil && len(s.queue) > 0 {
			idle = append(idle, s.key.ID)
		} else if s.running != nil {
			held[s.running.ID] = session.Held{Key: s.key, Run: s.running.ID, Epoch: s.running.Epoch, Stop: s.running.Stop}
		}
		runs, _, err := m.kit.store.ListRuns(ctx, s.key, session.Page{})
		wants(t, "list", err, nil)
		if len(runs) != len(s.all) {
			t.Fatalf("the runs are %v; there should be %d", runIDs(runs), len(s.all))
		}
		slices.Reverse(runs)
		for i, r := range runs {
			m.equal(t, s.all[i], r)
		}
		got, err := m.kit.store.Get(ctx, s.key, session.Read{NoEvents: true})
		if wants(t, "get", err, nil); got.Seq != s.seq {
			t.Fatalf("the log ends at %d, want %d", got.Seq, s.seq)
		}
	}
	keys, err := m.kit.store.Idle(ctx, 1_000_000)
	wants(t, "idle", err, nil)
	var found []string
	for _, key := range keys {
		if key.App == m.app { // the others are of earlier tries
			found = append(found, key.ID)
		}
	}
	if slices.Sort(found); !slices.Equal(found, idle) {
		t.Fatalf("idle are %v, want %v", found, idle)
	}
	renewed, err := m.kit.store.Renew(ctx)
	wants(t, "renew", err, nil)
	for _, h := range renewed {
		if h.Key.App == m.app && held[h.Run] != h {
			t.Fatalf("held is %+v, want %+v", h, held[h.Run])
		}
		delete(held, h.Run)
	}
	if len(held) > 0 {
		t.Fatalf("not held are %v", held)
	}
}

package memstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

const (
	// idleAfter is how often the store looks for idle sessions. A session is packed if it
	// was not used between two looks, or more if it is long.
	idleAfter = 15 * time.Second
	// A long session is worth keeping, because all of it is decoded again when it is used:
	// it is packed a look later for so many entries, and after at most maxLooks.
	entriesPerLook = 64
	maxLooks       = 40
)

// idle knows the sessions that are not packed.
type idle struct {
	mu    sync.Mutex
	list  []*record
	timer *time.Timer
}

// use notes that a session is used. rec.mu must be held.
func (m *Backend) use(rec *record) {
	rec.unused = 0
	if rec.listed {
		return
	}
	rec.listed = true
	m.unpacked(rec)
}

// unpacked lists sessions for packIdle.
func (m *Backend) unpacked(recs ...*record) {
	i := &m.idle
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list, recs...)
	if i.timer == nil && len(i.list) > 0 {
		i.timer = time.AfterFunc(idleAfter, func() { m.packIdle(false) })
	}
}

// packIdle packs the sessions without an active run that were not used for a while, or, if
// memory is short, all without an active run.
func (m *Backend) packIdle(short bool) {
	m.idle.mu.Lock()
	list := m.idle.list
	m.idle.list = nil
	// If memory is short, the next look is left as it is: this is called for all stores
	// of the process, and tests have some whose time is that of a testing/synctest bubble.
	if m.idle.timer != nil && !short {
		m.idle.timer.Stop()
		m.idle.timer = nil
	}
	m.idle.mu.Unlock()
	var used []*record
	for _, rec := range list {
		rec.mu.Lock()
		looks := 1 + min(len(rec.entries)/entriesPerLook, maxLooks-1)
		if !rec.gone && (rec.runs.active() || int(rec.unused) < looks && !short) {
			rec.unused = min(rec.unused+1, maxLooks)
			used = append(used, rec)
		} else {
			rec.listed = false
			rec.pack()
		}
		rec.mu.Unlock()
	}
	m.unpacked(used...)
}

// pack requires rec.mu, like unpack and own.
func (r *record) pack() {
	for _, e := range r.entries {
		e.Release()
	}
	if r.calls != nil {
		r.calls.Release()
	}
	if r.packed != "" || r.state == nil {
		return
	}
	packed := appendState(nil, r.state)
	if !maps.EqualFunc(r.state, r.initial, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		packed = appendState(packed, r.initial)
	}
	r.packed, r.state, r.initial, r.lent = string(packed), nil, nil, false
}

// unpack restores the states of a packed session.
func (r *record) unpack() {
	if r.packed == "" {
		return
	}
	state, rest := readState([]byte(r.packed))
	r.state, r.initial, r.lent = state, state, true
	if len(rest) > 0 {
		r.initial, _ = readState(rest)
		r.lent = false
	}
	r.packed = ""
}

// own returns the session's own state, which must not be changed or kept.
func (r *record) own() session.State {
	if r.packed == "" {
		return r.state
	}
	state, _ := readState([]byte(r.packed))
	return state
}

// appendState appends a state to dst: the number of its keys, and each of them and its
// value with their lengths.
func appendState(dst []byte, s session.State) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	for k, v := range s {
		dst = append(binary.AppendUvarint(dst, uint64(len(k))), k...)
		dst = append(binary.AppendUvarint(dst, uint64(len(v))), v...)
	}
	return dst
}

// readState returns the state that appendState has written, and what follows it. The values
// share the memory of packed.
func readState(packed []byte) (s session.State, rest []byte) {
	next := func() int {
		n, size := binary.Uvarint(packed)
		packed = packed[size:]
		return int(n)
	}
	text := func() []byte {
		n := next()
		t := packed[:n:n]
		packed = packed[n:]
		return t
	}
	keys := next()
	s = make(session.State, keys)
	for range keys {
		key := string(text())
		s[key] = json.RawMessage(text())
	}
	return s, packed
}

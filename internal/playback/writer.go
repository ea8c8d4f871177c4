package playback

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// retention is how often old recordings are deleted.
const retention = 10 * time.Minute

// maxPending is how many bytes of recordings wait to be stored. More are dropped: a
// recording must not hold up a run.
const maxPending = 64 << 20

// writeDelay is how long a recording waits for others that are stored with it. To wake
// the goroutine that stores them costs more than to make one (BenchmarkRecord in package bench).
const writeDelay = 100 * time.Millisecond

// fullBatch is how many bytes of recordings are stored without delay.
const fullBatch = 4 << 20

// maxSpare is for how many recordings memory is kept when they are stored, and maxBuffer how
// many bytes a buffer may have that is used again.
const (
	maxSpare  = 1024
	maxBuffer = 4 << 10
)

// Recorder records runs. It stores recordings together, some time after their runs.
type Recorder struct {
	store   session.Recordings
	share   float64
	age     time.Duration
	code    func(app string) string
	log     *slog.Logger
	encoded encodings

	closing       sync.Once
	stop, stopped chan struct{}
	wake, now     chan struct{} // something is pending; it is to be stored without delay

	mu      sync.Mutex
	pending []session.Recording
	spare   []session.Recording // empty, for those after pending
	bytes   int
	idle    chan struct{} // closed when everything is stored; nil if nothing is pending
}

// NewRecorder returns a recorder that records a share of runs, from 0 to 1, and keeps
// recordings for age; 0 means as long as their sessions. It must be closed.
func NewRecorder(store session.Recordings, share float64, age time.Duration, code func(app string) string, log *slog.Logger) *Recorder {
	r := &Recorder{
		store: store, share: share, age: age, code: code, log: log,
		stop: make(chan struct{}), stopped: make(chan struct{}), wake: make(chan struct{}, 1), now: make(chan struct{}, 1),
	}
	go r.write()
	return r
}

// Edges returns the edges of a run, nil if it is not recorded.
func (r *Recorder) Edges(b run.Beginning) run.Edges {
	if r.share < 1 && rand.Float64() >= r.share { //nolint:gosec // it only chooses
		return nil
	}
	to := recorders.Get().(*recorder) //nolint:forcetypeassert // it has nothing else
	to.to, to.key, to.run, to.attempt = r, b.Key, b.Run, b.Attempt
	to.tools, to.state, to.secrets, to.log = b.Tools, sharedState(b.Log.Shared()), b.Secrets, b.Log
	if n := b.Log.Len(); n > 0 {
		if last := b.Log.At(n - 1); last.Author == event.User && last.InvocationID == b.Run {
			to.message = last
		}
	}
	return &recorded{log: b.Log, of: to}
}

// maxState is how many bytes of shared state are recorded. It is not recorded if there
// is more.
const maxState = 64 << 10

// sharedState returns what a session shares with others, in JSON; nil for nothing.
func sharedState(shared session.State) []byte {
	if len(shared) == 0 {
		return nil
	}
	doc, err := json.Marshal(shared)
	if err != nil || len(doc) > maxState {
		return nil
	}
	return doc
}

// Done stores the recording.
func (e *recorded) Done() {
	e.mu.Lock()
	r, asking := e.of, e.own.step != nil
	e.of = nil
	e.mu.Unlock()
	if r == nil {
		return
	}
	r.store()
	if !asking { // a model that is still asked has r.own
		r.release()
	}
}

// store encodes the recording, and passes it on.
func (r *recorder) store() {
	doc := r.encode(r.buffer[:0])
	if r.to.code != nil {
		doc = wire.Quote(append(doc, `,"code":`...), r.to.code(r.key.App))
	}
	if len(r.tools) > 0 {
		list := make([]replay.Declaration, len(r.tools))
		for i, d := range r.tools {
			list[i] = replay.Declaration{Name: d.Name, Description: d.Description, Parameters: d.Parameters}
		}
		if raw, err := json.Marshal(list); err == nil {
			doc = append(append(doc, `,"tools":`...), raw...)
		}
	}
	if r.state != nil {
		doc = append(append(doc, `,"state":`...), r.state...)
	}
	if r.truncated {
		doc = append(doc, `,"truncated":true`...)
	}
	doc = append(doc, '}')
	if r.secrets != nil {
		doc = r.secrets.Scrub(doc)
		r.scrubParts()
	}
	r.to.add(&session.Recording{Key: r.key, Run: r.run, Attempt: r.attempt, JSON: bytes.Clone(doc), Parts: r.parts})
	if r.buffer = doc; cap(doc) > maxBuffer {
		r.buffer = nil
	}
}

// scrubParts removes secrets from the parts.
func (r *recorder) scrubParts() {
	for i, p := range r.parts {
		if clean := r.secrets.Scrub(p.JSON); !bytes.Equal(clean, p.JSON) {
			r.parts = slices.Clone(r.parts) // others have it too
			r.parts[i] = session.NewRecordingPart(clean)
		}
	}
}

// size is how many bytes a recording has.
func size(r *session.Recording) int {
	n := len(r.JSON)
	for _, p := range r.Parts {
		n += len(p.JSON)
	}
	return n
}

// add passes a recording on.
func (r *Recorder) add(one *session.Recording) {
	bytes := size(one)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+bytes > maxPending {
		r.log.Warn("dropped the recording of a run: the store is too slow", "run_id", one.Run)
		return
	}
	r.pending, r.bytes = append(r.pending, *one), r.bytes+bytes
	if r.idle == nil {
		r.idle = make(chan struct{})
		signal(r.wake)
	}
	if r.bytes > fullBatch {
		signal(r.now)
	}
}

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// write stores what is pending until Close.
func (r *Recorder) write() {
	defer close(r.stopped)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sweep := time.NewTicker(retention)
	defer sweep.Stop()
	delay := time.NewTimer(writeDelay)
	defer delay.Stop()
	for {
		select {
		case <-r.wake:
			delay.Reset(writeDelay)
			select {
			case <-delay.C:
			case <-r.now:
			case <-r.stop:
			}
			r.put(ctx)
		case <-sweep.C:
			r.sweep(ctx)
		case <-r.stop:
			r.put(ctx)
			return
		}
	}
}

// maxBatch is how many recordings are stored together.
const maxBatch = 64

// put stores what is pending.
func (r *Recorder) put(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.pending) > 0 {
		all := r.pending
		r.pending, r.spare = r.spare, nil
		for some := range slices.Chunk(all, maxBatch) {
			r.mu.Unlock()
			stored := 0
			var batch [maxBatch]*session.Recording
			for i := range some {
				batch[i] = &some[i]
				stored += size(batch[i])
			}
			if err := r.store.PutRecordings(ctx, batch[:len(some)]); err != nil {
				r.log.Warn("could not store recordings of runs", "err", err, "runs", len(some))
			}
			r.mu.Lock()
			r.bytes -= stored
		}
		if clear(all); cap(all) <= maxSpare {
			r.spare = all[:0]
		}
	}
	if r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

func (r *Recorder) sweep(ctx context.Context) {
	if r.age <= 0 {
		return
	}
	for {
		done, err := r.store.SweepRecordings(ctx, r.age)
		if err != nil {
			r.log.Warn("could not delete old recordings of runs", "err", err)
		}
		if done || err != nil {
			return
		}
	}
}

// Flush waits until what was recorded so far is stored, or ctx is done.
func (r *Recorder) Flush(ctx context.Context) {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	if idle == nil {
		return
	}
	signal(r.now)
	select {
	case <-idle:
	case <-r.stopped:
	case <-ctx.Done():
	}
}

// Close stores what is pending, and ends the recorder. No run may be recorded any
// more.
func (r *Recorder) Close() {
	r.closing.Do(func() { close(r.stop) })
	<-r.stopped
}

package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/session"
)

// Two processes with ten workers each do the runs of five sessions: they begin
// some, claim what is queued, leave some to others, and end what they have. In
// the end every run has been ended once, and the log shows one after the other.
// Clients would see the answers of two runs in one another otherwise.
func scrambleHandOver(p *place) {
	a, b := p.two()
	newScramble(p).run(a, b)
}

// The same when one of the processes is so slow that its leases are always over:
// whatever it begins may be taken from it at any time.
func scrambleLeasesOver(p *place) {
	newScramble(p).run(p.as("a", time.Hour), p.as("slow", -1))
}

type scramble struct {
	*place
	begun atomic.Int64
	over  atomic.Int64

	mu     sync.Mutex
	ended  map[string]int    // how often each run was ended
	epochs map[int64]string  // and who has had each epoch
	wrote  map[string]string // events that are in the log, by id, and their runs
}

func newScramble(p *place) *scramble {
	return &scramble{place: p, ended: map[string]int{}, epochs: map[int64]string{}, wrote: map[string]string{}}
}

const (
	scrambleSessions = 5
	scrambleWorkers  = 10
	// scrambleRuns is small enough for one session to have all of the runs, with
	// one more of every worker: the store in memory keeps the last 100 of a session.
	scrambleRuns = 80
)

func scrambled(i int) session.Key { return key(fmt.Sprint("s", i%scrambleSessions)) }

func (s *scramble) run(a, b *kit) {
	for i := range scrambleSessions {
		a.create(scrambled(i), nil)
	}
	a.together(2*scrambleWorkers, func(i int) error {
		k := []*kit{a, b}[i%2]
		for n := i; s.over.Load() < scrambleRuns; n++ {
			if err := s.step(k, scrambled(n), n); err != nil {
				return fmt.Errorf("worker %d: %w", i, err)
			}
		}
		return nil
	})
	s.check(a)
	s.check(b)
}

// step does one run, or as much of it as there is to do.
func (s *scramble) step(k *kit, key session.Key, n int) error {
	begun, err := k.store.Claim(s.Context(), key, session.Read{After: 1 << 40})
	if errors.Is(err, session.ErrIdle) {
		begun, err = k.store.Begin(s.Context(), asked(fmt.Sprint("r", s.begun.Add(1)), key))
	}
	if err != nil || begun.Session == nil {
		return err // it is queued
	}
	run, epoch := begun.Run.ID, begun.Run.Epoch
	s.mu.Lock()
	before, twice := s.epochs[epoch]
	s.epochs[epoch] = run
	s.mu.Unlock()
	if twice {
		return fmt.Errorf("%s was given the epoch %d, and %s had it before", run, epoch, before)
	}
	for i := range 2 {
		id := fmt.Sprintf("%s/%d-%d", run, epoch, i)
		err := k.store.Append(s.Context(), key, epoch, say(id))
		if errors.Is(err, session.ErrFenced) {
			return nil // it was taken; it is not ours any more
		} else if err != nil {
			return err
		}
		s.written(id, run)
		if n%7 == 0 {
			if err := k.store.Patch(s.Context(), key, say(fmt.Sprintf("patch/%d-%d", epoch, i))); err != nil {
				return err
			}
		}
	}
	if n/scrambleSessions%4 == 0 {
		return k.store.HandOver(s.Context(), key, epoch)
	}
	last := fmt.Sprintf("%s/%d-end", run, epoch)
	_, err = k.store.End(s.Context(), key, epoch, session.End{Status: session.Completed, Entries: []*session.Entry{say(last)}})
	if errors.Is(err, session.ErrFenced) {
		return nil
	} else if err != nil {
		return err
	}
	s.written(last, run)
	s.mu.Lock()
	s.ended[run]++
	s.mu.Unlock()
	s.over.Add(1)
	return nil
}

func (s *scramble) written(id, run string) {
	s.mu.Lock()
	s.wrote[id] = run
	s.mu.Unlock()
}

func (s *scramble) check(k *kit) {
	for run, times := range s.ended {
		if times != 1 {
			k.Errorf("%s was ended %d times", run, times)
		}
	}
	inLog, ended := 0, 0
	for i := range scrambleSessions {
		runs := map[string]*session.Run{}
		for _, r := range k.history(scrambled(i), 7) {
			runs[r.ID] = r
			if r.Status.Ended() {
				ended++
			}
			if r.Status.Ended() != (s.ended[r.ID] == 1) {
				k.Errorf("%s is %s, and was ended %d times", r.ID, r.Status, s.ended[r.ID])
			}
		}
		inLog += s.checkLog(k, k.dense(k.get(scrambled(i))), runs)
	}
	if inLog != len(s.wrote) || ended != len(s.ended) {
		k.Errorf("%d of %d entries are in the logs, %d of %d runs have ended", inLog, len(s.wrote), ended, len(s.ended))
	}
}

// checkLog wants the entries of each run to be together, but for patches, and
// between its First and its Last, with epochs that never go back. It returns how
// many there are.
func (s *scramble) checkLog(k *kit, log []string, runs map[string]*session.Run) int {
	count, current, last := 0, "", int64(0)
	done := map[string]bool{}
	for i, id := range log {
		run, rest, _ := strings.Cut(id, "/")
		if run == "patch" {
			continue
		}
		count++
		if s.wrote[id] != run {
			k.Errorf("%s is in the log, but its append did not succeed", id)
		}
		if run != current {
			if done[run] {
				k.Errorf("%s continues at %d, after %s", run, i+1, current)
			}
			done[current], current = true, run
			if r := runs[run]; r == nil || r.First != int64(i)+1 {
				k.Errorf("%s begins at %d, and is %+v", run, i+1, r)
			}
		}
		var epoch int64
		if _, err := fmt.Sscanf(rest, "%d-", &epoch); err != nil || epoch < last {
			k.Errorf("%s comes after the epoch %d: %v", id, last, err)
		}
		last = epoch
		if r := runs[run]; r != nil && r.Status.Ended() && r.Last < int64(i)+1 {
			k.Errorf("%s ended at %d, and wrote %s at %d", run, r.Last, id, i+1)
		}
	}
	return count
}

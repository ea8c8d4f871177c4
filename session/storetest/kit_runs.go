package storetest

import (
	"errors"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/session"
)

// asked is a run that waits for its turn if it has to.
func asked(id string, key session.Key) session.NewRun {
	return session.NewRun{ID: id, Key: key, Busy: session.Enqueue, Request: noRequest}
}

func (k *kit) begin(run session.NewRun) *session.Begun {
	k.Helper()
	begun, err := k.store.Begin(k.Context(), run)
	if err != nil {
		k.Fatalf("Begin(%s in %v, %s): %v", run.ID, run.Key, run.Busy, err)
	}
	return begun
}

// start begins a run of a free session and returns its epoch.
func (k *kit) start(id string, key session.Key) int64 {
	k.Helper()
	begun := k.begin(asked(id, key))
	if begun.Session == nil || begun.Run.Status != session.Running {
		k.Fatalf("the session %v is free, and the run %s is %s", key, id, begun.Run.Status)
	}
	return begun.Run.Epoch
}

// enqueue queues a run in a busy session.
func (k *kit) enqueue(id string, key session.Key) {
	k.Helper()
	k.queued(k.begin(asked(id, key)))
}

// queued wants the run not to have begun.
func (k *kit) queued(begun *session.Begun) *session.Run {
	k.Helper()
	r := begun.Run
	if begun.Session != nil || begun.Repeat || r.Status != session.Queued || r.Epoch != 0 || r.First != 0 || r.Attempt != 0 {
		k.Fatalf("the run should be queued, and is %+v of the session %v", r, begun.Session)
	}
	return r
}

func (k *kit) claim(key session.Key) *session.Begun {
	k.Helper()
	begun, err := k.store.Claim(k.Context(), key, session.Read{})
	if err != nil {
		k.Fatalf("Claim(%v): %v", key, err)
	}
	if begun.Session == nil || begun.Repeat || begun.Run.Status != session.Running || begun.Run.Key != key {
		k.Fatalf("claimed is %+v, with the session %v", begun.Run, begun.Session)
	}
	return begun
}

// claims wants the run of that name to be the one that can be claimed, and
// returns its epoch.
func (k *kit) claims(key session.Key, id string) int64 {
	k.Helper()
	begun := k.claim(key)
	if begun.Run.ID != id {
		k.Fatalf("claimed is the run %s, want %s", begun.Run.ID, id)
	}
	return begun.Run.Epoch
}

// nothing wants no run of the session to be there for the taking.
func (k *kit) nothing(key session.Key, when string) {
	k.Helper()
	if begun, err := k.store.Claim(k.Context(), key, session.Read{}); !errors.Is(err, session.ErrIdle) {
		k.Errorf("Claim(%v) %s: %+v, error %v, want ErrIdle", key, when, begun, err)
	}
}

// note appends with notes.
func (k *kit) note(key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) {
	k.Helper()
	if err := k.store.Store.Append(k.Context(), key, epoch, notes, entries...); err != nil {
		k.Fatalf("Append(%v, %d, %d notes, %d entries): %v", key, epoch, len(notes), len(entries), err)
	}
}

// end ends a run and reports whether another one is queued.
func (k *kit) end(key session.Key, epoch int64, end session.End) bool {
	k.Helper()
	queued, err := k.store.End(k.Context(), key, epoch, end)
	if err != nil {
		k.Fatalf("End(%v, %d): %v", key, epoch, err)
	}
	return queued
}

// complete ends a run that has nothing more to say.
func (k *kit) complete(key session.Key, epoch int64) bool {
	k.Helper()
	return k.end(key, epoch, session.End{Status: session.Completed})
}

func (k *kit) handOver(key session.Key, epoch int64) {
	k.Helper()
	if err := k.store.HandOver(k.Context(), key, epoch); err != nil {
		k.Fatalf("HandOver(%v, %d): %v", key, epoch, err)
	}
}

func (k *kit) stop(key session.Key, id string, how session.Stop) *session.Run {
	k.Helper()
	r, err := k.store.StopRun(k.Context(), key, id, how)
	if err != nil {
		k.Fatalf("StopRun(%v, %s, %s): %v", key, id, how, err)
	}
	return r
}

// run finds a run and wants it to have that status.
func (k *kit) run(key session.Key, id string, status session.Status) *session.Run {
	k.Helper()
	r, err := k.store.Run(k.Context(), key, id)
	if err != nil {
		k.Fatalf("Run(%v, %s): %v", key, id, err)
	}
	if r.ID != id || r.Key != key || r.Status != status {
		k.Errorf("the run %s of %v is %s of %v and %s, want %s", id, key, r.ID, r.Key, r.Status, status)
	}
	if r.Status.Ended() == r.Ended.IsZero() || r.Created.IsZero() || r.Status.Ended() && r.Ended.Before(r.Created) {
		k.Errorf("the run %s is %s; it was made %v and ended %v", id, r.Status, r.Created, r.Ended)
	}
	return r
}

// noRun wants the run not to be there.
func (k *kit) noRun(key session.Key, id string) {
	k.Helper()
	if r, err := k.store.Run(k.Context(), key, id); !errors.Is(err, session.ErrRunNotFound) {
		k.Errorf("Run(%v, %s): %+v, error %v, want ErrRunNotFound", key, id, r, err)
	}
}

// sameRun wants two answers about a run to agree. What the request was is not
// for everyone.
func (k *kit) sameRun(what string, want, got *session.Run) {
	k.Helper()
	a, b := *want, *got
	a.Request, b.Request = nil, nil
	if diff := cmp.Diff(a, b); diff != "" {
		k.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// history reads the list of the runs of a session to its end, size at a time.
func (k *kit) history(key session.Key, size int) []*session.Run {
	k.Helper()
	var all []*session.Run
	for page := (session.Page{Size: size}); ; {
		runs, next, err := k.store.ListRuns(k.Context(), key, page)
		switch {
		case err != nil:
			k.Fatalf("ListRuns(%v, %+v): %v", key, page, err)
		case next != "" && len(runs) != size, size > 0 && len(runs) > size:
			k.Fatalf("a page of %d has %d runs and the token %q", size, len(runs), next)
		case next == "" && len(runs) == 0 && page.Token != "":
			k.Fatal("the page before said that there was another, and this one is empty")
		case len(all) > 10_000 || next != "" && next == page.Token:
			k.Fatalf("the list of runs does not end: %v", runIDs(all[:min(len(all), 100)]))
		}
		if all = append(all, runs...); next == "" {
			return all
		}
		page.Token = next
	}
}

func runIDs(runs []*session.Run) []string {
	list := make([]string, len(runs))
	for i, r := range runs {
		list[i] = r.ID
	}
	return list
}

// hasRuns wants the session to have these runs, the newest first.
func (k *kit) hasRuns(key session.Key, want ...string) {
	k.Helper()
	if got := runIDs(k.history(key, 0)); !slices.Equal(got, want) {
		k.Errorf("the runs of %v are %v, want %v", key, got, want)
	}
}

// idle are the ids of the sessions that Idle finds, sorted.
func (k *kit) idle(limit int) []string {
	k.Helper()
	keys, err := k.store.Idle(k.Context(), limit)
	if err != nil {
		k.Fatalf("Idle(%d): %v", limit, err)
	}
	var list []string
	for _, key := range keys {
		list = append(list, key.ID)
	}
	slices.Sort(list)
	return list
}

// held are the runs that Renew returns, by their names.
func (k *kit) held() map[string]session.Held {
	k.Helper()
	all, err := k.store.Renew(k.Context())
	if err != nil {
		k.Fatalf("Renew: %v", err)
	}
	byRun := map[string]session.Held{}
	for _, h := range all {
		if _, twice := byRun[h.Run]; twice {
			k.Errorf("the run %s is held twice", h.Run)
		}
		byRun[h.Run] = h
	}
	return byRun
}

// holds wants Renew to return just these runs.
func (k *kit) holds(want ...session.Held) {
	k.Helper()
	byRun := map[string]session.Held{}
	for _, h := range want {
		byRun[h.Run] = h
	}
	if diff := cmp.Diff(byRun, k.held()); diff != "" {
		k.Errorf("held are (-want +got):\n%s", diff)
	}
}

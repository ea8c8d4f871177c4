// Package doctor checks the contents of a store, and repairs what can be repaired.
// It reads through the same interface as the server, so its findings are true for
// the server, too.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// Problem is something that should not be.
type Problem struct {
	Session session.Key
	Seq     int64 // of the entry that it is about, 0 for the whole session
	What    string
	// Repaired means that it is not there any more.
	Repaired bool
	repair   repairKind
}

func (p Problem) String() string {
	where := fmt.Sprintf("%s/%s/%s", p.Session.App, p.Session.User, p.Session.ID)
	if p.Seq > 0 {
		where += fmt.Sprintf(" #%d", p.Seq)
	}
	if p.Repaired {
		return where + ": repaired: " + p.What
	}
	return where + ": " + p.What
}

// repairKind is what can be done about a problem.
type repairKind int

const (
	none    repairKind = iota
	answer             // close the open calls
	rebuild            // rebuild what follows from the log
)

// Report is what was found.
type Report struct {
	Sessions, Events, Runs int
	Problems               []Problem
}

// Left is how many problems are not repaired.
func (r *Report) Left() int {
	n := 0
	for _, p := range r.Problems {
		if !p.Repaired {
			n++
		}
	}
	return n
}

const page = 500

// Examine looks at every session, and repairs what it can if repair is true.
func Examine(ctx context.Context, store session.Store, repair bool) (*Report, error) {
	report := &Report{}
	for token := ""; ; {
		keys, next, err := store.Walk(ctx, session.Page{Size: page, Token: token})
		if err != nil {
			return report, fmt.Errorf("list the sessions: %w", err)
		}
		for _, key := range keys {
			if err := examine(ctx, store, key, repair, report); err != nil && !errors.Is(err, session.ErrNotFound) {
				return report, fmt.Errorf("examine %s/%s/%s: %w", key.App, key.User, key.ID, err)
			}
		}
		if token = next; token == "" {
			return report, nil
		}
	}
}

// examine looks at one session.
func examine(ctx context.Context, store session.Store, key session.Key, repair bool, report *Report) error {
	problems, s, runs, err := look(ctx, store, key)
	if err != nil {
		return err
	}
	report.Sessions++
	report.Events += len(s.Entries)
	report.Runs += len(runs)
	if repair && len(problems) > 0 {
		if err := repairAll(ctx, store, s, problems); err != nil {
			return err
		}
		after, _, _, err := look(ctx, store, key)
		if err != nil {
			return err
		}
		left := map[string]bool{}
		for _, p := range after {
			left[p.What] = true
		}
		for i := range problems {
			problems[i].Repaired = !left[problems[i].What]
		}
	}
	report.Problems = append(report.Problems, problems...)
	return nil
}

func look(ctx context.Context, store session.Store, key session.Key) ([]Problem, *session.Session, []*session.Run, error) {
	// The runs first: what they have stored by then is in the log.
	var runs []*session.Run
	for token := ""; ; {
		list, next, err := store.ListRuns(ctx, key, session.Page{Size: page, Token: token})
		if err != nil {
			return nil, nil, nil, err
		}
		runs = append(runs, list...)
		if token = next; token == "" {
			break
		}
	}
	s, err := store.Get(ctx, key, session.Read{Initial: true, Damaged: true})
	if err != nil {
		return nil, nil, nil, err
	}
	return Check(s, runs), s, runs, nil
}

// repairAll repairs the problems that can be repaired.
func repairAll(ctx context.Context, store session.Store, s *session.Session, problems []Problem) error {
	done := map[repairKind]bool{none: true}
	for _, p := range problems {
		if done[p.repair] {
			continue
		}
		done[p.repair] = true
		switch p.repair {
		case answer:
			entries, err := run.CloseCalls(s.Entries, time.Now())
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := store.Patch(ctx, s.Key, e); err != nil {
					return err
				}
			}
		case rebuild:
			_, err := store.Rebuild(ctx, s.Key)
			if _, damaged := errors.AsType[*session.CorruptError](err); err != nil && !damaged && !errors.Is(err, session.ErrFenced) {
				return err
			}
		case none:
		}
	}
	return nil
}

package parley

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/parley-run/parley/internal/doctor"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// Diagnosis is the result of Doctor.
type Diagnosis struct {
	Sessions, Events, Runs int // that were examined
	Problems               []Problem
}

// Problem is something in a database that should not be there.
type Problem struct {
	Session session.Key
	Seq     int64 // the event, 0 for the whole session
	Text    string
	// Repaired means that the problem was there and is not any more.
	Repaired bool
}

// Unrepaired returns the number of problems that are still there.
func (d *Diagnosis) Unrepaired() int {
	n := 0
	for _, p := range d.Problems {
		if !p.Repaired {
			n++
		}
	}
	return n
}

// Doctor checks the sessions in a database and, with repair, repairs what can be
// repaired. Servers may use the database at the same time. When it fails halfway, it
// also returns what it has found until then.
func Doctor(ctx context.Context, sessionDBURL string, repair bool) (*Diagnosis, error) {
	if inMemory(sessionDBURL) {
		return nil, errors.New("parley: there is nothing to examine: sessions in memory are gone with their server")
	}
	store, err := openExisting(ctx, sessionDBURL)
	if err != nil {
		return nil, inField("Sessions.URL", err)
	}
	defer store.Close()
	report, err := doctor.Examine(ctx, store, repair)
	found := &Diagnosis{Sessions: report.Sessions, Events: report.Events, Runs: report.Runs}
	for _, p := range report.Problems {
		found.Problems = append(found.Problems, Problem{Session: p.Session, Seq: p.Seq, Text: p.What, Repaired: p.Repaired})
	}
	if err != nil {
		return found, fmt.Errorf("parley: %w", err)
	}
	return found, nil
}

// Move moves the users whose database changes when one is added to a list of databases,
// and completes a move that was interrupted. sessionDBURL is the whole list, as in
// SessionConfig.URL, which all servers must have by then; they may run at the same time.
// progress, unless nil, is called after every step.
func Move(ctx context.Context, sessionDBURL string, progress func(session.Moved)) (session.Moved, error) {
	if len(sessionrt.URLs(sessionDBURL)) < 2 {
		return session.Moved{}, wrong("Sessions.URL", "there is nothing to move: it must be a list of databases, separated by commas")
	}
	driver, err := driverOf(sessionDBURL)
	if err != nil {
		return session.Moved{}, inField("Sessions.URL", err)
	}
	moved, err := driver.Move(ctx, sessionDBURL, session.Options{Owner: owner(), Log: slog.New(slog.DiscardHandler)}, progress)
	if err != nil {
		return moved, fmt.Errorf("parley: %w", err)
	}
	return moved, nil
}

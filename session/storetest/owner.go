package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/parley-run/parley/session"
)

// taker adapts a store to most tests here, which are about ownership and not
// about runs: it acquires sessions, even those that have an owner, and releases
// them. For that, the leases of the store have to end at once.
type taker struct{ session.Store }

var runs atomic.Int64

// Create makes a session of its parts.
func (s taker) Create(ctx context.Context, key session.Key, state session.State, log []*session.Entry) (*session.Session, error) {
	return s.Store.Create(ctx, session.NewSession{Key: key, State: state, Log: log})
}

// Acquire takes the session: from a run, or with a new one.
func (s taker) Acquire(ctx context.Context, key session.Key) (*session.Session, int64, error) {
	for {
		begun, err := s.Claim(ctx, key, session.Read{})
		if errors.Is(err, session.ErrIdle) {
			begun, err = s.Begin(ctx, session.NewRun{ID: fmt.Sprint("run-", runs.Add(1)), Key: key, Busy: session.Reject, Request: noRequest})
			if _, busy := errors.AsType[*session.BusyError](err); busy {
				continue // another caller has begun one in the meantime
			}
		}
		if err != nil {
			return nil, 0, err
		}
		return begun.Session, begun.Run.Epoch, nil
	}
}

func noRequest() ([]byte, error) { return []byte("{}"), nil }

// Append writes entries and no notes.
func (s taker) Append(ctx context.Context, key session.Key, epoch int64, entries ...*session.Entry) error {
	return s.Store.Append(ctx, key, epoch, nil, entries...)
}

// Release ends the run that has the session under that epoch, if any.
func (s taker) Release(ctx context.Context, key session.Key, epoch int64) error {
	_, err := s.End(ctx, key, epoch, session.End{Status: session.Completed})
	if errors.Is(err, session.ErrFenced) {
		return nil
	}
	return err
}

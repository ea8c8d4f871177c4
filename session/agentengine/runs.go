package agentengine

import (
	"context"
	"errors"

	"github.com/parley-run/parley/session"
)

// Begin implements session.Runs.
func (s *backend) Begin(ctx context.Context, req session.NewRun) (*session.Begun, error) {
	m, release, err := s.hold(ctx, req.Key)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := s.sync(ctx, m); err != nil {
		return nil, err
	}
	if err := s.seal(ctx, m); err != nil {
		return nil, err
	}
	if req.Message == nil || !s.Begins(&req) {
		return s.Backend.Begin(ctx, req)
	}
	// The mirror is held, so nothing can change in between.
	message := []*session.Entry{req.Message}
	var begun *session.Begun
	err = s.extend(ctx, m, message, func() (err error) {
		begun, err = s.Backend.Begin(ctx, req)
		return err
	})
	return begun, err
}

// Look implements session.Runs.
func (s *backend) Look(ctx context.Context, req session.NewRun) (*session.Run, error) {
	if err := s.need(ctx, req.Key); err != nil {
		return nil, err
	}
	return s.Backend.Look(ctx, req)
}

// Claim implements session.Leases.
func (s *backend) Claim(ctx context.Context, key session.Key, read session.Read) (*session.Begun, error) {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := s.sync(ctx, m); err != nil {
		return nil, err
	}
	return s.Backend.Claim(ctx, key, read)
}

// Append implements session.Leases.
func (s *backend) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	return s.write(ctx, m, epoch, notes, entries)
}

// write appends the entries of a run at the service, and then in the memory. The
// mirror must be held.
func (s *backend) write(ctx context.Context, m *mirror, epoch int64, notes session.Journal, entries []*session.Entry) error {
	if len(entries) == 0 {
		return s.Backend.Append(ctx, m.key, epoch, notes)
	}
	if err := s.Backend.Append(ctx, m.key, epoch, nil); err != nil { // whether the session is the writer's
		return err
	}
	if _, err := s.settle(ctx, m, epoch); err != nil {
		return s.lost(ctx, m, err)
	}
	if err := s.send(ctx, m, entries); err != nil {
		return s.lost(ctx, m, err)
	}
	s.grown(m, entries)
	return s.apply(m.key, entries, func() error { return s.Backend.Append(ctx, m.key, epoch, notes, entries...) })
}

// settle determines whether uncertain events are stored, so that new ones follow
// them. It reports whether some are new to the memory. The mirror must be held.
func (s *backend) settle(ctx context.Context, m *mirror, epoch int64) (fresh bool, err error) {
	if !m.doubt.Load() {
		return false, nil
	}
	before, err := s.Backend.Get(ctx, m.key, session.Read{NoEvents: true})
	if err != nil {
		return false, err
	}
	if err := s.sync(ctx, m); err != nil {
		return false, err
	}
	if err := s.Backend.Append(ctx, m.key, epoch, nil); err != nil { // it may be another session by now
		return false, err
	}
	after, err := s.Backend.Get(ctx, m.key, session.Read{NoEvents: true})
	return err == nil && after.Seq != before.Seq, err
}

// lost converts the failure of a write: if another process has deleted the session,
// the run no longer owns it.
func (s *backend) lost(ctx context.Context, m *mirror, err error) error {
	if !errors.Is(err, session.ErrNotFound) {
		return err
	}
	return errors.Join(session.ErrFenced, s.unload(ctx, m))
}

// errUnseen refuses the end of a run that has not seen the whole log, because it
// might answer calls that have an answer.
var errUnseen = errors.New("the log has entries that the end of the run does not account for")

// sendEnd appends the last entries of a run at the service.
func (s *backend) sendEnd(ctx context.Context, m *mirror, epoch int64, entries []*session.Entry) error {
	fresh, err := s.settle(ctx, m, epoch)
	if err != nil {
		return err
	}
	if fresh {
		return errUnseen
	}
	return s.send(ctx, m, entries)
}

// End implements session.Leases. If the service does not accept the last entries,
// the run ends as failed, because no other process could end it. The next run
// closes its open calls.
func (s *backend) End(ctx context.Context, key session.Key, epoch int64, end session.End) (queued bool, err error) {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return false, err
	}
	defer release()
	if len(end.Entries) == 0 || end.Discard {
		return s.Backend.End(ctx, key, epoch, end)
	}
	if err := s.Backend.Append(ctx, key, epoch, nil); err != nil {
		return false, err
	}
	if failed := s.sendEnd(ctx, m, epoch, end.Entries); failed != nil {
		if failed = s.lost(ctx, m, failed); errors.Is(failed, session.ErrFenced) {
			return false, failed
		}
		m.loose = true
		end.Entries, end.Status = nil, session.Failed
		if end.Failure == nil {
			end.Failure = &session.Failure{Type: "store", Message: "could not end the run: the session store failed"}
		}
		queued, err := s.Backend.End(ctx, key, epoch, end)
		return queued, errors.Join(failed, err)
	}
	s.grown(m, end.Entries)
	err = s.apply(key, end.Entries, func() error {
		queued, err = s.Backend.End(ctx, key, epoch, end)
		return err
	})
	return queued, err
}

// HandOver implements session.Leases.
func (s *backend) HandOver(ctx context.Context, key session.Key, epoch int64) error {
	_, release, err := s.hold(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	return s.Backend.HandOver(ctx, key, epoch)
}

// StopRun implements session.Runs, for runs of this process.
func (s *backend) StopRun(ctx context.Context, key session.Key, id string, how session.Stop) (*session.Run, error) {
	if err := s.need(ctx, key); err != nil {
		return nil, err
	}
	return s.Backend.StopRun(ctx, key, id, how)
}

// Run implements session.Runs, for runs of this process. While one is active, its
// first entry may be uncertain.
func (s *backend) Run(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	if there, busy := s.Holds(key); !there || busy && s.doubts(key) {
		if err := s.refresh(ctx, key); err != nil {
			return nil, err
		}
	}
	return s.Backend.Run(ctx, key, id)
}

// ListRuns implements session.Runs, for runs of this process.
func (s *backend) ListRuns(ctx context.Context, key session.Key, page session.Page) ([]*session.Run, string, error) {
	if err := s.need(ctx, key); err != nil {
		return nil, "", err
	}
	return s.Backend.ListRuns(ctx, key, page)
}

// RecentRuns implements session.Runs, for runs of this process.
func (s *backend) RecentRuns(ctx context.Context, app, user string, sessions, each int) ([]*session.Run, error) {
	return s.Backend.RecentRuns(ctx, app, user, sessions, each)
}

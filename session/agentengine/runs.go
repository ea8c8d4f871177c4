package agentengine

import (
	"context"
	"errors"

	"github.com/parley-run/parley/session"
)

// Begin adds a run.
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
		return s.Memory.Begin(ctx, req)
	}
	// The mirror is held: nothing can get in between.
	message := []*session.Entry{req.Message}
	var begun *session.Begun
	err = s.extend(ctx, m, message, func() (err error) {
		begun, err = s.Memory.Begin(ctx, req)
		return err
	})
	return begun, err
}

// Look tells what Begin would say.
func (s *backend) Look(ctx context.Context, req session.NewRun) (*session.Run, error) {
	if err := s.need(ctx, req.Key); err != nil {
		return nil, err
	}
	return s.Memory.Look(ctx, req)
}

// Claim takes a run that has no owner.
func (s *backend) Claim(ctx context.Context, key session.Key, read session.Read) (*session.Begun, error) {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := s.sync(ctx, m); err != nil {
		return nil, err
	}
	return s.Memory.Claim(ctx, key, read)
}

// Append writes under an epoch.
func (s *backend) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	return s.write(ctx, m, epoch, notes, entries)
}

// write has the service append what a run says, and then the memory. It wants
// the mirror held.
func (s *backend) write(ctx context.Context, m *mirror, epoch int64, notes session.Journal, entries []*session.Entry) error {
	if len(entries) == 0 {
		return s.Memory.Append(ctx, m.key, epoch, notes)
	}
	if err := s.Memory.Append(ctx, m.key, epoch, nil); err != nil { // whether the session is the writer's
		return err
	}
	if _, err := s.settle(ctx, m, epoch); err != nil {
		return s.lost(ctx, m, err)
	}
	if err := s.send(ctx, m, entries); err != nil {
		return s.lost(ctx, m, err)
	}
	s.grown(m, entries)
	return s.apply(m.key, entries, func() error { return s.Memory.Append(ctx, m.key, epoch, notes, entries...) })
}

// settle finds out what has become of what was sent before, if that is in doubt,
// so that what comes next is behind it. It reports whether some of it is new to
// the memory. The mirror must be held.
func (s *backend) settle(ctx context.Context, m *mirror, epoch int64) (fresh bool, err error) {
	if !m.doubt.Load() {
		return false, nil
	}
	before, err := s.Memory.Get(ctx, m.key, session.Read{NoEvents: true})
	if err != nil {
		return false, err
	}
	if err := s.sync(ctx, m); err != nil {
		return false, err
	}
	if err := s.Memory.Append(ctx, m.key, epoch, nil); err != nil { // it may be another session by now
		return false, err
	}
	after, err := s.Memory.Get(ctx, m.key, session.Read{NoEvents: true})
	return err == nil && after.Seq != before.Seq, err
}

// lost is what a failure to write means for a run: if the session has been
// deleted by another process, it is the run's no longer.
func (s *backend) lost(ctx context.Context, m *mirror, err error) error {
	if !errors.Is(err, session.ErrNotFound) {
		return err
	}
	return errors.Join(session.ErrFenced, s.unload(ctx, m))
}

// errUnseen refuses an end that was made without having seen all of the log. It
// might answer calls that have an answer.
var errUnseen = errors.New("the log has entries that the end of the run does not account for")

// sendEnd has the service append the last entries of a run.
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

// End ends a run. If the service does not accept its last entries, the run ends
// as failed, since no other process could end it. The next run closes what is
// open then.
func (s *backend) End(ctx context.Context, key session.Key, epoch int64, end session.End) (queued bool, err error) {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return false, err
	}
	defer release()
	if len(end.Entries) == 0 || end.Discard {
		return s.Memory.End(ctx, key, epoch, end)
	}
	if err := s.Memory.Append(ctx, key, epoch, nil); err != nil {
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
		queued, err := s.Memory.End(ctx, key, epoch, end)
		return queued, errors.Join(failed, err)
	}
	s.grown(m, end.Entries)
	err = s.apply(key, end.Entries, func() error {
		queued, err = s.Memory.End(ctx, key, epoch, end)
		return err
	})
	return queued, err
}

// HandOver ends a lease.
func (s *backend) HandOver(ctx context.Context, key session.Key, epoch int64) error {
	_, release, err := s.hold(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	return s.Memory.HandOver(ctx, key, epoch)
}

// StopRun asks for the end of a run of this process.
func (s *backend) StopRun(ctx context.Context, key session.Key, id string, how session.Stop) (*session.Run, error) {
	if err := s.need(ctx, key); err != nil {
		return nil, err
	}
	return s.Memory.StopRun(ctx, key, id, how)
}

// Run finds a run of this process. While one is at work, it may be in doubt where
// it begins in the log.
func (s *backend) Run(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	if there, busy := s.Holds(key); !there || busy && s.doubts(key) {
		if err := s.refresh(ctx, key); err != nil {
			return nil, err
		}
	}
	return s.Memory.Run(ctx, key, id)
}

// ListRuns lists the runs of a session that this process knows.
func (s *backend) ListRuns(ctx context.Context, key session.Key, page session.Page) ([]*session.Run, string, error) {
	if err := s.need(ctx, key); err != nil {
		return nil, "", err
	}
	return s.Memory.ListRuns(ctx, key, page)
}

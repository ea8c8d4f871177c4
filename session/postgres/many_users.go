package postgres

import (
	"context"
	"errors"

	"github.com/parley-run/parley/session"
)

// What belongs to one user.

// Create implements session.Sessions.
func (m *many) Create(ctx context.Context, n session.NewSession) (*session.Session, error) {
	made, err := route(ctx, m, n.Key, failed[*session.Session](), func(ctx context.Context, s *backend) (*session.Session, error) { return s.Create(ctx, n) })
	if err == nil {
		m.share(ctx, n.Key, n.State, nil)
	}
	return made, err
}

// Get implements session.Sessions.
func (m *many) Get(ctx context.Context, key session.Key, read session.Read) (*session.Session, error) {
	return route(ctx, m, key, failed[*session.Session](session.ErrNotFound), func(ctx context.Context, s *backend) (*session.Session, error) { return s.Get(ctx, key, read) })
}

// page is one of a list.
type page[T any] struct {
	list []T
	next string
}

// paged calls f, which returns a page, with the database of a user.
func paged[T any](ctx context.Context, m *many, key session.Key, absent func(page[T], error) bool, f func(context.Context, *backend) ([]T, string, error)) ([]T, string, error) {
	p, err := route(ctx, m, key, absent, func(ctx context.Context, s *backend) (p page[T], err error) {
		p.list, p.next, err = f(ctx, s)
		return p, err
	})
	return p.list, p.next, err
}

// emptyPage is empty for a page.
func emptyPage[T any](p page[T], err error) bool { return empty(p.list, err) }

// List implements session.Sessions.
func (m *many) List(ctx context.Context, app, user string, page session.Page) ([]*session.Session, string, error) {
	return paged(ctx, m, session.Key{App: app, User: user}, emptyPage[*session.Session], func(ctx context.Context, s *backend) ([]*session.Session, string, error) {
		return s.List(ctx, app, user, page)
	})
}

// Patch implements session.Sessions.
func (m *many) Patch(ctx context.Context, key session.Key, entry *session.Entry) error {
	err := do(ctx, m, key, failure(session.ErrNotFound), func(ctx context.Context, s *backend) error { return s.Patch(ctx, key, entry) })
	if err == nil {
		m.share(ctx, key, nil, []*session.Entry{entry})
	}
	return err
}

// Delete implements session.Sessions.
func (m *many) Delete(ctx context.Context, key session.Key) error {
	return do(ctx, m, key, always, func(ctx context.Context, s *backend) error { return s.Delete(ctx, key) })
}

// Begin implements session.Runs.
func (m *many) Begin(ctx context.Context, run session.NewRun) (*session.Begun, error) {
	begun, err := route(ctx, m, run.Key, failed[*session.Begun](session.ErrNotFound), func(ctx context.Context, s *backend) (*session.Begun, error) { return s.Begin(ctx, run) })
	if err == nil && begun.Session != nil && run.Message != nil {
		m.share(ctx, run.Key, nil, []*session.Entry{run.Message})
	}
	return begun, err
}

// Look implements session.Runs.
func (m *many) Look(ctx context.Context, run session.NewRun) (*session.Run, error) {
	return route(ctx, m, run.Key, failed[*session.Run](session.ErrNotFound), func(ctx context.Context, s *backend) (*session.Run, error) { return s.Look(ctx, run) })
}

// Run implements session.Runs.
func (m *many) Run(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	return route(ctx, m, key, failed[*session.Run](session.ErrNotFound), func(ctx context.Context, s *backend) (*session.Run, error) { return s.Run(ctx, key, id) })
}

// ListRuns implements session.Runs.
func (m *many) ListRuns(ctx context.Context, key session.Key, p session.Page) ([]*session.Run, string, error) {
	return paged(ctx, m, key, failed[page[*session.Run]](session.ErrNotFound), func(ctx context.Context, s *backend) ([]*session.Run, string, error) {
		return s.ListRuns(ctx, key, p)
	})
}

// RecentRuns implements session.Runs.
func (m *many) RecentRuns(ctx context.Context, app, user string, sessions, each int) ([]*session.Run, error) {
	return route(ctx, m, session.Key{App: app, User: user}, empty[*session.Run], func(ctx context.Context, s *backend) ([]*session.Run, error) {
		return s.RecentRuns(ctx, app, user, sessions, each)
	})
}

// StopRun implements session.Runs.
func (m *many) StopRun(ctx context.Context, key session.Key, id string, how session.Stop) (*session.Run, error) {
	return route(ctx, m, key, failed[*session.Run](session.ErrNotFound), func(ctx context.Context, s *backend) (*session.Run, error) { return s.StopRun(ctx, key, id, how) })
}

// Claim implements session.Leases.
func (m *many) Claim(ctx context.Context, key session.Key, read session.Read) (*session.Begun, error) {
	return route(ctx, m, key, failed[*session.Begun](session.ErrNotFound), func(ctx context.Context, s *backend) (*session.Begun, error) { return s.Claim(ctx, key, read) })
}

// Append implements session.Leases.
func (m *many) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	err := do(ctx, m, key, failure(session.ErrFenced), func(ctx context.Context, s *backend) error { return s.Append(ctx, key, epoch, notes, entries...) })
	if err == nil {
		m.share(ctx, key, nil, entries)
	}
	return err
}

// End implements session.Leases.
func (m *many) End(ctx context.Context, key session.Key, epoch int64, end session.End) (bool, error) {
	queued, err := route(ctx, m, key, failed[bool](session.ErrFenced), func(ctx context.Context, s *backend) (bool, error) { return s.End(ctx, key, epoch, end) })
	if err == nil {
		m.share(ctx, key, nil, end.Entries)
	}
	return queued, err
}

// HandOver implements session.Leases.
func (m *many) HandOver(ctx context.Context, key session.Key, epoch int64) error {
	return do(ctx, m, key, always, func(ctx context.Context, s *backend) error { return s.HandOver(ctx, key, epoch) })
}

// Expire implements session.Upkeep.
func (m *many) Expire(ctx context.Context, key session.Key, seq int64, runs []string, why *session.Failure, entries ...*session.Entry) error {
	return do(ctx, m, key, failure(session.ErrFenced, session.ErrNotFound), func(ctx context.Context, s *backend) error {
		return s.Expire(ctx, key, seq, runs, why, entries...)
	})
}

// Rebuild implements session.Upkeep.
func (m *many) Rebuild(ctx context.Context, key session.Key) (bool, error) {
	return route(ctx, m, key, failed[bool](session.ErrNotFound), func(ctx context.Context, s *backend) (bool, error) { return s.Rebuild(ctx, key) })
}

// Secret implements session.Secrets.
func (m *many) Secret(ctx context.Context, id session.SecretID) (*session.Secret, error) {
	return route(ctx, m, id.Key(), failed[*session.Secret](session.ErrNoSecret), func(ctx context.Context, s *backend) (*session.Secret, error) { return s.Secret(ctx, id) })
}

// PutSecret implements session.Secrets.
func (m *many) PutSecret(ctx context.Context, secret *session.Secret) (int64, error) {
	return route(ctx, m, secret.Key(), failed[int64](session.ErrNotFound, session.ErrChanged), func(ctx context.Context, s *backend) (int64, error) { return s.PutSecret(ctx, secret) })
}

// DeleteSecret implements session.Secrets.
func (m *many) DeleteSecret(ctx context.Context, id session.SecretID) error {
	return do(ctx, m, id.Key(), always, func(ctx context.Context, s *backend) error { return s.DeleteSecret(ctx, id) })
}

// ListSecrets implements session.Secrets.
func (m *many) ListSecrets(ctx context.Context, app, user string) ([]*session.Secret, error) {
	return route(ctx, m, session.Key{App: app, User: user}, empty[*session.Secret], func(ctx context.Context, s *backend) ([]*session.Secret, error) {
		return s.ListSecrets(ctx, app, user)
	})
}

// Remember implements session.Memories.
func (m *many) Remember(ctx context.Context, key session.Key, all []*session.Remembered) error {
	return do(ctx, m, key, failure(session.ErrNotFound), func(ctx context.Context, s *backend) error { return s.Remember(ctx, key, all) })
}

// Recall implements session.Memories.
func (m *many) Recall(ctx context.Context, app, user string, words []string, limit int) ([]*session.Remembered, error) {
	return route(ctx, m, session.Key{App: app, User: user}, empty[*session.Remembered], func(ctx context.Context, s *backend) ([]*session.Remembered, error) {
		return s.Recall(ctx, app, user, words, limit)
	})
}

// ListMemories implements session.MemoryEditor.
func (m *many) ListMemories(ctx context.Context, app, user string, words []string, page session.Page) ([]*session.ListedMemory, string, error) {
	return paged(ctx, m, session.Key{App: app, User: user}, emptyPage[*session.ListedMemory], func(ctx context.Context, s *backend) ([]*session.ListedMemory, string, error) {
		return s.ListMemories(ctx, app, user, words, page)
	})
}

// EditMemory implements session.MemoryEditor.
func (m *many) EditMemory(ctx context.Context, app, user string, id int64, content []byte, words []string) error {
	return do(ctx, m, session.Key{App: app, User: user}, failure(session.ErrNotFound), func(ctx context.Context, s *backend) error {
		return s.EditMemory(ctx, app, user, id, content, words)
	})
}

// DeleteMemory implements session.MemoryEditor.
func (m *many) DeleteMemory(ctx context.Context, app, user string, id int64) error {
	return do(ctx, m, session.Key{App: app, User: user}, failure(session.ErrNotFound), func(ctx context.Context, s *backend) error {
		return s.DeleteMemory(ctx, app, user, id)
	})
}

// Forget implements session.Memories.
func (m *many) Forget(ctx context.Context, app, user string) error {
	return do(ctx, m, session.Key{App: app, User: user}, always, func(ctx context.Context, s *backend) error { return s.Forget(ctx, app, user) })
}

// PutRecordings implements session.Recordings.
func (m *many) PutRecordings(ctx context.Context, list []*session.Recording) error {
	bySlot := map[int32][]*session.Recording{}
	for _, r := range list {
		slot := slotOf(r.Key)
		bySlot[slot] = append(bySlot[slot], r)
	}
	var errs []error
	for _, some := range bySlot {
		errs = append(errs, do(ctx, m, some[0].Key, always, func(ctx context.Context, s *backend) error { return s.PutRecordings(ctx, some) }))
	}
	return errors.Join(errs...)
}

// Recordings implements session.Recordings.
func (m *many) Recordings(ctx context.Context, key session.Key, run string) ([]*session.Recording, error) {
	return route(ctx, m, key, empty[*session.Recording], func(ctx context.Context, s *backend) ([]*session.Recording, error) {
		return s.Recordings(ctx, key, run)
	})
}

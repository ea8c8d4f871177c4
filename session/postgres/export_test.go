package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// MigrationLock is that of the schema.
const MigrationLock = migrationLock

// ListensAt tells where the connection that listens goes.
func ListensAt(url string) string {
	p, err := parse(url)
	if err != nil {
		return "error"
	}
	if p.listen == nil {
		return "none"
	}
	at := []string{fmt.Sprint(p.listen.Host, ":", p.listen.Port)}
	for _, f := range p.listen.Fallbacks {
		if one := fmt.Sprint(f.Host, ":", f.Port); one != at[len(at)-1] {
			at = append(at, one)
		}
	}
	if p.listen.ValidateConnect != nil {
		at = append(at, "read-write")
	}
	for name := range p.listen.RuntimeParams {
		if strings.HasPrefix(name, "pool_") || name == listenHosts {
			at = append(at, name)
		}
	}
	return strings.Join(at, " ")
}

// Backend is for tests that look into it.
type Backend = backend

// OpenBackend is Open, for the same tests.
var OpenBackend = open

// SetNewPool has backends take their connections from elsewhere.
func SetNewPool(f func(context.Context, *pgxpool.Config) (*pgxpool.Pool, func(), error)) { newPool = f }

// Stores that tests open are patient: on a busy machine, it takes long to make the tables.
func init() { patience = 2 * time.Minute }

// SetPatience is for tests that do not have as much.
func (s *backend) SetPatience(d time.Duration) { s.patience.Store(int64(d)) }

// Channel is that of notifications.
func (s *backend) Channel() string { return s.channel }

// FoldPause is the least time between two sums of usage.
const FoldPause = foldPause

// Away reports what is known to fail.
func (s *backend) Away() (reads, writes bool) { return s.db.Outage() != nil, s.outage(true) != nil }

// AlwaysTogether has statements for several changes also make single ones.
func (s *backend) AlwaysTogether() { s.group.always = true }

// WaitForGroup has no transaction begin beside another one, also on a machine that is busy.
func (s *backend) WaitForGroup() { s.group.longest = time.Hour }

// Fold sums usage up.
func (s *backend) Fold() { s.fold() }

// Queued is how many changes queue.
func (s *backend) Queued() int {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	return len(s.group.queue)
}

// SecondAt is how many changes queue when a second transaction begins beside a small one.
const SecondAt = secondAt

// HoldGroup has changes queue until release is called. queued is how many do.
func (s *backend) HoldGroup() (queued func() int, release func()) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	if s.group.busy > 0 {
		panic("the group is in use")
	}
	s.group.busy = most
	return s.Queued, func() {
		s.group.mu.Lock()
		s.group.busy = 1
		s.group.mu.Unlock()
		s.group.leave()
	}
}

// For tests that look at how the database does it.
const (
	SQLList   = sqlList
	SQLAppend = sqlAppendEvents
)

// SQLFindRuns are the statements that list the runs of all sessions, and the number of
// their parameters.
var SQLFindRuns = map[string]int{sqlFindRunsOfApp: 5, sqlFindRunsOfUser: 5}

// SQLTogether are the statements that make changes of several sessions, and the number
// of their parameters.
var SQLTogether = map[string]int{
	sqlAppendTogether: 7, sqlAppendStateTogether: 10, sqlEndTogether: 13, sqlEndStateTogether: 16, sqlTakeTogether: 17, sqlTakeStateTogether: 20,
}

// OpenMany opens several databases, for tests that look into them.
func OpenMany(ctx context.Context, list string, o session.Options) (*Many, error) {
	return openMany(ctx, sessionrt.URLs(list), o)
}

// Move is for the same tests.
var Move = moveUsers

// Many is a store in several databases.
type Many = many

// SetWait is for tests on a machine that is busy.
func (m *many) SetWait(d time.Duration) { m.wait = d }

// SetPatience is that of all databases.
func (m *many) SetPatience(d time.Duration) {
	for _, s := range m.members {
		s.SetPatience(d)
	}
}

// AlwaysTogether is that of all databases.
func (m *many) AlwaysTogether() {
	for _, s := range m.members {
		s.AlwaysTogether()
	}
}

// Leave begins to move the user of a key to another database, and does not complete
// it, as if the process had been killed.
func (m *many) Leave(ctx context.Context, key session.Key) error {
	slot := slotOf(key)
	from, err := m.home(slot)
	if err != nil {
		return err
	}
	for _, to := range m.members {
		if to != from {
			return from.leave(ctx, []int32{slot}, to.member.name, nil)
		}
	}
	return nil
}

// GetThen is Get with a function that is called each time a database has answered.
func (m *many) GetThen(ctx context.Context, key session.Key, then func()) (*session.Session, error) {
	return route(ctx, m, key, failed[*session.Session](session.ErrNotFound), func(ctx context.Context, s *backend) (*session.Session, error) {
		defer then()
		return s.Get(ctx, key, session.Read{})
	})
}

// HomeOf returns the number of the database of a user.
func (m *many) HomeOf(key session.Key) int64 {
	s, err := m.home(slotOf(key))
	if err != nil {
		return -1
	}
	return s.member.number
}

// Tables are the tables whose rows move.
func Tables() (names []string) {
	for _, k := range kinds {
		names = append(names, table(k.table))
	}
	return append(names, "parley_usage", "parley_usage_log", "parley_model_usage")
}

// Counted returns the last numbers that were assigned.
func (s *backend) Counted(ctx context.Context) (map[string]int64, error) { return s.counted(ctx) }

// Advance has the database assign greater numbers.
func (s *backend) Advance(ctx context.Context, past map[string]int64) error {
	return s.advance(ctx, past)
}

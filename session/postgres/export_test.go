package postgres

import "time"

// Backend is for tests that look into it.
type Backend = backend

// OpenBackend is Open, for the same tests.
var OpenBackend = open

// SetPatience is for tests that do not have as much.
func (s *backend) SetPatience(d time.Duration) { s.patience = d }

// Away reports what is known to fail.
func (s *backend) Away() (reads, writes bool) { return s.db.Outage() != nil, s.outage(true) != nil }

// AlwaysTogether has statements for several changes also make single ones.
func (s *backend) AlwaysTogether() { s.group.always = true }

// Fold sums usage up.
func (s *backend) Fold() { s.fold() }

// HoldGroup has changes queue until release is called. queued is how many do.
func (s *backend) HoldGroup() (queued func() int, release func()) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	if s.group.busy {
		panic("the group is in use")
	}
	s.group.busy = true
	return func() int {
		s.group.mu.Lock()
		defer s.group.mu.Unlock()
		return len(s.group.queue)
	}, s.group.leave
}

// For tests that look at how the database does it.
const (
	SQLList   = sqlList
	SQLAppend = sqlAppendEvents
)

// SQLTogether are the statements that make changes of several sessions, and the number
// of their parameters.
var SQLTogether = map[string]int{
	sqlAppendTogether: 10, sqlEndTogether: 19, sqlTakeTogether: 11, sqlSessionsTogether: 6, sqlEntriesTogether: 6, sqlMessageTogether: 9,
}

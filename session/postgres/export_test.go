package postgres

import "time"

// SetPatience is for tests that do not have as much.
func (s *Store) SetPatience(d time.Duration) { s.patience = d }

// Away reports what is known to fail.
func (s *Store) Away() (reads, writes bool) { return s.db.Outage() != nil, s.outage(true) != nil }

// For tests that look at how the database does it.
const (
	SQLList   = sqlList
	SQLAppend = sqlAppendEvents
)

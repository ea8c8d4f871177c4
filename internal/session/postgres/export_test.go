package postgres

import "time"

// SetPatience is for tests that do not have as much.
func (s *Store) SetPatience(d time.Duration) { s.patience = d }

// For tests that look at how the database does it.
const (
	SQLList   = sqlList
	SQLAppend = sqlAppendEvents
)

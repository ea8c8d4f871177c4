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

// For tests that look at how the database does it.
const (
	SQLList   = sqlList
	SQLAppend = sqlAppendEvents
)

package postgres

// For tests that look at how the database does it.
const (
	SQLList   = sqlList
	SQLAppend = sqlAppendEvents
)

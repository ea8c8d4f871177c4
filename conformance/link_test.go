package conformance

import (
	_ "github.com/parley-run/parley/session/postgres" // for -session-db
	_ "github.com/parley-run/parley/session/sqlite"
)

package logins

import (
	_ "github.com/parley-run/parley/credential/openid"
	_ "github.com/parley-run/parley/session/postgres"
	_ "github.com/parley-run/parley/session/sqlite"
	_ "github.com/parley-run/parley/typescript"
)

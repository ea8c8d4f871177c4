//go:build race

package cli

// What the tests with the race detector use. The libraries of model providers take a
// minute to compile with it.

import (
	_ "github.com/parley-run/parley/devui"
	_ "github.com/parley-run/parley/model/offline"
	_ "github.com/parley-run/parley/session/sqlite"
	_ "github.com/parley-run/parley/telemetry"
	_ "github.com/parley-run/parley/typescript"
)

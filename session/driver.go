package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/parley-run/parley/internal/registry"
)

// Driver opens the stores of a URL scheme.
type Driver struct {
	// Open opens the store at url.
	Open func(ctx context.Context, url string, o Options) (Store, error)
	// Shared means that several processes may use one store: their runs are on
	// leases of Options.Lease, so that another process can take them over.
	// Otherwise, a store belongs to the process that has opened it.
	Shared bool
	// Volatile means that logins, API keys, memories and usage are lost when the
	// process ends.
	Volatile bool
	// File returns the file of a store that consists of one: other files are stored
	// next to it. nil means that there is none.
	File func(url string) (string, error)
}

// linked maps the schemes that Parley knows to the packages that register them.
var linked = map[string]string{
	"sqlite":      "session/sqlite",
	"postgres":    "session/postgres",
	"postgresql":  "session/postgres",
	"agentengine": "session/agentengine",
}

// Register adds a driver, for stores of a program or another package. It panics if
// the scheme is already registered. It is called from init functions.
func Register(scheme string, d Driver) { registry.Register(scheme, d) }

// DriverOf returns the driver of a URL. If Parley has a package for the scheme that
// is not imported, the error names it. The scheme memory, and an empty URL, have no
// driver; see NewMemory.
func DriverOf(url string) (Driver, error) {
	scheme, _, _ := strings.Cut(url, ":")
	if d, ok := registry.Find[Driver](scheme); ok {
		return d, nil
	}
	if path, ok := linked[scheme]; ok {
		return Driver{}, registry.Missing(scheme+":", path)
	}
	var others strings.Builder
	for _, other := range registry.Names[Driver]() {
		if linked[other] == "" {
			others.WriteString(", " + other + ":")
		}
	}
	return Driver{}, fmt.Errorf("it must be empty for memory, sqlite:///path/to/file.db, postgres://user@host/database, or agentengine://ID%s", &others)
}

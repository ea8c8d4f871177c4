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
	// Move moves users when databases are added to a list of URLs, and reports its
	// progress. nil means that a store is in one database.
	Move func(ctx context.Context, list string, o Options, progress func(Moved)) (Moved, error)
	// File returns the file of a store that consists of one: other files are stored
	// next to it. nil means that there is none.
	File func(url string) (string, error)
}

// Moved is what Driver.Move has moved so far. Users are moved in groups, which are
// called slots.
type Moved struct {
	Slots     int   `json:"slots"`     // that have to move
	DoneSlots int   `json:"doneSlots"` // that have moved
	Sessions  int64 `json:"sessions"`
	// DoneSessions counts sessions as they were when the move began.
	DoneSessions int64 `json:"doneSessions"`
	// Databases are set when the move is complete.
	Databases []MovedDatabase `json:"databases,omitempty"`
}

// MovedDatabase is a database after a move.
type MovedDatabase struct {
	Name  string `json:"name"`
	Slots int    `json:"slots"` // that it has
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
// driver; see package memstore. A URL may also name a library of another language, which
// is ignored, as in sqlite+aiosqlite:///sessions.db.
func DriverOf(url string) (Driver, error) {
	scheme, _, _ := strings.Cut(url, ":")
	if d, ok := registry.Find[Driver](scheme); ok {
		return d, nil
	}
	if dialect, _, ok := strings.Cut(scheme, "+"); ok && known(dialect) {
		d, err := DriverOf(dialect + ":")
		return d.renamed(scheme+"://", dialect+"://"), err
	}
	if path, ok := linked[scheme]; ok {
		return Driver{}, registry.Missing(scheme+":", path)
	}
	stores := []string{"sqlite:///path/to/file.db", "postgres://user@host/database", "agentengine://ID"}
	for _, other := range registry.Names[Driver]() {
		if linked[other] == "" {
			stores = append(stores, other+":")
		}
	}
	wrong := "it is not the URL of a store"
	if strings.HasPrefix(url, scheme+"://") { // nothing else of it, such as a password, is shown
		wrong = "there is no store for " + scheme + "://"
	}
	last := len(stores) - 1
	return Driver{}, fmt.Errorf("%s: it must be like %s or %s", wrong, strings.Join(stores[:last], ", "), stores[last])
}

// known reports whether there is a store of a scheme, which may not be linked.
func known(scheme string) bool {
	_, registered := registry.Find[Driver](scheme)
	return registered || linked[scheme] != ""
}

// renamed returns the driver for URLs that begin with another scheme.
func (d Driver) renamed(from, to string) Driver {
	usual := func(url string) string { return strings.ReplaceAll(url, from, to) }
	if open := d.Open; open != nil {
		d.Open = func(ctx context.Context, url string, o Options) (Store, error) { return open(ctx, usual(url), o) }
	}
	if move := d.Move; move != nil {
		d.Move = func(ctx context.Context, list string, o Options, progress func(Moved)) (Moved, error) {
			return move(ctx, usual(list), o, progress)
		}
	}
	if file := d.File; file != nil {
		d.File = func(url string) (string, error) { return file(usual(url)) }
	}
	return d
}

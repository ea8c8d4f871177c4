package storetest_test

import (
	"testing"
	"time"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/storetest"
)

// openStore opens a store that is to be tested, here the one in memory.
func openStore(t *testing.T, lease time.Duration) session.Store {
	t.Helper()
	store := memstore.New(lease)
	t.Cleanup(func() { store.Close() })
	return store
}

// A test of a store calls Run with a function that opens an empty store.
func ExampleRun() {
	_ = func(t *testing.T) { //nolint:thelper // it stands for a test
		storetest.Run(t, openStore)
	}
}

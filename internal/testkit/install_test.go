package testkit_test

import (
	"sync"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

// The tests of several packages may install what they need at the same time.
func TestInstallTogether(t *testing.T) {
	if testing.Short() || !testkit.MayInstall() {
		t.Skip("it installs a package of the system")
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if err := testkit.Install(t.Context(), "pgbouncer"); err != nil { // other tests need it
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

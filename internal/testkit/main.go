package testkit

import (
	"fmt"
	"os"
	"testing"

	"github.com/parley-run/parley/internal/testkit/leak"
)

// Main runs the tests of a package and then the given functions, and makes sure
// that no goroutine is left behind. It is all that a TestMain has to do.
func Main(m *testing.M, after ...func()) {
	code := m.Run()
	for _, f := range after {
		f()
	}
	if code == 0 { // tests that have failed may have left some
		if err := leak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err) //nolint:forbidigo // no test is there to be told
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // as a TestMain does
}

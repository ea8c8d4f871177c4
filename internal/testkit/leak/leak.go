// Package leak finds goroutines that tests have left.
package leak

import (
	"testing"

	"go.uber.org/goleak"
)

// ends are the functions whose goroutines end by themselves, later than goleak
// waits: after an error, net/http keeps a connection half open for half a second.
var ends = goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")

// Find returns an error that names the goroutines that were left.
func Find() error { return goleak.Find(ends) }

// Main is a TestMain that fails if the tests have left goroutines.
func Main(m *testing.M) { goleak.VerifyTestMain(m, ends) }

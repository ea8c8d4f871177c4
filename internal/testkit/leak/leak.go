// Package leak finds goroutines that tests have left.
package leak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// ends are the functions whose goroutines end by themselves, later than goleak
// waits: after an error, net/http keeps a connection half open for half a second.
var ends = goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")

// patience is how long goroutines have to end. goleak alone waits for less than half a
// second, in which a goroutine may not run at all on a busy machine.
const patience = time.Minute

// Find returns an error that names the goroutines that were left.
func Find() error {
	late := time.Now().Add(patience)
	for {
		if err := goleak.Find(ends); err == nil || time.Now().After(late) {
			return err
		}
	}
}

// Main is a TestMain that fails if the tests have left goroutines.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Fprintln(os.Stderr, err) //nolint:forbidigo // no test is there to be told
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // as a TestMain does
}

package server

import (
	"net/http"
	"testing"
)

// Headers are looked up by these names as they are: net/http keeps them under no
// other spelling.
func TestHeaderNamesAreCanonical(t *testing.T) {
	for _, name := range []string{requestIDHeader, runHeader, concurrencyHeader, onDisconnectHeader, idempotencyHeader, preferHeader} {
		if want := http.CanonicalHeaderKey(name); name != want {
			t.Errorf("%s is kept as %s", name, want)
		}
	}
}

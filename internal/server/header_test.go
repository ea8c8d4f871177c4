package server

import (
	"net/http"
	"testing"
)

// header looks these names up as they are: net/http stores only the canonical spelling.
func TestHeaderNamesAreCanonical(t *testing.T) {
	for _, name := range []string{requestIDHeader, runHeader, concurrencyHeader, onDisconnectHeader, idempotencyHeader, preferHeader} {
		if want := http.CanonicalHeaderKey(name); name != want {
			t.Errorf("%s is kept as %s", name, want)
		}
	}
}

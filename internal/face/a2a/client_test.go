package a2a_test

import (
	"testing"

	"github.com/parley-run/parley/internal/testkit/faceclient"
)

// TestClients holds conversations with the published clients.
func TestClients(t *testing.T) {
	t.Parallel()
	faceclient.Run(t, "testdata/a2a.test.js")
}

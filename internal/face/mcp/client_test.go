package mcp_test

import (
	"testing"

	"github.com/parley-run/parley/internal/testkit/faceclient"
)

// TestClients holds conversations with the published client.
func TestClients(t *testing.T) {
	t.Parallel()
	faceclient.Run(t, "testdata/mcp.test.js")
}

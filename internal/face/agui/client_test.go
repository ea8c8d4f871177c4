package agui_test

import (
	"testing"

	"github.com/parley-run/parley/internal/testkit/faceclient"
)

// TestClients holds conversations with the clients that others have published.
func TestClients(t *testing.T) {
	t.Parallel()
	faceclient.Run(t, "testdata/agui.test.js")
}

// TestCopilotKit holds conversations through the runtime of CopilotKit.
func TestCopilotKit(t *testing.T) {
	t.Parallel()
	faceclient.Run(t, "testdata/copilotkit/copilotkit.test.js")
}

package openai_test

import (
	"testing"

	"github.com/parley-run/parley/internal/testkit/faceclient"
)

// TestClient holds conversations with the client that OpenAI has published.
func TestClient(t *testing.T) {
	t.Parallel()
	faceclient.Run(t, "testdata/openai.test.js")
}

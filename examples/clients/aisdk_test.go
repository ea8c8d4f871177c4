package clients_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// TestAISDK uses the front end with useChat.
func TestAISDK(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds a front end, and needs a browser")
	}
	browser := driver(t)
	nodejs.Remember(t, "aisdk/main.jsx", "aisdk/index.html", "aisdk/package.json", "testdata/aisdk.test.js")
	nodejs.Install(t, "aisdk")
	nodejs.Run(t, "aisdk", testkit.Program(t, "npm", "npm", "npm"), "run", "build")
	page := httptest.NewServer(http.FileServer(http.Dir("aisdk")))
	t.Cleanup(page.Close)
	drive(t, "aisdk.test.js", browser, "PAGE="+page.URL, "SERVER="+serve(t, page.URL).URL)
}

package e2e

import (
	"path/filepath"
	"testing"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// The stock UI is in the package of the tools that it comes with. Those need
// hundreds of other packages, and the UI none: only the archive is fetched, and
// what is in it is what it was when this was written.
const (
	adkWeb    = "@google/adk-devtools@2.0.0"
	adkWebSum = "9q88zzLjSE5DQg+42JWBVZjEi4byuhKFod9T4jcgYj3IysulqDaEh+cObFe/54LJUI9RvpjFfAWxrC46BggYqQ=="
)

// TestStockUI drives the UI that people know from other servers, as it is
// published, on ours.
func TestStockUI(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	t.Parallel()
	install(t)
	newStage(t, stockUI(t)).vitest(t, "STOCK=1")
}

// stockUI is the directory of the stock UI. It is fetched when it is not there.
func stockUI(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(web, "node_modules", ".adk-web", adkWebSum[:12]))
	if err != nil {
		t.Fatal(err)
	}
	nodejs.Archive(t, adkWeb, adkWebSum, "package/dist/browser/", dir)
	return dir
}

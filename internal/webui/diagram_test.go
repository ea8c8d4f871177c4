package webui

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestDiagramPage checks that the page that draws diagrams of others has no origin, runs its own script only, and can
// load nothing.
func TestDiagramPage(t *testing.T) {
	h := handler(t, "")
	rec := get(t, h, Root+diagramFile)
	if policy := rec.Header().Get("Content-Security-Policy"); rec.Code != http.StatusOK ||
		!strings.HasPrefix(policy, "sandbox allow-scripts; ") || !strings.Contains(policy, "frame-ancestors 'self'") {
		t.Errorf("%d with the policy %q", rec.Code, policy)
	}
	if index := get(t, h, "/").Header().Get("Content-Security-Policy"); !strings.Contains(index, "frame-src 'self';") {
		t.Errorf("the page cannot have it in a frame: %s", index)
	}
	head, script, ok := strings.Cut(rec.Body.String(), "<script>")
	script, rest, closed := strings.Cut(script, "</script>")
	if !ok || !closed || strings.Contains(head+rest, "<script") {
		t.Fatal("the page has not one script")
	}
	sum := sha256.Sum256([]byte(script))
	want := "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; style-src 'unsafe-inline'"
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(head)
	if policy == nil || policy[1] != want {
		t.Errorf("the policy is %q, not %q", policy, want)
	}
}

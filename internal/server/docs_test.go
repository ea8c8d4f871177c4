package server_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/server"
)

// The page exists without a UI, runs no scripts, and is cached by its tag.
func TestDocs(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather())
	rec := do(t, srv, "GET", "/docs", "")
	wantStatus(t, rec, http.StatusOK)
	page := rec.Body.String()
	for _, want := range []string{"<!doctype html>", "Requires the scope run.", "Requires no token.", "For developers: requires the scope admin", "Requires authentication."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": "default-src 'none'; style-src 'sha256-",
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache", "Vary": "Accept-Encoding",
	} {
		if got := rec.Header().Get(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q", name, got)
		}
	}
	tag := rec.Header().Get("ETag")
	for sent, want := range map[string]int{
		tag: 304, strings.TrimPrefix(tag, "W/"): 304, `"other", ` + tag: 304, `"other"`: 200, "": 200,
	} {
		rec := do(t, srv, "GET", "/docs", "", "If-None-Match: "+sent)
		wantStatus(t, rec, want)
		if (rec.Body.Len() == 0) != (want == http.StatusNotModified) {
			t.Errorf("%s: %d bytes", sent, rec.Body.Len())
		}
	}
	rec = do(t, srv, "GET", "/docs", "", "Accept-Encoding: br, gzip")
	zip, err := gzip.NewReader(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(zip); err != nil || string(plain) != page || rec.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("packed, it is %d bytes, %v", len(plain), err)
	}
}

// A program that does not link the recorder has no metrics, and says which import adds them.
func TestNoMetrics(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), func(o *server.Options) { o.Metrics = nil })
	rec := do(t, srv, "GET", "/metrics", "")
	wantStatus(t, rec, http.StatusNotFound)
	if !strings.Contains(rec.Body.String(), "github.com/parley-run/parley/telemetry") {
		t.Errorf("it says %s", rec.Body)
	}
}

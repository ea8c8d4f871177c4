package webui

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

func handler(t *testing.T, dir string) http.Handler {
	t.Helper()
	h, err := Handler(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestScreens(t *testing.T) {
	h := handler(t, "")
	nonces := map[string]bool{}
	for _, path := range []string{"/", "/ui/", "/ui/apps/weather/users/u/sessions/s", "/ui/index.html", "/dev-ui/", "/dev-ui/?code=c&state=s"} {
		rec := get(t, h, path)
		policy := rec.Header().Get("Content-Security-Policy")
		nonce := regexp.MustCompile(`'nonce-(\w+)'`).FindStringSubmatch(policy)
		switch {
		case rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `<div id="root">`):
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		case nonce == nil || !strings.Contains(rec.Body.String(), `content="`+nonce[1]+`"`) || nonces[nonce[1]]:
			t.Errorf("%s: the nonce in %q is not that of the page, or was there before", path, policy)
		case strings.Contains(policy, "unsafe") || strings.Contains(policy, "http:") || strings.Contains(policy, "https:"):
			t.Errorf("%s: the policy lets too much through: %s", path, policy)
		case rec.Header().Get("Cache-Control") != "no-store":
			t.Errorf("%s: a page with a nonce must not be kept", path)
		default:
			nonces[nonce[1]] = true
		}
	}
	for _, path := range []string{"/ui/assets/none.js", "/dev-ui/other"} {
		if rec := get(t, h, path); rec.Code != http.StatusNotFound || !strings.HasPrefix(rec.Body.String(), `{"error":`) {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if rec := get(t, h, "/other"); rec.Code != http.StatusNotFound { // which the server answers before
		t.Errorf("/other: %d", rec.Code)
	}
}

// linked are the files that a page loads before it shows anything, and the
// files that those styles load.
func linked(t *testing.T, h http.Handler) []string {
	t.Helper()
	var paths []string
	for _, m := range regexp.MustCompile(`(?:src|href)="(/ui/[^"]+)"`).FindAllStringSubmatch(get(t, h, "/").Body.String(), -1) {
		paths = append(paths, m[1])
		if strings.HasSuffix(m[1], ".css") {
			for _, font := range regexp.MustCompile(`url\(([^)]+)\)`).FindAllStringSubmatch(get(t, h, m[1]).Body.String(), -1) {
				paths = append(paths, font[1])
			}
		}
	}
	return paths
}

func TestFirstLoadIsSmall(t *testing.T) {
	const most = 300_000
	h := handler(t, "")
	paths := append(linked(t, h), "/")
	if len(paths) < 5 {
		t.Fatalf("the page links only %q", paths)
	}
	total := 0
	for _, path := range paths {
		rec := get(t, h, path, "Accept-Encoding", "gzip")
		if rec.Code != http.StatusOK {
			t.Errorf("%s: %d", path, rec.Code)
		}
		total += rec.Body.Len()
	}
	if total > most {
		t.Errorf("the first load is %d bytes, of at most %d", total, most)
	}
}

func TestFiles(t *testing.T) {
	h := handler(t, "")
	for _, path := range linked(t, h) {
		plain := get(t, h, path)
		again := get(t, h, path, "If-None-Match", plain.Header().Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s: %d for what the browser has", path, again.Code)
		}
		if kept := strings.Contains(plain.Header().Get("Cache-Control"), "immutable"); kept != strings.HasPrefix(path, "/ui/assets/") {
			t.Errorf("%s: Cache-Control %q", path, plain.Header().Get("Cache-Control"))
		}
		zipped := get(t, h, path, "Accept-Encoding", "gzip")
		if zipped.Header().Get("Content-Encoding") != "gzip" {
			continue
		}
		in, err := gzip.NewReader(zipped.Body)
		if err != nil {
			t.Fatal(err)
		}
		if content, err := io.ReadAll(in); err != nil || string(content) != plain.Body.String() {
			t.Errorf("%s: compressed is another: %v", path, err)
		}
	}
	kind := get(t, h, "/ui/theme.js").Header().Get("Content-Type")
	if !strings.HasPrefix(kind, "text/javascript") {
		t.Errorf("a script is %q", kind)
	}
}

// Nothing comes from anywhere else.
func TestOffline(t *testing.T) {
	h := handler(t, "")
	for _, path := range append(linked(t, h), "/") {
		if path == "/ui/mark.svg" || strings.HasSuffix(path, ".woff2") {
			continue
		}
		body := get(t, h, path).Body.String()
		if m := regexp.MustCompile(`(?:src|href)="https?:|@import|url\(["']?https?:|import\(["']https?:`).FindString(body); m != "" {
			t.Errorf("%s has %s", path, m)
		}
	}
}

func TestAnotherUI(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("index.html", "another")
	write("main.js", "1")
	write("assets/config/runtime-config.json", `{"backendUrl":"http://elsewhere"}`)
	write("../secret.txt", "secret")
	h := handler(t, dir)
	for path, want := range map[string]string{
		"/dev-ui/":        "another",
		"/dev-ui/main.js": "1",
		"/dev-ui/assets/config/runtime-config.json": `{"backendUrl":"","telemetry":false}`,
		"/": `<div id="root">`,
	} {
		if rec := get(t, h, path); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	for _, path := range []string{"/dev-ui/none.js", "/dev-ui/assets/", "/dev-ui/assets", "/dev-ui/%2e%2e/secret.txt", "/dev-ui/..%2fsecret.txt"} {
		if rec := get(t, h, path); rec.Code == http.StatusOK || strings.Contains(rec.Body.String(), "secret") {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if kind := get(t, h, "/dev-ui/main.js").Header().Get("Content-Type"); !strings.Contains(kind, "javascript") {
		t.Errorf("a script is %q", kind)
	}
	if _, err := Handler(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there is taken")
	}
	if _, err := Handler(filepath.Join(dir, "assets")); err == nil {
		t.Error("a directory without a page is taken")
	}
}

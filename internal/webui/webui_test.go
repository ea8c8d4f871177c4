package webui

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func get(t *testing.T, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, h, http.MethodGet, path, header...)
}

func ask(t *testing.T, h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
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

// TestFiles gets every file as clients with and without decompression do.
func TestFiles(t *testing.T) {
	h := handler(t, "")
	compressed := 0
	for root, dir := range map[string]string{Root: "dist", Guide: "guide"} {
		all, err := load(bundles, dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, one := range all {
			path := root + name
			if path == Root+indexFile {
				continue // it is another one each time
			}
			plain := get(t, h, path)
			check(t, h, path, plain)
			if kept := strings.Contains(plain.Header().Get("Cache-Control"), "immutable"); kept != strings.HasPrefix(name, "assets/") {
				t.Errorf("%s: Cache-Control %q", path, plain.Header().Get("Cache-Control"))
			}
			zipped := get(t, h, path, "Accept-Encoding", "br, GZIP;q=0.5")
			check(t, h, path, zipped, "Accept-Encoding", "gzip")
			if !one.gzipped {
				if zipped.Header().Get("Content-Encoding")+zipped.Header().Get("Vary") != "" {
					t.Errorf("%s: %v", path, zipped.Header())
				}
				continue
			}
			compressed++
			if plain.Header().Get("Content-Encoding") != "" || zipped.Header().Get("Content-Encoding") != "gzip" ||
				plain.Header().Get("Vary") != "Accept-Encoding" || zipped.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: %v and %v", path, plain.Header(), zipped.Header())
			}
			if plain.Header().Get("ETag") == zipped.Header().Get("ETag") || plain.Header().Get("Content-Type") != zipped.Header().Get("Content-Type") {
				t.Errorf("%s: %v and %v", path, plain.Header(), zipped.Header())
			}
			in, err := gzip.NewReader(zipped.Body)
			if err != nil {
				t.Fatal(err)
			}
			if content, err := io.ReadAll(in); err != nil || string(content) != plain.Body.String() {
				t.Errorf("%s: compressed is another: %v", path, err)
			}
		}
	}
	if compressed < 50 {
		t.Errorf("only %d files are compressed", compressed)
	}
	kind := get(t, h, "/ui/theme.js").Header().Get("Content-Type")
	if !strings.HasPrefix(kind, "text/javascript") {
		t.Errorf("a script is %q", kind)
	}
}

// check compares an answer with those to HEAD, and to a client that has it already.
func check(t *testing.T, h http.Handler, path string, rec *httptest.ResponseRecorder, header ...string) {
	t.Helper()
	tag, length := rec.Header().Get("ETag"), rec.Header().Get("Content-Length")
	if rec.Code != http.StatusOK || length != strconv.Itoa(rec.Body.Len()) || rec.Header().Get("Content-Type") == "" {
		t.Errorf("%s: %d with %d bytes and %v", path, rec.Code, rec.Body.Len(), rec.Header())
	}
	head := ask(t, h, http.MethodHead, path, header...)
	if head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("ETag") != tag || head.Header().Get("Content-Length") != length {
		t.Errorf("HEAD %s: %d %v", path, head.Code, head.Header())
	}
	for _, have := range []string{tag, "W/" + tag, `"other", ` + tag} {
		again := get(t, h, path, append(header, "If-None-Match", have)...)
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 || again.Header().Get("ETag") != tag {
			t.Errorf("%s: %d for what the browser has", path, again.Code)
		}
	}
	if other := get(t, h, path, append(header, "If-None-Match", `"other"`)...); other.Code != http.StatusOK {
		t.Errorf("%s: %d for another version", path, other.Code)
	}
}

func TestAcceptsGzip(t *testing.T) {
	for accept, want := range map[string]bool{
		"gzip": true, "gzip, deflate, br, zstd": true, "br;q=1.0, gzip;q=0.8": true, " GZIP ": true, "gzip;q=0.001": true,
		"": false, "identity": false, "br": false, "gzip;q=0": false, "br, gzip; q=0.000": false, "xgzip": false,
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		req.Header.Set("Accept-Encoding", accept)
		if acceptsGzip(req) != want {
			t.Errorf("%q: %v", accept, !want)
		}
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
	write("large.js", strings.Repeat("a script ", 10000))
	for _, c := range []struct {
		path, header, value string
		status              int
		compressed          bool
	}{
		{"/dev-ui/large.js", "Accept-Encoding", "gzip", http.StatusOK, true},
		{"/dev-ui/", "Accept-Encoding", "gzip", http.StatusOK, true},
		{"/dev-ui/large.js", "Accept-Encoding", "br", http.StatusOK, false},
		{"/dev-ui/large.js", "Range", "bytes=0-8", http.StatusPartialContent, false},
		{"/dev-ui/large.js", "If-Modified-Since", "Fri, 31 Dec 2049 00:00:00 GMT", http.StatusNotModified, false},
		{"/dev-ui/index.html", "Accept-Encoding", "gzip", http.StatusMovedPermanently, false},
	} {
		req := httptest.NewRequest(http.MethodGet, c.path, nil)
		req.Header.Set("Accept-Encoding", "gzip")
		req.Header.Set(c.header, c.value)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != c.status || (rec.Header().Get("Content-Encoding") == "gzip") != c.compressed {
			t.Errorf("%s with %s: %s: %d %v", c.path, c.header, c.value, rec.Code, rec.Header())
		}
		if c.compressed {
			body, err := gzip.NewReader(rec.Body)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(body); err != nil || c.path != "/dev-ui/" && len(text) != 90000 || rec.Header().Get("Content-Length") != "" {
				t.Errorf("%s: %d bytes, %v, %v", c.path, len(text), err, rec.Header())
			}
		} else if c.status == http.StatusNotModified && rec.Body.Len() > 0 {
			t.Errorf("%s: a body of %d bytes with %d", c.path, rec.Body.Len(), rec.Code)
		}
	}
	if _, err := Handler(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there is taken")
	}
	if _, err := Handler(filepath.Join(dir, "assets")); err == nil {
		t.Error("a directory without a page is taken")
	}
}

// Package http deletes the encoding of an error: its text is not compressed then.
func TestErrorIsNotCompressed(t *testing.T) {
	fails := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "large.js", time.Time{}, struct {
			io.Reader
			failingSeeker
		}{})
	})
	rec := get(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { compress(fails, w, r) }), "/large.js", "Accept-Encoding", "gzip")
	if rec.Code != http.StatusInternalServerError || rec.Header().Get("Content-Encoding") != "" || !strings.Contains(rec.Body.String(), "seeker") {
		t.Errorf("%d %v %q", rec.Code, rec.Header(), rec.Body)
	}
}

type failingSeeker struct{}

func (failingSeeker) Seek(int64, int) (int64, error) { return 0, errors.New("seeker fails") }

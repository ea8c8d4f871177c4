package host

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

const loadPage = `import { LOAD_WEB_PAGE, loadWebPage } from "@google/adk"; const at = process.env.AT;`

func TestLoadWebPage(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><head><title>T</title></head><!-- no --><body><script>if (1 < 2) "<p>"</script>
			<h1>Old   Town</h1><div>Fish &amp; <b>ch</b>ips,<br>&euro;5<svg><text>no</text></svg><style>no</style></body>`)
	})
	mux.HandleFunc("/text", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "a < b\n  &amp;\xff")
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/text", http.StatusFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxPage+1)) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) { // as some programs make pages shorter
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><html lang=en><head lang=en><title>T</title><body class=x><p>Fish<p>Chips`)
	})
	mux.HandleFunc("/reset", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	})
	// What would take a pattern with a way back forever, and so the engine.
	mux.HandleFunc("/hostile", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, strings.Repeat("<!--<script><", 100_000))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	here := func(netip.Addr) bool { return true }
	checkSnippets(t, Options{Env: map[string]string{"AT": s.URL}, Reach: here}, loadPage, []snippet{
		{"markup", `return loadWebPage(at + "/page")`, "Old Town\nFish & chips,\n€5"},
		{"tool", `return LOAD_WEB_PAGE.runAsync({ args: { url: at + "/moved" } })`, "a < b\n  &amp;\ufffd"},
		{"short", `return loadWebPage(at + "/short")`, "Fish\nChips"},
		{"reset", `return loadWebPage(at + "/reset")`, "Failed to fetch url: nothing answers there"},
		{"missing", `return loadWebPage(at + "/none")`, "Failed to fetch url: the answer was 404 Not Found"},
		{"loop", `return loadWebPage(at + "/loop")`, "Failed to fetch url: it leads from one page to the next without an end"},
		{"large", `return loadWebPage(at + "/large")`, "Failed to fetch url: the page must not be larger than 4 MiB"},
		{"slow", `return loadWebPage(at + "/slow", { timeoutMs: 20 })`, "Failed to fetch url: it took longer than 20ms"},
		{"hostile", `return (await loadWebPage(at + "/hostile")).length`, "0"},
		{"scheme", `return loadWebPage("file:///etc/passwd")`, "Failed to fetch url: its address must begin with https:// or http://"},
		{"no address", `return loadWebPage("http://%zz")`, "Failed to fetch url: its address must begin with https:// or http://"},
		{"nothing there", `return loadWebPage("http://127.0.0.1:1/")`, "Failed to fetch url: nothing answers there"},
	})
}

// The model chooses the page, so it may choose one that only the server reaches:
// itself, its neighbours, and the metadata service with the machine's secrets.
func TestLoadWebPageOfPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(inside.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "http://"), ":")
	var all []snippet
	for _, name := range []string{"127.0.0.1", "localhost", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.0.0.1", "192.168.0.1"} {
		for _, scheme := range []string{"http", "https"} {
			address := fmt.Sprintf("%s://%s:%s/", scheme, name, port)
			all = append(all, snippet{address, `return (await loadWebPage("` + address + `")).startsWith("Failed to fetch url: ")`, "true"})
		}
	}
	all = append(all, snippet{"reason", `return loadWebPage("` + inside.URL + `")`, "Failed to fetch url: it is not in the public internet; a tool of your own can fetch it"})
	checkSnippets(t, Options{}, loadPage, all)
	// A page outside that leads inside: only the first connection is let through.
	var connections atomic.Int32
	outside := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusFound))
	t.Cleanup(outside.Close)
	once := func(netip.Addr) bool { return connections.Add(1) == 1 }
	checkSnippets(t, Options{Reach: once}, loadPage, []snippet{
		{"redirect", `return loadWebPage("` + outside.URL + `")`, "Failed to fetch url: it is not in the public internet; a tool of your own can fetch it"},
	})
	if n := calls.Load(); n != 0 || connections.Load() != 2 {
		t.Errorf("%d calls came through, of %d connections", n, connections.Load())
	}
}

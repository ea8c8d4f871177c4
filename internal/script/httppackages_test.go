package script

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// Packages that make requests and speak with services do the same here and in
// Node.js.
func TestHTTPPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs packages")
	}
	dir := filepath.Join("testdata", "http")
	nodejs.Install(t, dir)
	s := httptest.NewServer(httpService(t))
	defer s.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "through the proxy") }))
	defer secure.Close()
	compareUse(t, dir, map[string]any{
		"base":   s.URL,
		"socket": strings.Replace(s.URL, "http:", "ws:", 1),
		"secure": secure.URL,
		"ca":     string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})),
		"proxy":  fmt.Sprintf("http://127.0.0.1:%d", listen(t, tunnel)),
	})
}

// httpService answers requests with what they were, and in the ways that clients
// must be able to handle.
func httpService(t *testing.T) http.Handler {
	t.Helper()
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	var tries atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		if websocket.IsWebSocketUpgrade(r) {
			echoMessages(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		seen := map[string]string{}
		for name := range r.Header {
			if value := r.Header.Get(name); name != "User-Agent" && !strings.HasPrefix(value, "multipart/") {
				seen[name] = value
			}
		}
		sendJSON(w, map[string]any{
			"method": r.Method, "url": r.RequestURI, "headers": seen, "encoding": r.TransferEncoding, "read": len(body), "start": string(body[:min(40, len(body))]),
		})
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, strings.Repeat("zipped ", 10))
		_ = z.Close()
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/echo?redirected", http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.WriteHeader(code)
	})
	mux.HandleFunc("/flaky", func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1)%3 != 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "at last")
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "7")
	})
	mux.HandleFunc("/refused", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })

	mux.HandleFunc("/slack/chat.postMessage", func(w http.ResponseWriter, r *http.Request) {
		sendJSON(w, map[string]any{"ok": r.FormValue("text") == "hello" && r.Header.Get("Authorization") == "Bearer xoxb-1"})
	})
	mux.HandleFunc("/github/repos/o/r/issues/1", func(w http.ResponseWriter, r *http.Request) {
		sendJSON(w, map[string]any{"title": "seen with " + r.Header.Get("Authorization")})
	})
	mux.HandleFunc("/sendgrid/v3/mail/send", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	return mux
}

func sendJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// echoMessages sends the head of the request, then what it receives; a message can
// ask it to close.
func echoMessages(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{"two"}, EnableCompression: true}
	c, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.WriteJSON(map[string]any{"own": r.Header.Get("X-Own"), "protocols": r.Header.Get("Sec-WebSocket-Protocol"), "version": r.Header.Get("Sec-WebSocket-Version")})
	for {
		kind, data, err := c.ReadMessage()
		if err != nil {
			return
		}
		var code int
		var why string
		if n, _ := fmt.Sscanf(string(data), "close %d %s", &code, &why); n == 2 {
			_ = c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, why))
			continue // until the other side has closed, too
		}
		if c.WriteMessage(kind, data) != nil {
			return
		}
	}
}

// tunnel is a proxy for CONNECT.
func tunnel(c net.Conn) {
	in := bufio.NewReader(c)
	r, err := http.ReadRequest(in)
	if err != nil || r.Method != http.MethodConnect {
		return
	}
	to, err := net.Dial("tcp", r.Host)
	if err != nil {
		return
	}
	defer to.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() { _, _ = io.Copy(to, in) }()
	_, _ = io.Copy(c, to)
}

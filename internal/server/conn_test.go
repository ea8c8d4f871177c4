package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/server"
)

// Requests that net/http refuses by itself get the same error shape as all others.
func TestRefusalsOfTheConnection(t *testing.T) {
	t.Parallel()
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: serve(t, weather()), ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(server.Listener(plain)) }()
	t.Cleanup(func() { _ = srv.Close() })
	for name, tt := range map[string]struct {
		request string
		want    int
		says    string
	}{
		"a bad %":              {"GET /apps/%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400, "percent-encoded"},
		"a % at the end":       {"GET /apps/a% HTTP/1.1\r\nHost: h\r\n\r\n", 400, "percent-encoded"},
		"no host":              {"GET /health HTTP/1.1\r\n\r\n", 400, "missing required Host header"},
		"headers without end":  {"GET /health HTTP/1.1\r\nHost: h\r\nA: " + strings.Repeat("a", 2<<20) + "\r\n\r\n", 431, "Too Large"},
		"a strange encoding":   {"POST /run HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "transfer encoding"},
		"one that is answered": {"GET /health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", plain.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() { _, _ = io.WriteString(conn, tt.request) }()
			answer, _ := io.ReadAll(conn) // may end with a connection reset
			head, body, _ := strings.Cut(string(answer), "\r\n\r\n")
			if !strings.HasPrefix(head, fmt.Sprintf("HTTP/1.1 %d ", tt.want)) || !strings.Contains(head, "Content-Type: application/json") || !strings.Contains(head, "X-Request-Id: ") {
				t.Errorf("%s", head)
			}
			if tt.says != "" && (!strings.HasPrefix(body, `{"error":"`) || !bytes.Contains([]byte(body), []byte(tt.says))) {
				t.Errorf("%s", body)
			}
		})
	}
}

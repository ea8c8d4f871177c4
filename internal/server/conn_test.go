package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/model/scripted"
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

// However events are gathered on their way, each is a chunk of its own: some clients take a chunk for an event.
func TestChunksAreEvents(t *testing.T) {
	t.Parallel()
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("many words of a text ", 2500) // more than is gathered
	handler := serve(t, scripts(t, scripted.Say("All is done now."), scripted.Say(text)))
	wantStatus(t, do(t, handler, "POST", session1, ""), http.StatusOK)
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ConnContext: sse.WithConn}
	go func() { _ = srv.Serve(server.Listener(plain)) }()
	t.Cleanup(func() { _ = srv.Close() })
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := strings.Replace(message("hi"), "{", `{"streaming":true,`, 1)
	for range 2 {
		fmt.Fprintf(conn, "POST /run_sse HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	in := bufio.NewReader(conn)
	for range 2 {
		for line := "-"; line != "\r\n"; { // the headers
			if line, err = in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		events := 0
		for {
			var size int
			if _, err := fmt.Fscanf(in, "%x\r\n", &size); err != nil {
				t.Fatal(err)
			}
			chunk := make([]byte, size+len("\r\n"))
			if _, err := io.ReadFull(in, chunk); err != nil {
				t.Fatal(err)
			}
			if size == 0 {
				break
			}
			if event, ok := bytes.CutSuffix(chunk, []byte("\n\n\r\n")); !ok || !bytes.HasPrefix(event, []byte("data: ")) || bytes.Contains(event, []byte("\n")) {
				t.Errorf("a chunk is %.100q", chunk)
			}
			events++
		}
		if events < 2 {
			t.Errorf("there are %d chunks, want pieces and the whole", events)
		}
	}
}

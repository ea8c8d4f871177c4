package host

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/testkit/hostile"
)

// No server can send more than the operator allows, and every call ends.
func TestFetchFromHostileServers(t *testing.T) {
	const (
		limit    = 4 << 20
		buffered = 12 << 20 // in the buffers of a connection
	)
	limits := engine.DefaultLimits()
	limits.Turn, limits.Call = time.Minute, 2*time.Minute
	for _, m := range hostile.All {
		if m.Calls {
			continue // which only models make
		}
		t.Run(m.Name, func(t *testing.T) {
			srv := hostile.Start(t, m, func(http.ResponseWriter, *http.Request) (hostile.Speech, bool) { return hostile.JSON(nil), true })
			s := newLimitedSandbox(t, Options{MaxResponse: limit, Env: map[string]string{"AT": srv.URL}}, limits, "", `
				return (await (await fetch(process.env.AT)).text()).length;`)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if m.Hangs {
				go func() {
					select {
					case <-srv.Reached():
						cancel()
					case <-ctx.Done():
					}
				}()
			}
			_, err := s.run(ctx, nil) // a call that does not end fails the test
			sent := srv.Sent()
			if sent > limit+buffered {
				t.Errorf("the server could send %d bytes; the call ended with %v", sent, err)
			}
			if sent > limit && !m.Hangs && m.Name != "huge headers" && (err == nil || !strings.Contains(err.Error(), "--max_model_response_bytes")) {
				t.Errorf("after %d bytes, the call ended with %v", sent, err)
			}
			t.Logf("sent %d bytes, %.200v", sent, err)
		})
	}
}

// A response may be as large as the limit, and not larger. What was compressed
// counts as it is read.
func TestFetchLimit(t *testing.T) {
	const limit = 100_000
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var size int
		_, _ = fmt.Sscan(r.URL.Query().Get("size"), &size)
		out := io.Writer(w)
		if r.URL.Path == "/gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			out = z
		}
		_, _ = io.WriteString(out, strings.Repeat("a", size))
	}))
	t.Cleanup(srv.Close)
	s := newSandbox(t, Options{MaxResponse: limit, Env: map[string]string{"AT": srv.URL}}, "", `
		const response = await fetch(process.env.AT + params.path + '?size=' + params.size);
		try {
			return String((await response.text()).length);
		} catch (e) {
			return e.message + ' ' + e.cause?.code;
		}`)
	for _, path := range []string{"/plain", "/gzip"} {
		for size, want := range map[int]string{0: "0", limit: "100000", limit + 1: "--max_model_response_bytes", 100 * limit: "UND_ERR_RES_EXCEEDED_MAX_SIZE"} {
			got, err := s.run(t.Context(), map[string]any{"path": path, "size": size})
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s with %d bytes: %s, %v; want %s", path, size, got, err, want)
			}
		}
	}
}

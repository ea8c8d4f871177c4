package host

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func compressed(t *testing.T, format string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := codec{Format: format, Level: 6}.writer(&out)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFetchDecodesAsNode(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("hello ", 2000))
	gzip, zlib, raw := compressed(t, "gzip", text), compressed(t, "deflate", text), compressed(t, "deflate-raw", text)
	br, err := base64.StdEncoding.DecodeString("CwWAaGVsbG8gaGVsbG8D")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		send := func(coding string, body []byte) {
			w.Header().Set("Content-Encoding", coding)
			_, _ = w.Write(body)
		}
		switch r.URL.Path {
		case "/gzip":
			send("gzip", gzip)
		case "/x-gzip":
			send("X-GZIP", gzip)
		case "/deflate":
			send("deflate", zlib)
		case "/raw":
			send("deflate", raw)
		case "/br":
			send("br", br)
		case "/twice":
			send("deflate, gzip", compressed(t, "gzip", zlib))
		case "/unknown":
			send("zstd2, gzip", []byte("as it is"))
		case "/empty":
			send("gzip", nil)
		case "/early":
			send("gzip", gzip[:len(gzip)-4])
		case "/wrong":
			send("gzip", []byte("this is not gzip"))
		case "/cut":
			w.Header().Set("Content-Length", fmt.Sprint(len(gzip)+10))
			send("gzip", gzip[:len(gzip)/2])
		case "/asked":
			_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding"))
		}
	}))
	defer server.Close()
	compareWithNode(t, `const at = "`+server.URL+`";
		const get = async (path, init) => { try { const r = await fetch(at + path, init); const t = await r.text(); return [r.headers.get("content-encoding"), t.length, t.slice(0, 12)] } catch (e) { return e.name + ": " + e.message } };`,
		`await Promise.all(["/gzip", "/x-gzip", "/deflate", "/raw", "/br", "/twice", "/unknown", "/empty", "/early", "/wrong"].map((p) => get(p)))`,
		`await get("/gzip", { method: "HEAD" })`,
		`await get("/cut")`,
		`await fetch(at + "/cut").then((r) => r.text()).catch((e) => e.cause.code)`,
		`await Promise.all([get("/asked"), get("/asked", { headers: { "accept-encoding": "br" } })])`,
	)
}

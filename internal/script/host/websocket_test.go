package host

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/parley-run/parley/internal/testkit"
)

// newWebSocketServer echoes messages; some ask for other things.
func newWebSocketServer(t *testing.T, open *atomic.Int64) (address string) {
	t.Helper()
	up := websocket.Upgrader{Subprotocols: []string{"two"}, EnableCompression: true}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		open.Add(1)
		defer open.Add(-1)
		defer c.Close()
		for {
			kind, data, err := c.ReadMessage()
			if err != nil {
				return
			}
			var code int
			switch text := string(data); {
			case text == "headers":
				data = []byte(r.Header.Get("X-Own") + r.Header.Get("Authorization"))
			case text == "cut":
				return
			case text == "large": // compressed, it is small
				data = bytes.Repeat([]byte("x"), maxMessage+1)
			case strings.HasPrefix(text, "close"):
				_, _ = fmt.Sscanf(text, "close %d", &code)
				data, kind = websocket.FormatCloseMessage(code, "enough"), websocket.CloseMessage
			}
			if c.WriteMessage(kind, data) != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "http:", "ws:", 1)
}

func TestWebSocket(t *testing.T) {
	t.Parallel()
	var open atomic.Int64
	imports := `const base = ` + strconv.Quote(newWebSocketServer(t, &open)) + `;
		const next = (ws, name) => new Promise((done) => ws.addEventListener(name, done, { once: true }));
		const connect = async (...args) => { const ws = new WebSocket(...args); await next(ws, "open"); return ws; };
		const closed = async (ws) => { const { code, reason, wasClean } = await next(ws, "close"); return [code, reason, wasClean, ws.readyState]; };
		const failure = async (f) => { try { return await f() } catch (e) { return [e.name, e.code] } };`
	// What the version of Node.js that this runtime follows has, behind a flag.
	compareWithNode(t, imports,
		`const ws = new WebSocket(base); const early = [ws.readyState, ws.url === base + "/", ws.protocol, ws.binaryType, ws.bufferedAmount]; await next(ws, "open"); ws.send("hellö"); const e = await next(ws, "message"); ws.close(); return [...early, e.data, e.type, e.origin === base, ws.readyState, await closed(ws)]`,
		`const ws = await connect(base, ["one", "two"]); const p = ws.protocol; ws.close(3001, "bye"); return [p, await closed(ws)]`,
		`const ws = await connect(base); ws.binaryType = "arraybuffer"; ws.send(new Uint8Array([1, 2, 3]).subarray(1)); const { data } = await next(ws, "message"); ws.close(); return [data instanceof ArrayBuffer, [...new Uint8Array(data)]]`,
		`const ws = await connect(base); ws.send(new Blob(["bl", "ob"])); const { data } = await next(ws, "message"); ws.close(); return [data instanceof Blob, await data.text()]`,
		`const ws = await connect(base); const seen = []; ws.onmessage = (e) => seen.push(e.data.length); for (let i = 0; i < 20; i++) ws.send("x".repeat(i * 1000)); ws.send("close 4000"); return [await closed(ws), seen]`,
		`const ws = await connect(base); ws.send("close 1000"); return closed(ws)`,
		`failure(() => new WebSocket("ftp://x"))`, `failure(() => new WebSocket("ws://x#a"))`, `failure(() => new WebSocket(base, ["a", "A"]))`, `failure(() => new WebSocket(base, "a b"))`,
		`const ws = new WebSocket(base); const early = await failure(() => ws.send("x")); await next(ws, "open"); const out = [early, await failure(() => ws.close(1001)), await failure(() => ws.close(3000, "x".repeat(124)))]; ws.close(); ws.send("ignored"); return out`,
		`[WebSocket.CONNECTING, WebSocket.CLOSED, WebSocket.prototype.OPEN, typeof WebSocket, WebSocket.name]`,
	)
	checkSnippets(t, Options{}, imports, []snippet{
		{"cut", `const ws = await connect(base); const failed = next(ws, "error"); ws.send("cut"); const end = closed(ws); return [(await failed).type, await end]`, `["error",[1006,"",false,3]]`},
		{"refused", `const ws = new WebSocket(base + "/refused"); const seen = []; ws.onerror = (e) => seen.push(e.message); ws.onopen = () => seen.push("open"); return [await closed(ws), seen]`, `[[1006,"",false,3],["the server answered with the status 403 to the request for a WebSocket"]]`},
		{"no server", `const ws = new WebSocket("ws://127.0.0.1:1"); const seen = []; ws.onerror = (e) => seen.push(e.error.code); return [await closed(ws), seen]`, `[[1006,"",false,3],["ECONNREFUSED"]]`},
		{"closed early", `const ws = new WebSocket(base); ws.close(); return [ws.readyState, await closed(ws)]`, `[2,[1006,"",false,3]]`},
		{"closed without a code", `const ws = await connect(base); ws.close(); return closed(ws)`, `[1005,"",true,3]`},
		{"CloseEvent", `new CloseEvent("close", { code: 3 }).code`, "3"},
		{"headers", `const ws = await connect(base, { headers: { "X-Own": "1" } }); ws.send("headers"); const e = await next(ws, "message"); ws.close(); return e.data`, "1"},
		{"credentials", `const ws = await connect(base.replace("ws://", "ws://me:secret@")); ws.send("headers"); const e = await next(ws, "message"); ws.close(); return e.data`, "Basic bWU6c2VjcmV0"},
		{"too large", `const ws = await connect(base); const failed = next(ws, "error"); ws.send("large"); const end = closed(ws); return [(await failed).message, (await end)[0]]`, `["a message has more than 16 MB, which is the limit",1006]`},
	})
	testkit.Eventually(t, "the end of all WebSockets", func() bool { return open.Load() == 0 })
}

// WebSockets count as sockets, and go with the engine.
func TestWebSocketsAreBounded(t *testing.T) {
	var open atomic.Int64
	env := map[string]string{"BASE": newWebSocketServer(t, &open)}
	greedy := newSandbox(t, Options{Env: env}, "", `
		globalThis.kept = Array.from({ length: 1500 }, () => new WebSocket(process.env.BASE));
		const ends = await Promise.all(kept.map((s) => new Promise((done) => { s.onopen = () => done("open"); s.onerror = (e) => done(e.error?.code); })));
		return [...new Set(ends)].sort().join();`)
	if got := greedy.must(t, 1); got != "EMFILE,open" {
		t.Errorf("the WebSockets ended as %s", got)
	}
	most := int64(cap(allSlots) / 4)
	testkit.Eventually(t, "no more WebSockets than are allowed", func() bool { return open.Load() <= most && open.Load() > 0 })
	greedy.Close()
	testkit.Eventually(t, "the end of all WebSockets", func() bool { return open.Load() == 0 })
}

// What JavaScript sends is checked.
func TestWebSocketRequests(t *testing.T) {
	t.Parallel()
	h := New(Options{})
	none := func(any) error { return nil }
	for _, params := range []string{`x`, `{"url":1}`, `{"url":"ws://%"}`, `{"url":"ftp://x"}`, `{"url":"ws://127.0.0.1:1","headers":[["Sec-WebSocket-Key","x"]]}`} {
		if err := h.webSocket(t.Context(), []byte(params), none); err == nil {
			t.Errorf("%s was opened", params)
		}
	}
	for _, params := range []string{`x`, `{"socket":7,"text":"x"}`} {
		if err := h.webSocketSend(t.Context(), []byte(params), none); err == nil {
			t.Errorf("%s was sent", params)
		}
	}
	if h.sockets.held != 0 || len(h.slots.own) != 0 {
		t.Errorf("%d sockets are counted, %d slots taken", h.sockets.held, len(h.slots.own))
	}
}

// A server whose header does not end is left.
func TestWebSocketHeaderWithoutEnd(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sent := make(chan int, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		line := []byte("X-More: " + strings.Repeat("x", 60_000) + "\r\n")
		n, err := c.Write([]byte("HTTP/1.1 101 Switching Protocols\r\n"))
		for total := n; ; total += n {
			if err != nil || total > 256<<20 {
				sent <- total
				return
			}
			n, err = c.Write(line)
		}
	}()
	err = New(Options{}).webSocket(t.Context(), []byte(`{"url":"ws://`+l.Addr().String()+`"}`), func(any) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the response to the request for a WebSocket is too large") {
		t.Errorf("it ends with %v", err)
	}
	if n := <-sent; n > 64<<20 { // the buffers of a connection
		t.Errorf("the server could send %d bytes", n)
	}
}

package host

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit"
)

// The limits of an application hold whatever its code does with sockets, and
// another application goes on in the meantime.
func TestSocketsAreBounded(t *testing.T) {
	var open atomic.Int64
	address := serveTCP(t, func(c net.Conn) {
		open.Add(1)
		defer open.Add(-1)
		_, _ = io.Copy(c, c)
	})
	env := map[string]string{"PORT": portOf(t, address)}
	greedy := newSandbox(t, Options{Env: env}, `import net from "node:net";`, `
		const all = Array.from({ length: 1500 }, () => net.connect(process.env.PORT, "127.0.0.1"));
		const ends = await Promise.all(all.map((s) => new Promise((done) => s.on("connect", () => done("open")).on("error", (e) => done(e.code)))));
		globalThis.kept = all; // they stay open after the call
		return [...new Set(ends)].sort().join() + " " + ends.filter((e) => e === "open").length;`)
	kinds, count, _ := strings.Cut(greedy.must(t, 1), " ")
	if kinds != "EMFILE,open" {
		t.Errorf("the sockets ended as %s", kinds)
	}
	most := int64(cap(allSlots) / 4)
	testkit.Eventually(t, "no more sockets than are allowed", func() bool { return open.Load() <= most && open.Load() > 0 })
	t.Logf("%s sockets were open, of %d", count, most)

	modest := newSandbox(t, Options{Env: env}, `import net from "node:net";`, `
		const s = net.connect(process.env.PORT, "127.0.0.1"); s.end("fine"); let text = ""; for await (const c of s) text += c; return text;`)
	if got := modest.must(t, 1); got != "fine" {
		t.Errorf("another application got %q", got)
	}
	greedy.Close() // its sockets go with it
	testkit.Eventually(t, "the end of all sockets", func() bool { return open.Load() == 0 })
}

// A server that sends without end is read as fast as the code reads, and not
// further.
func TestSocketsHoldBack(t *testing.T) {
	t.Parallel()
	holdsBack(t, nil, `import net from "node:net";`, `
		const s = net.connect(process.env.PORT, "127.0.0.1"); let n = 0;
		s.on("data", (d) => { n += d.length; if (n > 1_000_000) s.pause(); });
		while (!s.isPaused()) await new Promise((done) => setTimeout(done, 1));
		globalThis.held = s;`)
}

func TestHTTPHoldsBack(t *testing.T) {
	t.Parallel()
	holdsBack(t, []byte("HTTP/1.1 200 OK\r\n\r\n"), `import http from "node:http"; import { once } from "node:events";`, `
		const [res] = await once(http.get("http://127.0.0.1:" + process.env.PORT), "response"); let n = 0;
		for await (const d of res.iterator({ destroyOnReturn: false })) if ((n += d.length) > 1_000_000) break;
		globalThis.held = res;`)
}

// holdsBack runs code that reads about 1 MB of an endless stream, which begins with
// head.
func holdsBack(t *testing.T, head []byte, imports, code string) {
	t.Helper()
	var sent atomic.Int64
	gone := make(chan struct{}, 1)
	address := serveTCP(t, func(c net.Conn) {
		defer func() { gone <- struct{}{} }()
		if _, err := c.Write(head); err != nil {
			return
		}
		piece := make([]byte, 64<<10)
		for {
			n, err := c.Write(piece)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	s := newSandbox(t, Options{Env: map[string]string{"PORT": portOf(t, address)}}, imports, code)
	s.must(t, 1)
	before := int64(-1)
	testkit.Eventually(t, "a server that sends no more", func() bool { // the buffers of the kernel are full
		now := sent.Load()
		same := now == before
		before = now
		return same
	})
	if most := int64(32 << 20); before > most {
		t.Errorf("the server could send %d bytes to code that has read 1 MB", before)
	}
	s.Close()
	<-gone
}

// Code that does not read what it asks for cannot send without end, either.
func TestSocketsSendNoFurther(t *testing.T) {
	t.Parallel()
	address := serveTCP(t, func(c net.Conn) { <-t.Context().Done() })
	s := newSandbox(t, Options{Env: map[string]string{"PORT": portOf(t, address)}}, `import net from "node:net"; import { once } from "node:events";`, `
		const s = net.connect(process.env.PORT, "127.0.0.1"); let n = 0, drained = false;
		await once(s, "connect");
		s.on("drain", () => { drained = true; });
		while (n < 1 << 28 && (s.write(Buffer.alloc(1 << 20)), n += 1 << 20)) {
			drained = false;
			for (let i = 0; i < 200 && !drained; i++) await new Promise((done) => setTimeout(done, 1));
			if (!drained) break;
		}
		s.destroy();
		return n < 1 << 28;`)
	if got := s.must(t, 1); got != "true" {
		t.Error("everything was sent to a server that does not read")
	}
}

// What is not used any more is closed, and a server that never answers holds a
// socket for no longer.
func TestSocketsIdle(t *testing.T) {
	t.Parallel()
	var open atomic.Int64
	address := serveTCP(t, func(c net.Conn) {
		open.Add(1)
		defer open.Add(-1)
		_, _ = io.ReadAll(c)
	})
	h := New(Options{})
	h.sockets.idle = 20 * time.Millisecond
	err := h.socket(t.Context(), []byte(`{"host":"127.0.0.1","port":`+portOf(t, address)+`}`), func(any) error { return nil })
	if code(err) != "ETIMEDOUT" {
		t.Errorf("the socket ended with %v", err)
	}
	testkit.Eventually(t, "the end of all sockets", func() bool { return open.Load() == 0 })
	if h.sockets.held != 0 || len(h.sockets.open) != 0 || len(h.slots.own) != 0 {
		t.Errorf("%d sockets are counted, %d known, %d slots taken", h.sockets.held, len(h.sockets.open), len(h.slots.own))
	}
}

// What JavaScript sends is checked.
func TestSocketRequests(t *testing.T) {
	t.Parallel()
	h := New(Options{})
	none := func(any) error { return nil }
	for _, params := range []string{`x`, `{"host":1}`, `{"host":"127.0.0.1","port":-1}`, `{"host":"127.0.0.1","port":99999}`, `{"host":"a b","port":1}`} {
		if err := h.socket(t.Context(), []byte(params), none); err == nil {
			t.Errorf("%s was taken", params)
		}
	}
	for _, params := range []string{`x`, `{"socket":7,"data":"AA=="}`, `{"socket":7,"data":"?"}`, `{"socket":7,"data":"` + strings.Repeat("A", 2*maxWrite) + `"}`} {
		if err := h.send(t.Context(), []byte(params), none); err == nil {
			t.Errorf("%.50s was sent", params)
		}
		if err := h.upgrade(t.Context(), []byte(params), none); err == nil {
			t.Errorf("%.50s was made secure", params)
		}
	}
	for _, params := range []string{`x`, `{"kind":"any","name":"localhost"}`, `{"kind":"ip","name":""}`} {
		if err := h.lookup(t.Context(), []byte(params), none); err == nil {
			t.Errorf("%s was looked up", params)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.socket(ended, []byte(`{"host":"127.0.0.1","port":1}`), none); err == nil {
		t.Error("a socket was opened for an engine that has ended")
	}
}

func code(err error) string {
	if c, ok := err.(interface{ Code() string }); ok {
		return c.Code()
	}
	return ""
}

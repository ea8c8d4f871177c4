package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/parley-run/parley/internal/script/engine"
	_ "github.com/parley-run/parley/internal/telemetry" // propagates traces
	"github.com/parley-run/parley/internal/testkit"
)

// service is a server that shows what reached it, and does what its paths say.
func service(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "body": string(body), "type": r.Header.Get("Content-Type"),
			"x": r.Header.Values("X-Test"), "agent": r.UserAgent(), "length": r.ContentLength, "host": r.Host != "",
		})
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code := 0
		_, _ = fmt.Sscan(r.PathValue("code"), &code)
		w.WriteHeader(code)
		if code == http.StatusNotFound {
			_, _ = io.WriteString(w, "nothing here")
		}
	})
	mux.HandleFunc("/redirect/{code}", func(w http.ResponseWriter, r *http.Request) {
		code := 0
		_, _ = fmt.Sscan(r.PathValue("code"), &code)
		http.Redirect(w, r, "/echo", code)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 255, 128, 10}) })
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("0123456789", 50_000))
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestFetch(t *testing.T) {
	t.Parallel()
	s := service(t)
	checkSnippets(t, Options{Env: map[string]string{"AT": s.URL}}, `const at = process.env.AT;`, []snippet{
		{"get", `const r = await fetch(at + "/echo"); const j = await r.json(); return [r.status, r.ok, r.statusText, r.type, r.redirected, r.url === at + "/echo", r.headers.get("content-type"), r.headers.getSetCookie(), j.method, j.body, j.agent]`, `[200,true,"OK","basic",false,true,"application/json",["a=1","b=2"],"GET","","parley"]`},
		{"post text", `const r = await fetch(at + "/echo", { method: "POST", body: "grüße", headers: { "X-Test": "1" } }); const j = await r.json(); return [j.method, j.body, j.type, j.x, j.length]`, `["POST","grüße","text/plain;charset=UTF-8",["1"],7]`},
		{"post json", `const r = await fetch(new URL("/echo", at), { method: "post", body: JSON.stringify({ a: 1 }), headers: new Headers({ "Content-Type": "application/json" }) }); const j = await r.json(); return [j.method, j.body, j.type]`, `["POST","{\"a\":1}","application/json"]`},
		{"post form", `const r = await fetch(at + "/echo", { method: "PUT", body: new URLSearchParams({ a: "1 2" }) }); const j = await r.json(); return [j.body, j.type]`, `["a=1+2","application/x-www-form-urlencoded;charset=UTF-8"]`},
		{"post multipart", `const f = new FormData(); f.append("a", "1"); f.append("f", new File(["x"], "n.txt", { type: "text/plain" })); const j = await (await fetch(at + "/echo", { method: "POST", body: f })).json(); return [j.type.startsWith("multipart/form-data; boundary="), j.body.includes('name="f"; filename="n.txt"\r\nContent-Type: text/plain\r\n\r\nx\r\n')]`, `[true,true]`},
		{"post bytes", `const j = await (await fetch(at + "/echo", { method: "POST", body: Uint8Array.of(104, 105) })).json(); return [j.body, j.type]`, `["hi",""]`},
		{"post stream", `const j = await (await fetch(at + "/echo", { method: "POST", duplex: "half", body: ReadableStream.from([Buffer.from("a"), Buffer.from("b")]) })).json(); return j.body`, "ab"},
		{"request", `const q = new Request(at + "/echo", { method: "PATCH", body: "b" }); const j = await (await fetch(q)).json(); return [j.method, j.body, q.bodyUsed]`, `["PATCH","b",true]`},
		{"not found", `const r = await fetch(at + "/status/404"); return [r.ok, r.status, r.statusText, await r.text()]`, `[false,404,"Not Found","nothing here"]`},
		{"no content", `const r = await fetch(at + "/status/204"); return [r.status, r.body, await r.text()]`, `[204,null,""]`},
		{"head", `const r = await fetch(at + "/big", { method: "HEAD" }); return [r.status, r.body, await r.text()]`, `[200,null,""]`},
		{"bytes", `const r = await fetch(at + "/bytes"); const c = r.clone(); return [[...await r.bytes()], (await c.arrayBuffer()).byteLength]`, `[[0,255,128,10],4]`},
		{"big body", `const r = await fetch(at + "/big"); let n = 0; for await (const c of r.body) n += c.length; return [n, r.bodyUsed]`, `[500000,true]`},
		{"big body into buffers", `const reader = (await fetch(at + "/big")).body.getReader({ mode: "byob" }); let n = 0, view = new Uint8Array(1000); for (;;) { const { done, value } = await reader.read(view); if (done) return [n, value.length]; n += value.length; view = new Uint8Array(value.buffer) }`, `[500000,0]`},
		{"big body cloned", `const r = await fetch(at + "/big"); const c = r.clone(); const [a, b] = await Promise.all([r.text(), c.text()]); return [a.length, a === b]`, `[500000,true]`},
		{"blob", `const b = await (await fetch(at + "/echo")).blob(); return b.type`, "application/json"},
		{"follow", `const r = await fetch(at + "/redirect/302", { method: "POST", body: "x" }); const j = await r.json(); return [r.redirected, r.url === at + "/echo", j.method, j.body]`, `[true,true,"GET",""]`},
		{"follow with the body", `const r = await fetch(at + "/redirect/307", { method: "POST", body: "x" }); const j = await r.json(); return [j.method, j.body]`, `["POST","x"]`},
		{"do not follow", `const r = await fetch(at + "/redirect/302", { redirect: "manual" }); return [r.status, r.headers.get("location"), r.redirected]`, `[302,"/echo",false]`},
		{"redirect is an error", `try { await fetch(at + "/redirect/302", { redirect: "error" }) } catch (e) { return [e.name, e.message, e.cause.message] }`, `["TypeError","fetch failed","unexpected redirect"]`},
		{"redirect loop", `try { await fetch(at + "/loop") } catch (e) { return [e.message, e.cause.message] }`, `["fetch failed","redirect count exceeded"]`},
		{"refused", `try { await fetch("http://127.0.0.1:1/") } catch (e) { return [e.name, e.message, e.cause.code] }`, `["TypeError","fetch failed","ECONNREFUSED"]`},
		{"unknown host", `try { await fetch("http://nowhere.invalid/") } catch (e) { return [e.message, /^(ENOTFOUND|EAI_AGAIN)$/.test(e.cause.code)] }`, `["fetch failed",true]`},
		{"cut off", `const r = await fetch(at + "/cut"); try { await r.text() } catch (e) { return [e.name, e.message, e.cause.code] }`, `["TypeError","terminated","UND_ERR_SOCKET"]`},
		{"bad address", `try { await fetch("/relative") } catch (e) { return [e.name, e.message, e.cause.code] }`, `["TypeError","Failed to parse URL from /relative","ERR_INVALID_URL"]`},
		{"stray percent signs", `const r = await fetch(at + "/status/404/100%/%zz/%20?a=100%#5%"); return r.url.slice(at.length)`, "/status/404/100%25/%25zz/%20?a=100%#5%25"},
		{"file", `try { await fetch("file:///etc/passwd") } catch (e) { return [e.message, e.cause.message] }`, `["fetch failed","the scheme of file:///etc/passwd is not known here: read files with node:fs"]`},
		{"data", `const r = await fetch("data:text/plain;base64,aGk="); const s = await fetch("data:,a%20%C3%BC"); return [await r.text(), r.headers.get("content-type"), await s.text()]`, `["hi","text/plain","a ü"]`},
		{"aborted before", `try { await fetch(at + "/echo", { signal: AbortSignal.abort() }) } catch (e) { return e.name }`, "AbortError"},
		{"body given up", `const r = await fetch(at + "/big"); const reader = r.body.getReader(); await reader.read(); await reader.cancel(); return (await reader.read()).done`, "true"},
		{"host header and hop headers", `const r = await fetch(at + "/echo", { headers: { host: "other.example", connection: "close", "content-length": "99", "accept-encoding": "br" } }); return (await r.json()).host`, "true"},
		{"many at once", `const all = await Promise.all(Array.from({ length: 20 }, (_, i) => fetch(at + "/echo", { method: "POST", body: String(i) }).then((r) => r.json()))); return all.map((j) => j.body).join()`, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19"},
	})
}

// A server that says something, and no more until it is told.
func slowServer(t *testing.T) (url string, asked, ended chan struct{}) {
	t.Helper()
	asked, ended = make(chan struct{}, 8), make(chan struct{}, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			_, _ = io.WriteString(w, "first")
			w.(http.Flusher).Flush()
		}
		asked <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked, ended
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s did not happen", what)
	}
}

func TestFetchEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, code, want string }{
		{"with its signal", `ready.resolve(); try { await fetch(at, { signal: c.signal }) } catch (e) { return e.message }`, "enough"},
		{"in the middle of the body", `const r = await fetch(at + "/stream", { signal: c.signal }); const reader = r.body.getReader(); const first = Buffer.from((await reader.read()).value).toString(); ready.resolve(); try { await reader.read() } catch (e) { return [first, e.message] }`, `["first","enough"]`},
		{"before a read", `const r = await fetch(at + "/stream", { signal: c.signal }); c.abort(); try { await r.text() } catch (e) { return e.name }`, "AbortError"},
		{"with its reader", `const r = await fetch(at + "/stream"); for await (const c of r.body) break; return "left"`, "left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url, asked, ended := slowServer(t)
			s := newSandbox(t, Options{Env: map[string]string{"AT": url}}, `const at = process.env.AT, c = new AbortController(), ready = Promise.withResolvers();`,
				`if (params === "abort") { await ready.promise; return void c.abort(new Error("enough")); } `+c.code)
			answer := make(chan string, 1)
			go func() {
				got, err := s.run(t.Context(), nil)
				answer <- fmt.Sprint(got, err)
			}()
			await(t, asked, "the request")
			if c.want != "AbortError" && c.want != "left" {
				s.must(t, "abort")
			}
			if got := <-answer; got != c.want+"<nil>" {
				t.Errorf("got %s, want %s", got, c.want)
			}
			await(t, ended, "the end of the request")
		})
	}
}

func TestFetchTimeout(t *testing.T) {
	t.Parallel()
	url, _, _ := slowServer(t)
	s := newSandbox(t, Options{Env: map[string]string{"AT": url}}, "", `try { await fetch(process.env.AT, { signal: AbortSignal.timeout(20) }) } catch (e) { return e.name }`)
	if got := s.must(t, nil); got != "TimeoutError" {
		t.Error(got)
	}
}

// A body that is no longer reachable is closed at the next garbage collection.
func TestFetchEndsWhenForgotten(t *testing.T) {
	t.Parallel()
	url, asked, ended := slowServer(t)
	s := newSandbox(t, Options{Env: map[string]string{"AT": url}}, "", `
		if (params) { let rings = []; for (let i = 0; i < 20000; i++) { const ring = {}; ring.ring = ring; rings.push(ring); } return ""; }
		await fetch(process.env.AT + "/stream"); return "";`)
	s.must(t, false)
	await(t, asked, "the request")
	s.must(t, true)
	await(t, ended, "the end of the request")
}

// A body that has arrived is buffered in the engine, and not in Go.
func TestFetchUnread(t *testing.T) {
	t.Parallel()
	at := service(t)
	s := newSandbox(t, Options{Env: map[string]string{"AT": at.URL}}, "let r;", `
		if (params === "echo") return (await r.json()).method;
		if (params === "cut") try { await r.text(); } catch (e) { return e.cause.code }
		r = await fetch(process.env.AT + params); return r.status;`)
	for _, c := range []struct{ path, params, want string }{{"/echo", "echo", "GET"}, {"/cut", "cut", "UND_ERR_SOCKET"}} {
		if got := s.must(t, c.path); got != "200" {
			t.Fatal(got)
		}
		for deadline := time.Now().Add(time.Minute); !s.Idle(); {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the request is still in progress", c.path)
			}
			runtime.Gosched()
		}
		if got := s.must(t, c.params); got != c.want {
			t.Errorf("%s: read later, the body is %s", c.path, got)
		}
	}
}

// The rest of a large one is given up, soon when its call is not known.
func TestFetchPartlyRead(t *testing.T) {
	t.Parallel()
	at := service(t)
	h := New(Options{Dir: t.TempDir()})
	h.strayPause = 50 * time.Millisecond
	err := h.fetch(t.Context(), json.RawMessage(`{"url":`+strconv.Quote(at.URL+"/big")+`,"stray":true}`), func(item any) error {
		select {
		case <-item.(engine.Early).Free:
			return nil
		case <-time.After(time.Minute):
			return errors.New("it still waits")
		}
	})
	if !errors.Is(err, errUnread) {
		t.Errorf("it ended with %v", err)
	}
}

func TestFetchEndsWithTheCall(t *testing.T) {
	t.Parallel()
	for _, code := range []string{`await fetch(process.env.AT)`, `await null; await fetch(process.env.AT)`} {
		url, asked, ended := slowServer(t)
		s := newSandbox(t, Options{Env: map[string]string{"AT": url}}, "", code)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the user left")
		go func() {
			<-asked
			cancel(why)
		}()
		if _, err := s.run(ctx, nil); !errors.Is(err, why) {
			t.Errorf("%s: got %v", code, err)
		}
		await(t, ended, "the end of the request")
	}
}

func TestFetchEndsWithTheEngine(t *testing.T) {
	t.Parallel()
	url, asked, ended := slowServer(t)
	s := newSandbox(t, Options{Env: map[string]string{"AT": url}}, "", `fetch(process.env.AT).catch(() => {}); return "on its own"`)
	s.must(t, nil)
	await(t, asked, "the request")
	s.Close()
	await(t, ended, "the end of the request")
}

// What JavaScript sends to Go directly is checked there.
func TestFetchDistrustsItsParams(t *testing.T) {
	t.Parallel()
	h := New(Options{Dir: t.TempDir()})
	for _, params := range []string{
		`null`, `[]`, `"x"`, `{}`, `{"url":5}`, `{"url":"http://a/\u0000"}`, `{"url":"http://a","method":"A B"}`,
		`{"url":"http://a","body":"%%%"}`, `{"url":"gopher://a"}`, `{"url":"http://a","headers":[["a"]]}`, `{"url":"http://a","headers":{}}`,
		`{"url":"http://127.0.0.1:1/","headers":[["a b","c\nd"]]}`, `{"url":"http://a/%zz?key=hunter2"}`, `{"url":"http://a{b/?key=hunter2"}`,
	} {
		err := h.fetch(t.Context(), json.RawMessage(params), func(any) error { return nil })
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: it was taken, or says what is secret: %v", params, err)
		}
	}
}

// A request tells which trace it is part of, and lives on when its call is over.
func TestFetchIsPartOfTheTrace(t *testing.T) {
	t.Parallel()
	var seen testkit.Buffer
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(&seen, r.Header.Get("Traceparent"))
		_, _ = io.WriteString(w, strings.Repeat("body", 100_000))
	}))
	t.Cleanup(at.Close)
	s := newSandbox(t, Options{Env: map[string]string{"AT": at.URL}}, "let r;", `
		if (params) return (await r.text()).length;
		r = await fetch(process.env.AT);`)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ctx, cancel := context.WithCancel(trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36},
		SpanID:     trace.SpanID{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
		TraceFlags: trace.FlagsSampled,
	})))
	if _, err := s.run(ctx, false); err != nil {
		t.Fatal(err)
	}
	cancel()
	if got := s.must(t, true); got != "400000" || seen.String() != parent {
		t.Errorf("the trace is %q, and the body has %s bytes", seen.String(), got)
	}
}

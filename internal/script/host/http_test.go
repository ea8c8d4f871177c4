package host

import (
	"bufio"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// httpHelpers are for snippets: base is the address of a server.
func httpHelpers(base string) string {
	return `import http from "node:http"; import https from "node:https"; import net from "node:net"; import { once } from "node:events"; import { pipeline } from "node:stream/promises"; import { Readable, Writable } from "node:stream";
		const base = ` + strconv.Quote(base) + `, port = Number(new URL(base).port), host = "127.0.0.1";
		const read = async (res) => { let t = ""; res.setEncoding("utf8"); for await (const c of res) t += c; return t; };
		const go = (path, options = {}, body) => new Promise((done, fail) => {
			const req = http.request(base + path, options, (res) => void read(res).then((text) => done({ status: res.statusCode, message: res.statusMessage, version: res.httpVersion, headers: res.headers, raw: res.rawHeaders, text, complete: res.complete, trailers: res.trailers }), fail));
			req.on("error", fail); req.end(body);
		});
		const failure = async (f) => { try { return await f() } catch (e) { return [e.name, e.message, e.code ?? ""] } };
`
}

// newHTTPServer answers with what it was asked, and in ways that its paths name.
func newHTTPServer(t *testing.T) *httptest.Server {
	t.Helper()
	released := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header()["Date"] = nil
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.Header().Add("X-Twice", "1")
		w.Header().Add("X-Twice", "2")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "url": r.RequestURI, "headers": r.Header, "encoding": r.TransferEncoding,
			"length": r.ContentLength, "read": len(body), "start": string(body[:min(20, len(body))]), "trailers": r.Trailer,
		})
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "7")
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "some")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() { close(released); s.Close() })
	return s
}

func TestHTTPClient(t *testing.T) {
	t.Parallel()
	s := newHTTPServer(t)
	echo := serveTCP(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello")
		_, _ = io.Copy(c, in)
	})
	compareWithNode(t, httpHelpers(s.URL)+"const echo = "+portOf(t, echo)+";",
		`go("/a?b=c", { headers: { "X-One": 1, Accept: ["a", "b"] }, auth: "me:secret" })`,
		`go("/post", { method: "POST", headers: { "Content-Type": "text/plain" } }, "hellö")`,
		`go("/none")`,
		`go("/a", { method: "HEAD" })`,
		`go("/delete", { method: "DELETE" })`,
		`go("/trailers")`,
		`failure(() => go("/cut"))`,
		`(await go("/big")).text.length`,
		// Options in all forms, and what is taken for what.
		`const [res] = await once(http.get({ host, port, path: "/x", headers: ["A", "1", "B", "2"] }), "response"); return read(res)`,
		`const [res] = await once(http.get(new URL("/y?z", base), { method: "OPTIONS" }), "response"); return read(res)`,
		`const [res] = await once(http.get("http://somewhere.test:" + port + "/", { lookup: (name, o, done) => (o.all ? done(null, [{ address: host, family: 4 }]) : done(null, host, 4)) }), "response"); return (await read(res)).length > 0`,
		`const [res] = await once(http.get(base, { createConnection: (o) => net.connect(o), agent: undefined }), "response"); return (await read(res)).length > 0`,
		`failure(() => http.get("https://x.test"))`, `failure(() => http.get({ host, port, path: "/a b" }))`, `failure(() => go("/", { headers: { "a b": 1 } }))`, `failure(() => go("/", { headers: { a: "\n" } }))`, `failure(() => go("/", { method: "A B" }))`,
		`failure(() => http.get({ host: 1 }))`, `failure(() => http.request({ agent: 1 }))`,
		// Bodies.
		`const req = http.request(base + "/up", { method: "PUT" }); const answer = once(req, "response"); for (let i = 0; i < 30; i++) if (!req.write(Buffer.alloc(20_000, "q"))) await once(req, "drain"); req.addTrailers({ "X-T": "1" }); req.end(); const [res] = await answer; return read(res)`,
		`const req = http.request(base + "/up", { method: "POST" }); const answer = once(req, "response"); await pipeline(Readable.from([Buffer.alloc(100_000), "x"]), req); const [res] = await answer; return read(res)`,
		`let n = 0; const [res] = await once(http.get(base + "/big"), "response"); await pipeline(res, new Writable({ write(c, e, done) { n += c.length; setImmediate(done); } })); return n`,
		`const req = http.request(base, { method: "POST", headers: { "Content-Length": 3 } }); req.on("error", () => {}); req.strictContentLength = true; try { req.end("12345") } catch (e) { req.destroy(); return [e.code, e.message] }`,
		`const req = http.request(base, { method: "POST", headers: { Expect: "100-continue" } }); req.flushHeaders(); await once(req, "continue"); req.end("later"); const [res] = await once(req, "response"); return read(res)`,
		// Ends.
		`const stop = new AbortController(); const p = failure(() => go("/slow", { signal: stop.signal })); setTimeout(() => stop.abort(), 5); return p`,
		`failure(() => go("/slow", { signal: AbortSignal.abort() }))`,
		`const req = http.get(base + "/slow"); setTimeout(() => req.destroy(), 5); const [e] = await once(req, "error"); return [e.message, e.code, req.destroyed, req.aborted]`,
		`const req = http.get(base + "/slow"); setTimeout(() => req.abort(), 5); const [e] = await once(req, "error"); return [e.message, e.code, req.destroyed, req.aborted]`,
		`const req = http.get(base + "/slow", { timeout: 5 }); await once(req, "timeout"); req.destroy(new Error("too slow")); const [e] = await once(req, "error"); return e.message`,
		`const req = http.get(base + "/slow").setTimeout(5, () => req.destroy(new Error("mine"))); const [e] = await once(req, "error"); return e.message`,
		`const [res] = await once(http.get(base + "/big"), "response"); res.destroy(); await once(res, "close"); return [res.destroyed, res.complete]`,
		`const e = await new Promise((done) => http.get("http://127.0.0.1:1/").on("error", done)); return [e.message, e.code, e.syscall, e.port]`,
		// Events.
		`const seen = []; const req = http.get(base + "/e"); for (const n of ["socket", "finish", "response", "close", "error", "abort"]) req.on(n, () => seen.push(n)); const [res] = await once(req, "response"); for (const n of ["end", "close"]) res.on(n, () => seen.push("res." + n)); res.resume(); await once(req, "close"); return seen`,
		`const req = http.get({ host, port: echo, headers: { Connection: "Upgrade", Upgrade: "echo" } }); const [res, socket, head] = await once(req, "upgrade"); socket.write(" world"); const [d] = await once(socket, "data"); socket.destroy(); return [res.statusCode, res.headers, String(head), String(d)]`,
		`const req = http.get({ host, port: echo }); await once(req, "close"); return req.res.statusCode`,
		`const req = http.request({ host, port: echo, method: "CONNECT", path: "a:1" }); req.end(); const [res, socket, head] = await once(req, "connect"); socket.destroy(); return [res.statusCode, String(head)]`,
		// Agents.
		`const agent = new http.Agent({ keepAlive: true, maxSockets: 2 }); const all = await Promise.all([1, 2, 3, 4, 5].map((n) => new Promise((done) => http.get(base + "/" + n, { agent }, async (res) => { await read(res); done(res.req.reusedSocket) }))));
			while (Object.keys(agent.sockets).length) await new Promise(setImmediate); const free = Object.values(agent.freeSockets).flat().length; agent.destroy(); return [all.filter(Boolean).length >= 3, free, agent.getName({ host: "a", port: 1 })]`,
		`const agent = new http.Agent({ keepAlive: false }); const [res] = await once(http.get(base + "/x", { agent }), "response"); return [JSON.parse(await read(res)).headers.Connection, Object.keys(agent.freeSockets)]`,
		`const made = []; class Own extends http.Agent { createConnection(o, done) { made.push(o.port === port); return super.createConnection(o, done); } } const agent = new Own(); const [res] = await once(http.get(base, { agent }), "response"); await read(res); return made`,
		`[http.globalAgent.keepAlive, http.globalAgent.options.timeout, http.globalAgent.maxSockets, https.globalAgent.protocol, https.globalAgent.getName({ host: "a", port: 443, ca: "x", rejectUnauthorized: false, servername: "b" })]`,
		// The rest of the module.
		`[http.METHODS.filter((m) => m !== "QUERY"), http.STATUS_CODES[418], http.maxHeaderSize, Object.keys(https).sort()]`,
		`failure(() => http.validateHeaderName("a b"))`, `failure(() => http.validateHeaderValue("a", undefined))`, `failure(() => http.validateHeaderValue("a", "ü\u0101"))`, `http.validateHeaderName("ok") === http.validateHeaderValue("a", "ü")`,
		`const req = http.request(base); req.on("error", () => {}); req.setHeader("A-b", [1, 2]); req.appendHeader("c", "d"); const out = [req.getHeader("a-B"), req.getHeaderNames(), req.getRawHeaderNames(), req.getHeaders(), req.hasHeader("C"), req.path, req.host, req.protocol, req.method, req.headersSent]; req.removeHeader("c"); out.push(req.hasHeader("c")); req.destroy(); return out`,
	)
	checkSnippets(t, Options{}, httpHelpers(s.URL), []snippet{
		{"Unix sockets", `failure(() => http.get({ socketPath: "/var/run/docker.sock" }))`, `["Error","Unix sockets are not available in this runtime: connect to a host and a port","ERR_FEATURE_UNAVAILABLE_ON_PLATFORM"]`},
		{"servers", `failure(() => http.createServer())`, `["Error","node:http is not available in this runtime: requests to an agent come through the server; to make some, use fetch, http.request or http.get (createServer was used)","ERR_FEATURE_UNAVAILABLE_ON_PLATFORM"]`},
	})
}

func TestHTTPSClient(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto, r.TLS.ServerName) }))
	defer s.Close()
	proxy := serveTCP(t, func(c net.Conn) { // of the kind that CONNECT is for
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
	})
	imports := httpHelpers(s.URL) + "import tls from 'node:tls'; const ca = " + strconv.Quote(certificateOf(s)) + ", proxy = " + portOf(t, proxy) + `;
		const get = async (options) => { const req = https.get(base, options); const [res] = await once(req, "response"); return [res.statusCode, await read(res), req.protocol, res.socket?.authorized ?? "free"] };`
	compareWithNode(t, imports,
		`get({ ca })`, `get({ ca, servername: "example.com" })`, `get({ ca, agent: false })`, `get({ rejectUnauthorized: false })`,
		`(await failure(() => get({})))[2]`, `(await failure(() => get({ ca, servername: "other.test" })))[2]`,
		`(await failure(() => get({ protocol: "http:" })))`,
		`const agent = new https.Agent({ ca, keepAlive: true, maxSockets: 1 }); const all = await Promise.all([get({ agent }), get({ agent })]); agent.destroy(); return all`,
		// As agents for proxies do it.
		`class Proxied extends https.Agent { createConnection(o, done) {
				const req = http.request({ host, port: proxy, method: "CONNECT", path: o.host + ":" + o.port, agent: false }).end();
				req.on("connect", (res, socket) => done(null, tls.connect({ ...o, socket, servername: undefined, path: undefined }))).on("error", done);
			} } return get({ agent: new Proxied({ ca }) })`,
	)
}

// Responses as servers should not send them end as in Node.js, in one piece and
// byte by byte.
func TestHTTPParser(t *testing.T) {
	t.Parallel()
	head := "HTTP/1.1 200 OK\r\n"
	// Bytes after the end of a response are an error if they come with it, and are
	// not read if they come later: they are sent in one piece only.
	surplus := head + "Content-Length: 3\r\nConnection: close\r\n\r\nabcdef"
	responses := []string{
		surplus,
		head + "Content-Length: 3\r\n\r\nabc",
		head + "Content-Length: 3\r\n\r\nab",
		head + "\r\nuntil the end",
		"HTTP/1.0 200 OK\r\n\r\nold",
		"HTTP/1.0 200\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n",
		"\r\n\r\n" + head + "Content-Length: 0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + head + "Content-Length: 1\r\n\r\ny",
		head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX-Last: 1\r\n\r\n",
		head + "Transfer-Encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		head + "Transfer-Encoding: identity\r\n\r\nabc",
		head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\n3\r\nab",
		head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n",
		head + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
		head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		head + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
		head + "Content-Length: -3\r\n\r\nabc",
		head + "Content-Length: 3, 3\r\n\r\nabc",
		head + "X-Empty:\r\nX-Spaces:  a b \t\r\nx-latin: \xfc\r\nContent-Length: 0\r\n\r\n",
		head + "Bad Name: 1\r\nContent-Length: 0\r\n\r\n",
		head + "No-Colon\r\nContent-Length: 0\r\n\r\n",
		head + ": nothing\r\nContent-Length: 0\r\n\r\n",
		head + "X: a\x00b\r\nContent-Length: 0\r\n\r\n",
		head + "X: a\nContent-Length: 0\r\n\r\n",
		head + "X: a\r\rContent-Length: 0\r\n\r\n",
		head + "X: " + strings.Repeat("a", 20_000) + "\r\nContent-Length: 0\r\n\r\n",
		head + "X: " + strings.Repeat("a", 10_000) + "\r\nContent-Length: 0\r\n\r\n",
		"HTTP/3.7 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n",
		"SSH-2.0-OpenSSH\r\n",
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.1 200 OK",
		head + "X: 1",
		"",
	}
	address := serveTCP(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		var index, step int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d/%d", &index, &step); err != nil || index >= len(responses) {
			return
		}
		for text := responses[index]; text != ""; text = text[min(step, len(text)):] {
			if _, err := io.WriteString(c, text[:min(step, len(text))]); err != nil {
				return
			}
		}
	})
	// The words of errors change with the versions of Node.js.
	imports := httpHelpers("http://"+address) + `const of = async (path) => { const parts = []; const info = []; const end = await new Promise((done) => {
			const req = http.get(base + path, { agent: false }, (res) => { parts.push(res.statusCode, res.statusMessage, res.rawHeaders); let text = ""; res.on("data", (c) => (text += c)).on("end", () => done([text, res.complete, res.trailers])).on("error", (e) => done([e.message])); });
			req.on("information", (i) => info.push(i.statusCode, i.rawHeaders)).on("error", (e) => done(e.code?.startsWith("HPE_") ? "Parse Error" : [e.message, e.code])); });
		return [parts, info, end]; };`
	var codes []string
	for i, text := range responses {
		codes = append(codes, fmt.Sprintf(`of("/%d/100000")`, i))
		if text != surplus {
			codes = append(codes, fmt.Sprintf(`of("/%d/1")`, i))
		}
	}
	compareWithNode(t, imports, codes...)
}

func certificateOf(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

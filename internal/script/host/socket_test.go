package host

import (
	"io"
	"net"
	"testing"
)

// serveTCP accepts connections until the test ends.
func serveTCP(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestSockets(t *testing.T) {
	t.Parallel()
	echo := serveTCP(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
	closed := serveTCP(t, func(net.Conn) {})
	imports := `import net, { Socket, createConnection } from "node:net"; import { once } from "node:events"; import { Duplex } from "node:stream";
		const port = Number(process.env.ECHO), closed = Number(process.env.CLOSED);
		const textOf = async (s) => { let text = ""; for await (const c of s) text += c; return text; };
		const failure = (s) => new Promise((done) => s.on("error", done));`
	checkSnippets(t, Options{Env: map[string]string{"ECHO": portOf(t, echo), "CLOSED": portOf(t, closed)}}, imports, []snippet{
		{"echo", `const s = net.connect(port, "127.0.0.1"); s.write("hello, "); s.end("world"); return [await textOf(s), s.bytesRead, s.bytesWritten]`, `["hello, world",12,12]`},
		{
			"events", `const seen = []; const s = new Socket(); for (const n of ["connect", "ready", "data", "end", "close"]) s.on(n, (a) => seen.push(n + ":" + (a ?? "")));
			s.connect({ port, host: "127.0.0.1" }, () => s.end("x")); const early = [s.connecting, s.readyState]; await once(s, "close"); return [...early, ...seen, s.readyState, s.destroyed]`,
			`[true,"opening","connect:","ready:","data:x","end:","close:false","closed",true]`,
		},
		{"addresses", `const s = createConnection({ port, host: "localhost", family: 4 }); await once(s, "connect");
			const out = [s.remoteAddress, s.remotePort === port, s.remoteFamily, s.localPort === s.address().port, s.address().family, s.readyState, s instanceof Duplex]; s.destroy(); return out`, `["127.0.0.1",true,"IPv4",true,"IPv4","open",true]`},
		{"large", `const s = net.connect(port, "127.0.0.1"); const size = 3_000_000; let n = 0, full = 0, drained = 0; s.on("drain", () => drained++); s.on("data", (d) => { n += d.length; if (n === size) s.end(); });
			if (!s.write(Buffer.alloc(size, "é"))) full++; await once(s, "close"); return [n, full, drained]`, `[3000000,1,1]`},
		{"the other side ends", `const s = net.connect(closed, "127.0.0.1"); s.resume(); const [bad] = await once(s, "close"); return bad`, "false"},
		{"refused", `const e = await failure(net.connect(1, "127.0.0.1")); return [e.message, e.code, e.syscall, e.address, e.port, e.errno]`, `["connect ECONNREFUSED 127.0.0.1:1","ECONNREFUSED","connect","127.0.0.1",1,-111]`},
		{"no such name", `const e = await failure(net.connect(1, "no-such-name.invalid")); return [/^getaddrinfo (ENOTFOUND|EAI_AGAIN) no-such-name.invalid$/.test(e.message), e.syscall, e.hostname]`, `[true,"getaddrinfo","no-such-name.invalid"]`},
		{"timeout", `const s = net.connect({ port, host: "127.0.0.1", timeout: 20 }); await once(s, "timeout"); const open = !s.destroyed; s.destroy(); return open`, "true"},
		{"own lookup", `const s = net.connect({ port, host: "somewhere", lookup: (name, o, done) => done(null, "127.0.0.1", 4) }); s.end(s._host); return textOf(s)`, "somewhere"},
		{"signal", `const stop = new AbortController(); const s = net.connect({ port, host: "127.0.0.1", signal: stop.signal }); stop.abort(); return (await failure(s)).name`, "AbortError"},
		{"destroyed early", `const s = net.connect(port, "127.0.0.1"); s.write("x"); s.destroy(); await once(s, "close"); return s.destroyed`, "true"},
		{"paused", `const s = net.connect(port, "127.0.0.1"); s.pause(); s.on("data", () => {}); s.write(Buffer.alloc(1000)); await once(s, "readable"); const n = s.readableLength; s.destroy(); return n`, "1000"},
		{"once", `const s = net.connect(port, "127.0.0.1"); s.write("x"); const [d] = await once(s, "data"); s.destroy(); return String(d)`, "x"},
		{"bad port", `try { net.connect(70000) } catch (e) { return e.code }`, "ERR_SOCKET_BAD_PORT"},
		{"no Unix sockets", `try { net.connect("/var/run/docker.sock") } catch (e) { return e.message }`, "Unix sockets are not available in this runtime: connect to a host and a port"},
		{"no servers", `try { net.createServer() } catch (e) { return e.message.slice(0, 41) }`, "node:net is not available in this runtime"},
	})
}

package host

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"testing"
)

// A server with TLS, and one on which TLS begins after a word. The certificate of
// both is for example.com and 127.0.0.1.
func TestSocketsWithTLS(t *testing.T) {
	t.Parallel()
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	config := &tls.Config{Certificates: known.TLS.Certificates, NextProtos: []string{"echo"}}
	direct := serveTCP(t, func(c net.Conn) {
		s := tls.Server(c, config)
		defer s.Close()
		_, _ = io.Copy(s, s)
	})
	later := serveTCP(t, func(c net.Conn) {
		// Not a byte of the handshake may be read with the line.
		if line, _ := bufio.NewReaderSize(oneByte{c}, 16).ReadString('\n'); line == "inject\n" {
			_, _ = io.WriteString(c, "go\nand more")
		} else {
			_, _ = io.WriteString(c, "go\n")
		}
		s := tls.Server(c, config)
		defer s.Close()
		_, _ = io.Copy(s, s)
	})
	silent := serveTCP(t, func(c net.Conn) { _, _ = io.ReadAll(c) })
	plain := serveTCP(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "220 this is not TLS\r\n")
		_, _ = io.ReadAll(c)
	})
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw}))
	env := map[string]string{"DIRECT": portOf(t, direct), "LATER": portOf(t, later), "SILENT": portOf(t, silent), "PLAIN": portOf(t, plain), "CA": ca}
	imports := `import tls from "node:tls"; import net from "node:net"; import { once } from "node:events"; import { Socket } from "net";
		const { DIRECT, LATER, SILENT, PLAIN, CA: ca } = process.env; const host = "127.0.0.1";
		const textOf = async (s) => { let text = ""; for await (const c of s) text += c; return text; };
		const failure = (s) => new Promise((done) => s.on("error", done));
		const upgrade = async (word, options) => { const plain = net.connect(LATER, host); plain.write(word + "\n"); await once(plain, "data"); return [plain, tls.connect({ socket: plain, ca, ...options })]; };`
	checkSnippets(t, Options{Env: env}, imports, []snippet{
		{"direct", `const s = tls.connect({ host, port: DIRECT, ca, ALPNProtocols: ["echo"] }); await once(s, "secureConnect"); s.end("hello");
			const cert = s.getPeerCertificate(); return [await textOf(s), s.authorized, s.alpnProtocol, s.getProtocol(), s.encrypted, s instanceof Socket, cert.subjectaltname.includes("DNS:example.com"), cert.raw.length > 100]`, `["hello",true,"echo","TLSv1.3",true,true,true,true]`},
		{"written before it is open", `const s = tls.connect(DIRECT, host, { ca: [Buffer.from(ca)] }, () => s.end()); s.write("early"); return textOf(s)`, "early"},
		{"unknown authority", `const e = await failure(tls.connect({ host, port: DIRECT })); return e.code`, "DEPTH_ZERO_SELF_SIGNED_CERT"},
		{"not verified", `const s = tls.connect({ host, port: DIRECT, rejectUnauthorized: false }); await once(s, "secureConnect"); s.destroy(); return [s.authorized, s.authorizationError]`, `[false,"DEPTH_ZERO_SELF_SIGNED_CERT"]`},
		{"another name", `return (await failure(tls.connect({ host, port: DIRECT, ca, servername: "other.test" }))).code`, "ERR_TLS_CERT_ALTNAME_INVALID"},
		{"the name of servername", `const s = tls.connect({ host, port: DIRECT, ca, servername: "example.com" }); await once(s, "secureConnect"); s.destroy(); return s.authorized`, "true"},
		{"own check accepts", `let asked; const s = tls.connect({ host, port: DIRECT, ca, servername: "other.test", checkServerIdentity: (name, cert) => void (asked = name + cert.ca) }); await once(s, "secureConnect"); s.destroy(); return asked`, "other.testtrue"},
		{"own check refuses", `return (await failure(tls.connect({ host, port: DIRECT, ca, checkServerIdentity: () => new Error("no") }))).message`, "no"},
		{"own check knows no authority", `return (await failure(tls.connect({ host, port: DIRECT, checkServerIdentity: () => {} }))).code`, "DEPTH_ZERO_SELF_SIGNED_CERT"},
		{"upgrade", `const [plain, s] = await upgrade("tls"); await once(s, "secureConnect"); const over = once(plain, "close"); s.end("secret"); const text = await textOf(s); await over; return [text, s.authorized, plain.destroyed]`, `["secret",true,true]`},
		{"upgrade to an unknown authority", `const [, s] = await upgrade("tls", { ca: undefined }); return (await failure(s)).code`, "DEPTH_ZERO_SELF_SIGNED_CERT"},
		{"data before TLS", `const plain = net.connect(LATER, host); plain.write("inject\n"); await once(plain, "connect"); const s = tls.connect({ socket: plain, ca });
			return ["EPROTO", "ECONNRESET"].includes((await failure(s)).code)`, "true"},
		{"the end of the plain one", `const [plain, s] = await upgrade("tls"); await once(s, "secureConnect"); s.resume(); plain.end(); await once(s, "close"); return plain.destroyed || s.destroyed`, "true"},
		{"no answer", `const s = tls.connect({ host, port: SILENT, ca, timeout: 20 }); await once(s, "timeout"); s.destroy(); await once(s, "close"); return s.connecting`, "false"},
		{"not TLS", `const s = tls.connect({ host, port: PLAIN, ca }); return (await failure(s)).code`, "EPROTO"},
		{"no authority in ca", `return (await failure(tls.connect({ host, port: DIRECT, ca: "x" }))).message`, "ca contains no certificate in PEM form"},
		{"checkServerIdentity", `const c = { subjectaltname: "DNS:*.a.test, DNS:b.test, IP Address:10.0.0.1", subject: {} };
			return ["x.a.test", "b.test", "10.0.0.1", "a.test", "x.y.a.test", "10.0.0.2"].map((h) => tls.checkServerIdentity(h, c)?.code ?? "ok")`, `["ok","ok","ok","ERR_TLS_CERT_ALTNAME_INVALID","ERR_TLS_CERT_ALTNAME_INVALID","ERR_TLS_CERT_ALTNAME_INVALID"]`},
	})
}

func TestHostDNS(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, `import dns, { promises } from "node:dns"; import { lookup, resolve4 } from "node:dns/promises"; import { promisify } from "node:util";`, []snippet{
		{"lookup", `lookup("127.0.0.1")`, `{"address":"127.0.0.1","family":4}`},
		{"a name", `(await lookup("localhost", { family: 4, all: true }))[0]`, `{"address":"127.0.0.1","family":4}`},
		{"callback", `await new Promise((done) => dns.lookup("127.0.0.1", (e, address, family) => done([e, address, family])))`, `[null,"127.0.0.1",4]`},
		{"callback for all", `await promisify(dns.lookup)("::1", { all: true })`, `[{"address":"::1","family":6}]`},
		{"no such name", `const e = await promises.lookup("no-such-name.invalid").catch((e) => e); return [e.message === "getaddrinfo " + e.code + " no-such-name.invalid", ["ENOTFOUND", "EAI_AGAIN"].includes(e.code), e.hostname]`, `[true,true,"no-such-name.invalid"]`},
		{"no records", `const e = await resolve4("no-such-name.invalid").catch((e) => e); return e.syscall`, "queryA"},
		{"resolver", `typeof new dns.Resolver().resolveMx + typeof new promises.Resolver().resolve`, "functionfunction"},
	})
}

// oneByte reads one byte at a time.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:1]) }

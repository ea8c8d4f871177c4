package host

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley/internal/public"
)

func hostsOf(t *testing.T, list ...string) *public.Hosts {
	t.Helper()
	h, err := public.ParseHosts(list)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Code whose hosts are restricted reaches no private address, in whatever way it
// asks for it.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer private.Close()
	dual := serveTCP(t, func(net.Conn) { asked.Add(1) })
	// The way there is open, and leads on to a server that is not permitted.
	redirect := httptest.NewServer(http.RedirectHandler(private.URL, http.StatusFound))
	defer redirect.Close()
	env := map[string]string{"PRIVATE": portOf(t, private.Listener.Addr().String()), "DUAL": portOf(t, dual), "REDIRECT": portOf(t, redirect.Listener.Addr().String())}
	imports := `import net from "node:net"; import tls from "node:tls"; import http from "node:http"; import dns from "node:dns";
		const { PRIVATE: port, DUAL: dual, REDIRECT: redirect } = process.env;
		const fetched = async (url) => { try { return (await fetch(url)).status } catch (e) { return e.cause?.code + " " + e.cause?.message } };
		const code = (emitter) => new Promise((done) => emitter.on("error", (e) => done(e.code)).on("connect", () => done("connected")).on("response", () => done("response")));`
	const refused = "EACCES connections to 127.0.0.1:"
	got := func(name, text string) snippet { return snippet{name, text, "EACCES"} }
	checkSnippets(t, Options{Env: env, Hosts: hostsOf(t, "public", "127.0.0.1:"+env["REDIRECT"])}, imports, []snippet{
		{"fetch", "(await fetched(`http://127.0.0.1:${port}/`)).startsWith(" + `"` + refused + `")`, "true"},
		{"what to do", "(await fetched(`http://127.0.0.1:${port}/`)).endsWith(\"(--allow_hosts_for_agents)\")", "true"},
		{"fetch by redirect", "(await fetched(`http://127.0.0.1:${redirect}/`)).slice(0, 6)", "EACCES"},
		{"fetch by name", "(await fetched(`http://localhost:${port}/`)).slice(0, 6)", "EACCES"},
		{"fetch, mapped", "(await fetched(`http://[::ffff:127.0.0.1]:${port}/`)).slice(0, 6)", "EACCES"},
		{"fetch, as a number", "(await fetched(`http://2130706433:${port}/`)).slice(0, 6)", "EACCES"},
		{"the address of all", "(await fetched(`http://0.0.0.0:${port}/`)).slice(0, 6)", "EACCES"},
		got("metadata of clouds", `code(net.connect(80, "169.254.169.254"))`),
		got("socket", `code(net.connect(dual, "127.0.0.1"))`),
		got("socket by name", `code(net.connect(dual, "localhost"))`),
		got("socket, mapped", `code(net.connect(dual, "::ffff:127.0.0.1"))`),
		got("socket by a name of its own", `code(net.connect({ port: dual, host: "example.com", lookup: (name, o, done) => done(null, "127.0.0.1", 4) }))`),
		got("TLS", `code(tls.connect(dual, "127.0.0.1"))`),
		got("node:http", "code(http.get(`http://127.0.0.1:${port}`))"),
		{"WebSocket", "const ws = new WebSocket(`ws://127.0.0.1:${port}`); return new Promise((done) => (ws.onerror = (e) => done(e.error.code)))", "EACCES"},
	})
	if n := asked.Load(); n != 0 {
		t.Errorf("%d connections arrived", n)
	}
	checkSnippets(t, Options{Env: env, Hosts: hostsOf(t, "localhost:"+env["PRIVATE"], "127.0.0.0/8")}, imports, []snippet{
		{"a permitted name", "fetched(`http://localhost:${port}/`)", "200"},
		{"a permitted network", `code(net.connect(dual, "127.0.0.1"))`, "connected"},
	})
}

// Restricted connections use no proxy, which would connect to all.
func TestGuardedClientHasNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	_, err := guardedClient(hostsOf(t, "public")).Get("http://127.0.0.2:2/")
	if err == nil || !strings.Contains(err.Error(), "127.0.0.2:2 are not permitted") {
		t.Errorf("the error is %v", err)
	}
}

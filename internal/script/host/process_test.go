package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/script/bundle"
)

func TestHostConsole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, code, want string }{
		{"log", `console.log("hi %s", "you", { a: [1, { b: 2 }] })`, `level=INFO msg=console app=demo text="hi you { a: [ 1, { b: 2 } ] }"`},
		{"levels", `console.debug("d"); console.info("i"); console.warn("w"); console.error("e")`, "level=DEBUG msg=console app=demo text=d\nlevel=INFO msg=console app=demo text=i\nlevel=WARN msg=console app=demo text=w\nlevel=ERROR msg=console app=demo text=e"},
		{"group", `console.group("g"); console.log("a\nb"); console.groupEnd(); console.log("c")`, "text=g\ntext=\"  a\\n  b\"\ntext=c"},
		{"count", `console.count(); console.count("x"); console.count(); console.countReset(); console.count()`, "text=\"default: 1\"\ntext=\"x: 1\"\ntext=\"default: 2\"\ntext=\"default: 1\""},
		{"assert", `console.assert(true, "no"); console.assert(false, "yes %d", 1); console.assert(0)`, "level=ERROR text=\"Assertion failed: yes 1\"\nlevel=ERROR text=\"Assertion failed\""},
		{"dir", `console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 })`, `text="{ a: [Object] }"`},
		{"table", `console.table([{ a: 1, b: "x" }, { a: 2 }])`, `text="┌─────────┬───┬─────┐\n│ (index) │ a │ b   │\n├─────────┼───┼─────┤\n│ 0       │ 1 │ 'x' │\n│ 1       │ 2 │     │\n└─────────┴───┴─────┘"`},
		{"table of values", `console.table(["x"]); console.table(5)`, "text=\"┌─────────┬────────┐\\n│ (index) │ Values │\\n├─────────┼────────┤\\n│ 0       │ 'x'    │\\n└─────────┴────────┘\"\ntext=5"},
		{"unbound", `const { log, timeEnd } = console; log("x"); [1].forEach(console.log); timeEnd("none")`, "text=x\ntext=\"1 0 [ 1 ]\"\nlevel=WARN text=\"There is no timer none for console.time\""},
		{"hostile", `console.log({ get a() { throw 1 } }, new Proxy({}, { ownKeys() { throw new Error("no") } }), { toString() { throw 2 } })`, `text="{ a: [Getter] } (could not be shown: no) { toString: [Function: toString] }"`},
		{"stdout", `process.stdout.write("a"); process.stdout.write("b\nc\nd"); process.stdout.end(); process.stderr.write("e\n")`, "text=\"ab\\nc\"\ntext=d\nlevel=ERROR text=e"},
		{"warning", `process.emitWarning("old", "DeprecationWarning")`, `level=WARN text="DeprecationWarning: old"`},
		{"uncaught in a timer", `setTimeout(() => { throw "x" }, 0); await new Promise((r) => setTimeout(r, 5))`, `level=ERROR text="Uncaught x"`},
		{"uncaught in a microtask", `queueMicrotask(() => { throw "x" }); await new Promise((r) => setTimeout(r, 5))`, `level=ERROR text="Uncaught x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t, Options{}, "", c.code)
			s.must(t, nil)
			got := strings.TrimSpace(s.log.String())
			if !strings.Contains(c.want, "app=") { // the short form
				got = strings.NewReplacer("msg=console app=demo ", "", "level=INFO ", "").Replace(got)
			}
			if got != c.want {
				t.Errorf("\n got: %s\nwant: %s", got, c.want)
			}
		})
	}
}

func TestHostConsoleShowsStacksAndCutsShort(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{}, `class Wrong extends TypeError {} function fails() { throw new Wrong("bad", { cause: new Error("deep") }) }`,
		`try { fails() } catch (e) { console.log(e); console.trace("here") } console.log("x".repeat(100_000)); console.time("t"); console.timeEnd("t")`)
	s.must(t, nil)
	log := s.log.String()
	for _, want := range []string{"text=\"Wrong [TypeError]: bad\\n    at Wrong", "[cause]: Error: deep", "Trace: here\\n", "xxx… (34464 bytes left out)", "text=\"t: "} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%.3000s", want, log)
		}
	}
}

func TestHostProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	checkSnippets(t, Options{Dir: dir, Env: map[string]string{"A": "1"}}, `import proc, { env } from "node:process"; import { exit } from "process";`, []snippet{
		{"env", `JSON.stringify(process.env)`, `{"A":"1"}`},
		{"env is text", `process.env.B = 5; process.env.C = undefined; const out = [process.env.B, "C" in process.env, process.env.C, env.B]; delete process.env.B; delete process.env.C; return [...out, "B" in process.env, process.env.NOPE]`, `["5",true,"undefined","5",false,null]`},
		{"cwd", `process.cwd()`, dir},
		{"version", `[process.version.startsWith("v20"), process.versions.node.startsWith("20"), process.argv.length, typeof process.pid, typeof process.platform, proc === process]`, `[true,true,2,"number","string",true]`},
		{"hrtime", `const a = process.hrtime(), b = process.hrtime.bigint(); const d = process.hrtime(a); return [d[0] === 0 && d[1] >= 0, process.hrtime.bigint() >= b, process.uptime() >= 0, process.memoryUsage().rss > 0]`, `[true,true,true,true]`},
		{"listeners", `process.on("SIGINT", () => {}).once("exit", () => {}).off("x", () => {}) === process && process.emit("x") === false`, "true"},
		{"exit", `process.exit(3)`, "throws ProcessExit: process.exit(3) was called: here it ends this call, and the server continues"},
		{"exit imported", `try { exit() } catch (e) { return [e.code, e.exitCode] }`, `["ERR_PROCESS_EXIT",0]`},
		{"stdin", `return [process.stdin.isTTY, (() => { try { process.stdin.on("data", () => {}) } catch (e) { return e.message.slice(0, 49) } })()]`, `[false,"process.stdin is not available in this runtime: p"]`},
		{"navigator", `navigator.userAgent`, "parley"},
	})
}

// Each engine has its own view of the environment.
func TestHostEnvIsACopy(t *testing.T) {
	t.Parallel()
	env := map[string]string{"A": "1"}
	s := newSandbox(t, Options{Env: env}, "", `process.env.A = "2"; process.env.__proto__ = "x"; return ({}).x ?? process.env.A`)
	if got := s.must(t, nil); got != "2" || env["A"] != "1" || len(env) != 1 {
		t.Errorf("got %q, and %v is left", got, env)
	}
}

func TestHostUnavailable(t *testing.T) {
	t.Parallel()
	imports := `import { spawn, exec } from "node:child_process"; import cp from "child_process"; import * as http from "http"; import https from "node:https";
		import { promisify } from "util"; import net, { Server } from "net"; import tls from "tls"; import { Worker, isMainThread } from "worker_threads"; import cluster from "cluster";
		import dns from "dns/promises"; import vm from "vm"; import v8 from "v8"; import tty from "tty"; import readline from "node:readline"; import { createInterface } from "readline/promises";
		import { createRequire } from "module"; import crypto from "crypto"; import inspector from "inspector";
		const execAsync = promisify(exec); const agent = new https.Agent({ keepAlive: true }); class Mine extends Server {} class S extends http.Server {}
		const says = async (f) => { try { await f(); return "ok" } catch (e) { return e.message } };`
	checkSnippets(t, Options{}, imports, []snippet{
		{"spawn", `await new Promise((r) => spawn("ls").on("error", (e) => r([e.code, e.message])))`, `["ENOENT","spawn ls ENOENT: node:child_process is not available in this runtime: agents cannot start programs; write a tool in Go, reach the program over HTTP with fetch, or put \"parley\": {\"engine\": \"node\"} into the package.json of the agent"]`},
		{"default import", `await says(() => cp.execSync("ls"))`, "node:child_process is not available in this runtime: agents cannot start programs; write a tool in Go, reach the program over HTTP with fetch, or put \"parley\": {\"engine\": \"node\"} into the package.json of the agent (execSync was used)"},
		{"promisified", `(await says(() => execAsync("ls"))).slice(0, 68)`, "spawn ls ENOENT: node:child_process is not available in this runtime"},
		{"http", `[await says(() => http.createServer()), http.STATUS_CODES[404], http.METHODS.includes("GET"), agent.options.keepAlive]`, `["node:http is not available in this runtime: requests to an agent come through the server; to make some, use fetch, http.request or http.get (createServer was used)","Not Found",true,true]`},
		{"a class of it", `[(await says(() => new Mine())).slice(0, 41), (await says(() => new S())).slice(0, 42)]`, `["node:net is not available in this runtime","node:http is not available in this runtime"]`},
		{"worker", `[isMainThread, (await says(() => new Worker("x"))).slice(0, 20), cluster.isPrimary]`, `[true,"node:worker_threads ",true]`},
		{"others", `(await Promise.all([() => net.createServer(), () => tls.createServer(), () => dns.setServers([]), () => vm.runInNewContext("1"), () => v8.serialize(1), () => readline.createInterface({}), () => createInterface({}), () => inspector.open()].map(says))).map((m) => m.split(" is not available in this runtime: ")[0]).join()`, "node:net,node:tls,setServers of node:dns/promises,node:vm,node:v8,node:readline,node:readline,node:inspector"},
		{"tty", `tty.isatty(1)`, "false"},
		{"require", `await says(() => createRequire("file:///x")("./y"))`, `require("./y") of createRequire is not available in this runtime: import the module at the top of the file`},
		{"require what is there", `const r = createRequire(import.meta.url); return [r("node:path") === (await import("node:path")).default, r("os").EOL, r.resolve("node:fs"), (await says(() => r("./none.json"))).slice(0, 6)]`, `[true,"\n","node:fs","ENOENT"]`},
		{"part of a module", `await says(() => crypto.createDiffieHellman(8))`, "createDiffieHellman of node:crypto is not available in this runtime: this runtime has hashes, keys, signatures, AES and derived keys; what is left belongs into a tool in Go or a service"},
		{"unknown hash", `await says(() => crypto.createHash("whirlpool"))`, "Invalid digest: whirlpool (this runtime has md5, sha1, SHA-2 and SHA-3)"},
		{"unknown algorithm", `await says(() => globalThis.crypto.subtle.importKey("raw", new Uint8Array(1), "RC4", true, []))`, "Unrecognized algorithm name"},
		{"looks like a module", `[(await import("child_process")) !== undefined, typeof cp, cp.then, cp.nope, net.isIP("1.2.3.4"), net.isIP("::1"), net.isIP("x")]`, `[true,"object",null,null,4,6,0]`},
		{"globals that are not there", `[typeof XMLHttpRequest, typeof window, typeof document]`, `["undefined","undefined","undefined"]`},
	})
}

func TestHostDotenvAndUUID(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{Dir: agentDir(t), Env: map[string]string{"KEPT": "process"}}, `import "dotenv/config"; import dotenv, { config, parse } from "dotenv"; import { v4, v7, v1, validate, version, NIL } from "uuid"; import * as uuid from "uuid";
		const start = { ...process.env };`, []snippet{
		{"on import", `[start.FROM_FILE, start.KEPT, start.QUOTED, start.SINGLE, start.PLAIN, start.EMPTY, start.MULTI]`, `["1","process","a\nb # c","x y","v w","","one\ntwo"]`},
		{"config", `const r = config({ quiet: true }); return [r.error, r.parsed.KEPT, process.env.KEPT]`, `[null,"file","process"]`},
		{"path", `dotenv.config({ path: "other.env", override: true }); return process.env.KEPT`, "other"},
		{"several", `dotenv.config({ path: ["other.env", ".env"], processEnv: {} }).parsed.KEPT`, "other"},
		{"no file", `const r = config({ path: "nope.env" }); return [r.error.code, r.parsed]`, `["ENOENT",{}]`},
		{"outside", `config({ path: "../secret.txt" }).error.code`, "EACCES"},
		{"parse", `parse("A=1\r\nB = two words \nC='x'\nD=\"y\nnot a line\n=z\nE=a#b\nF:1")`, `{"A":"1","B":"two words","C":"x","D":"\"y","E":"a#b","F":"1"}`},
		{"parse bytes", `parse(Buffer.from("A=ü"))`, `{"A":"ü"}`},
		{"uuid", `[version(v4()), version(v7()), validate(v1()), validate(NIL), validate("x"), validate(v4()), v4() !== v4(), uuid.stringify(uuid.parse("6ba7b810-9dad-41d1-80b4-00c04fd430c8"))]`, `[4,7,true,true,false,true,true,"6ba7b810-9dad-41d1-80b4-00c04fd430c8"]`},
		{"uuid v7 sorts", `v7({ msecs: 1 }) < v7({ msecs: 2 ** 40 }) && v7({ msecs: 0x0123456789ab }).startsWith("01234567-89ab-7")`, "true"},
		{"uuid into a buffer", `v4(null, new Uint8Array(20), 2).slice(2).some((b) => b > 0)`, "true"},
	})
}

// Every module that Node.js 20 has can be imported under both of its names.
func TestHostEveryModule(t *testing.T) {
	t.Parallel()
	names := strings.Fields(`assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
		diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector inspector/promises module net os
		path path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl stream stream/consumers
		stream/promises stream/web string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi
		worker_threads zlib`)
	var imports strings.Builder
	for i, name := range names {
		id := string(rune('a'+i%26)) + string(rune('a'+i/26))
		imports.WriteString("import * as " + id + "_ from \"" + name + "\"; import " + id + "$ from \"node:" + name + "\"; if (!" + id + "_ || !" + id + "$) throw new Error(\"" + name + "\");\n")
	}
	s := newSandbox(t, Options{}, imports.String(), `return "loaded"`)
	s.must(t, nil)
}

func TestHostModuleErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for code, want := range map[string]string{
		`import "left-pad"`:  `the package "left-pad" is not installed: run npm install in the directory of the agent`,
		`import "node:nope"`: `"node:nope" is not available in this runtime`,
	} {
		entry := filepath.Join(dir, "index.ts")
		if err := os.WriteFile(entry, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bundle.Build(bundle.QuickJS, "", entry, bundle.NewBounds(filepath.Dir(entry), filepath.Dir(entry))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got: %v\nwant: %s", code, err, want)
		}
	}
}

// What reaches Go is data: nothing that code does to its prototypes matters.
func TestHostPrototypePollution(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Dir: agentDir(t)}, `import fs from "fs";`, `
		Object.prototype.path = "/etc/passwd"; Object.prototype.op = "read"; Object.prototype.toJSON = function () { return { op: "read", path: "/etc/passwd" } };
		Array.prototype.toJSON = String.prototype.toJSON = () => "x";
		const out = [];
		for (const f of [() => fs.readFileSync("nope"), () => fs.readFileSync("../secret.txt"), () => console.log("x"), () => crypto.randomUUID()]) try { out.push(typeof f()) } catch (e) { out.push("threw") }
		delete Object.prototype.toJSON; delete Array.prototype.toJSON; delete String.prototype.toJSON; delete Object.prototype.path; delete Object.prototype.op;
		return [out.slice(0, 2), fs.readFileSync("data/a.txt", "utf8")]`)
	if got := s.must(t, nil); got != `[["threw","threw"],"grüße"]` {
		t.Error(got)
	}
}

// Host functions take any text, and answer.
func FuzzHost(f *testing.F) {
	h := New(Options{App: "fuzz", Dir: f.TempDir()})
	all := h.Engine().Functions
	for name := range all {
		for _, payload := range []string{"", "null", "{}", "[]", "5", `"x"`, `{"level":1}`, `{"algorithm":"md5","data":"!"}`, `{"op":"read","path":"../x"}`, "aGk=", "-1", `"de-DE"`} {
			f.Add(name, payload)
		}
	}
	f.Fuzz(func(_ *testing.T, name, payload string) {
		if fn := all[name]; fn != nil {
			_, _ = fn(payload)
		}
	})
}

package host

import (
	"fmt"
	"testing"
)

const nodeImports = `import path from "path";
import fs from "fs";
import util from "util";
import url from "url";
import os from "os";
import crypto from "crypto";
import events from "events";
import qs from "querystring";
import http from "http";
import tracing from "diagnostics_channel";
import assert from "assert";
import { StringDecoder } from "string_decoder";
import timersP from "timers/promises";
import stream from "stream";
import { AsyncLocalStorage } from "async_hooks";
import nodeBuffer from "buffer";
import { once } from "events";
import streamP from "stream/promises";
import consumers from "stream/consumers";
`

// The expected values are those of Node.js 20.
func TestHostNode(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, nodeImports, []snippet{
		{"path join", `[path.join("a", "..", "/b", "./c/"), path.join(""), path.join("/a", "../.."), path.join("a", "../../b")]`, `["b/c/",".","/","../b"]`},
		{"path normalize", `["/a//b/../c/.", "a/../..", "./x/", "", "/..", "a/b/../../..", "//x"].map((p) => path.normalize(p))`, `["/a/c","..","x/",".","/","..","/x"]`},
		{"path resolve", `[path.resolve("/a", "b", "../c"), path.resolve("/a", "/b/"), path.resolve("/")]`, `["/a/c","/b","/"]`},
		{"path relative", `[path.relative("/a/b/c", "/a/d"), path.relative("/a", "/a"), path.relative("/a", "/a/b"), path.relative("/", "/x")]`, `["../../d","","b","x"]`},
		{"path dirname", `["/a/b", "/a/b/", "/a", "a", "", "/", "a//b", "./a"].map((p) => path.dirname(p))`, `["/a","/a","/",".",".","/","a/","."]`},
		{"path basename", `[path.basename("/a/b.txt"), path.basename("/a/b.txt", ".txt"), path.basename("/a/b/"), path.basename(".txt", ".txt"), path.basename("/"), path.basename("")]`, `["b.txt","b","b","","",""]`},
		{"path extname", `["a.b.c", ".bashrc", "a.", "a", "/x.y/z", "..", ".a.b", "a.b/"].map((p) => path.extname(p))`, `[".c","",".","","","",".b",".b"]`},
		{"path parse", `["/home/u/f.txt", "f", "/", "./a/b.c", "a/b", ""].map((p) => path.parse(p))`, `[{"root":"/","dir":"/home/u","base":"f.txt","ext":".txt","name":"f"},{"root":"","dir":"","base":"f","ext":"","name":"f"},{"root":"/","dir":"/","base":"","ext":"","name":""},{"root":"","dir":"./a","base":"b.c","ext":".c","name":"b"},{"root":"","dir":"a","base":"b","ext":"","name":"b"},{"root":"","dir":"","base":"","ext":"","name":""}]`},
		{"path format", `[path.format({dir: "/a", base: "b.c"}), path.format({root: "/", name: "x", ext: "y"}), path.format({dir: "/", root: "/", base: "q"}), path.format({name: "f", ext: ".t"})]`, `["/a/b.c","/x.y","/q","f.t"]`},
		{"path win32", `[path.win32.join("a", "..", "b", "c"), path.win32.normalize("C:/a//b/../c"), path.win32.basename("C:\\x\\y.txt"), path.win32.dirname("C:\\x\\y"), path.win32.isAbsolute("C:/x"), path.win32.isAbsolute("C:x"), path.win32.resolve("C:\\a", "..\\b"), path.win32.relative("C:\\a\\b", "C:\\a\\c"), path.win32.parse("C:\\a\\b.c"), path.win32.normalize("\\\\srv\\share\\x\\..")]`, `["b\\c","C:\\a\\c","y.txt","C:\\x",true,false,"C:\\b","..\\c",{"root":"C:\\","dir":"C:\\a","base":"b.c","ext":".c","name":"b"},"\\\\srv\\share\\"]`},
		{"path bad", `{ try { path.join(1) } catch (e) { return [e.name, e.code] } return 0 }`, `["TypeError","ERR_INVALID_ARG_TYPE"]`},
		{"path misc", `[path.sep, path.delimiter, path.posix === path, path.isAbsolute("/a"), path.isAbsolute("a")]`, `["/",":",true,true,false]`},
		{"url files", `[url.fileURLToPath("file:///a%20b/c"), url.pathToFileURL("/a b/ü?#%.txt").href, url.fileURLToPath(new URL("file:///x"))]`, `["/a b/c","file:///a%20b/%C3%BC%3F%23%25.txt","/x"]`},
		{"url files bad", `{ const out = []; for (const u of ["http://a", "file://host/x", "file:///a%2fb"]) try { url.fileURLToPath(u); out.push("ok") } catch (e) { out.push(e.code) } return out; }`, `["ERR_INVALID_URL_SCHEME","ERR_INVALID_FILE_URL_HOST","ERR_INVALID_FILE_URL_PATH"]`},
		{"url parse", `{ const u = url.parse("https://u:p@h.com:8/p/a?x=1&y=2#h", true); return [u.protocol, u.auth, u.host, u.hostname, u.port, u.pathname, u.search, u.query.x, u.hash, u.path, u.href]; }`, `["https:","u:p","h.com:8","h.com","8","/p/a","?x=1&y=2","1","#h","/p/a?x=1&y=2","https://u:p@h.com:8/p/a?x=1&y=2#h"]`},
		{"url parse path", `{ const u = url.parse("/a/b?c=d"); return [u.protocol, u.host, u.pathname, u.query, u.path]; }`, `[null,null,"/a/b","c=d","/a/b?c=d"]`},
		{"url format", `[url.format({protocol: "https", hostname: "a.b", port: 8, pathname: "c", query: {d: "e f"}}), url.format(new URL("http://a/b#c"), {fragment: false}), url.format({pathname: "/x", search: "y"})]`, `["https://a.b:8/c?d=e%20f","http://a/b","/x?y"]`},
		{"url resolve", `[url.resolve("http://a/b/c", "../d"), url.resolve("/one/two", "three"), url.resolve("/one", "/two"), url.resolve("http://a/", "http://b/")]`, `["http://a/d","/one/three","/two","http://b/"]`},
		{"querystring", `[qs.parse("a=1&a=2&b=%20+x&c"), qs.stringify({a: [1, 2], b: "x y", c: true, d: null, e: {}}), qs.escape("a b&ü"), qs.unescape("%41%zz"), qs.parse("q=100% größer"), qs.parse("a:1;b:2", ";", ":")]`, `[{"a":["1","2"],"b":"  x","c":""},"a=1&a=2&b=x%20y&c=true&d=&e=","a%20b%26%C3%BC","A%zz",{"q":"100% größer"},{"a":"1","b":"2"}]`},
		{"promisify", `{ const f = util.promisify((a, cb) => cb(null, a + 1)); const g = util.promisify((cb) => cb(new Error("no"))); let e; try { await g() } catch (x) { e = x.message } return [await f(1), e]; }`, `[2,"no"]`},
		{"promisify timers", `[await util.promisify(setTimeout)(1, "a"), await util.promisify(setImmediate)("b")]`, `["a","b"]`},
		{"promisify custom", `{ const f = () => {}; f[util.promisify.custom] = async () => "c"; return util.promisify(f)(); }`, `c`},
		{"callbackify", `new Promise((r) => util.callbackify(async (a) => a * 2)(4, (e, v) => r([e, v])))`, `[null,8]`},
		{"inherits", `{ function A() {} A.prototype.hi = () => "hi"; function B() {} util.inherits(B, A); return [new B().hi(), B.super_ === A, new B() instanceof A]; }`, `["hi",true,true]`},
		{"deep equal", `[util.isDeepStrictEqual({a: [1, new Map([[1, {b: 2}]])]}, {a: [1, new Map([[1, {b: 2}]])]}), util.isDeepStrictEqual([1], ["1"]), util.isDeepStrictEqual(new Set([{a: 1}]), new Set([{a: 1}])), util.isDeepStrictEqual({a: undefined}, {}), util.isDeepStrictEqual(NaN, NaN), util.isDeepStrictEqual(new Date(1), new Date(2)), util.isDeepStrictEqual(Buffer.from("a"), Buffer.from("a"))]`, `[true,false,true,false,true,false,true]`},
		{"types", `[util.types.isDate(new Date()), util.types.isPromise(Promise.resolve()), util.types.isRegExp(/a/), util.types.isTypedArray(Buffer.alloc(1)), util.types.isUint8Array(Buffer.alloc(1)), util.types.isAsyncFunction(async () => {}), util.types.isGeneratorFunction(function* () {}), util.types.isBoxedPrimitive(Object(1)), util.types.isNativeError(new TypeError()), util.types.isMap({})]`, `[true,true,true,true,true,true,true,true,true,false]`},
		{"strip colours", `util.stripVTControlCharacters("\u001b[31mred\u001b[0m")`, `red`},
		{"os", `[os.EOL, typeof os.platform(), typeof os.tmpdir(), os.cpus().length > 0, typeof os.homedir(), os.endianness()]`, `["\n","string","string",true,"string","LE"]`},
		{"hash", `[crypto.createHash("sha256").update("a").update(Buffer.from("b")).digest("hex"), crypto.createHash("md5").update("é").digest("base64"), crypto.createHash("sha1").update("").digest("hex"), crypto.createHash("SHA512").update("x").digest().length, crypto.createHash("sha384").update("616263", "hex").digest("base64url")]`, `["fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603","Zt3Nl8/eq7L2+4qZm0vHbw==","da39a3ee5e6b4b0d3255bfef95601890afd80709",64,"ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP_W-2AhgcroefMI1i67KE0yCWn"]`},
		{"hash copy", `{ const h = crypto.createHash("sha256").update("a"); const c = h.copy(); return h.digest("hex") === c.digest("hex"); }`, `true`},
		{"hash bad", `{ const out = []; for (const f of [() => crypto.createHash("sha256").update(5), () => { const h = crypto.createHash("md5"); h.digest(); h.digest() }]) try { f(); out.push("ok") } catch (e) { out.push(e.code) } return out; }`, `["ERR_INVALID_ARG_TYPE","ERR_CRYPTO_HASH_FINALIZED"]`},
		{"hmac", `[crypto.createHmac("sha256", "key").update("data").digest("hex"), crypto.createHmac("sha1", Buffer.from("k")).update("d").digest("base64"), crypto.createHmac("sha256", "").update("").digest("hex")]`, `["5031fe3d989c6d1537a013fa6e739da23463fdaec3b70137d828e36ace221bd0","K5DkHnwMyOL3XAKRDDiZzEaLoxY=","b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"]`},
		{"secret key", `const k = crypto.createSecretKey("key", "utf8"); return [crypto.createHmac("sha256", k).update("data").digest("hex").slice(0, 8), k instanceof crypto.KeyObject, k.type, k.symmetricKeySize, k.export({ format: "jwk" }), k.equals(crypto.createSecretKey(Buffer.from("key")))]`, `["5031fe3d",true,"secret",3,{"kty":"oct","k":"a2V5"},true]`},
		{"headers", `return [["a", "b"], ["a b", "c"], ["a", undefined], ["a", "\n"]].map(([name, value]) => { try { http.validateHeaderName(name); http.validateHeaderValue(name, value); return "ok" } catch (e) { return e.code } })`, `["ok","ERR_INVALID_HTTP_TOKEN","ERR_HTTP_INVALID_HEADER_VALUE","ERR_INVALID_CHAR"]`},
		{"tracing channel", `return [tracing.tracingChannel("x").hasSubscribers, tracing.tracingChannel("x").traceSync(function (a) { return this + a }, {}, "self", 1), await tracing.tracingChannel("x").tracePromise(async (a) => a, {}, null, 2)]`, `[false,"self1",2]`},
		{"write to standard output", `[fs.writeSync(1, "grüße\n"), fs.writeSync(2, Buffer.from("abc"), 1, 1), await new Promise((done) => fs.write(1, "x", (_, n) => done(n))), fs.fsyncSync(1) ?? null]`, `[8,1,1,null]`},
		{"random", `[crypto.randomBytes(8).length, Buffer.isBuffer(crypto.randomBytes(1)), crypto.randomBytes(70000).length, crypto.randomInt(5) < 5, crypto.randomInt(3, 4), crypto.randomUUID().length, await new Promise((r) => crypto.randomBytes(2, (e, b) => r(b.length)))]`, `[8,true,70000,true,3,36,2]`},
		{"random bad", `{ const out = []; for (const f of [() => crypto.randomInt(0), () => crypto.randomInt(1.5)]) try { f(); out.push("ok") } catch (e) { out.push(e.code) } return out; }`, `["ERR_OUT_OF_RANGE","ERR_INVALID_ARG_TYPE"]`},
		{"timing safe", `{ const out = [crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("a")), crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("b"))]; try { crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("ab")) } catch (e) { out.push(e.code) } return out; }`, `[true,false,"ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH"]`},
		{"emitter", `{ const e = new events.EventEmitter(); const log = []; e.on("x", (a) => log.push("on" + a)); e.once("x", (a) => log.push("once" + a)); e.prependListener("x", () => log.push("first")); const r = [e.emit("x", 1), e.emit("x", 2), e.emit("y")]; return [log, r, e.listenerCount("x"), e.eventNames()]; }`, `[["first","on1","once1","first","on2"],[true,true,false],2,["x"]]`},
		{"emitter error", `{ const e = new events(); try { e.emit("error", new Error("boo")) } catch (x) { return x.message } return 0 }`, `boo`},
		{"emitter class", `{ class A extends events { constructor() { super(); this.v = 1 } } const a = new A(); let got; a.on("q", function () { got = this.v }); a.emit("q"); return [got, a instanceof events.EventEmitter]; }`, `[1,true]`},
		{"emitter old style", `{ function A() { events.call(this) } util.inherits(A, events); const a = new A(); let n = 0; a.on("x", () => n++); a.emit("x"); return n; }`, `1`},
		{"emitter remove while emitting", `{ const e = new events(); const log = []; const b = () => log.push("b"); e.on("x", () => { log.push("a"); e.off("x", b) }); e.on("x", b); e.emit("x"); e.emit("x"); return log; }`, `["a","b","a"]`},
		{"emitter once promise", `{ const e = new events(); setTimeout(() => e.emit("x", 1, 2)); return once(e, "x"); }`, `[1,2]`},
		{"emitter on iterator", `{ const e = new events(); setTimeout(() => { e.emit("x", 1); e.emit("x", 2) }); const out = []; for await (const [v] of events.on(e, "x")) { out.push(v); if (v === 2) break } return out; }`, `[1,2]`},
		{"assert ok", `{ const out = []; for (const f of [() => assert(1), () => assert.equal(1, "1"), () => assert.strictEqual(1, 1), () => assert.deepStrictEqual({a: [1]}, {a: [1]}), () => assert.throws(() => { throw new TypeError("x") }, TypeError), () => assert.throws(() => { throw new Error("abc") }, /abc/), () => assert.throws(() => { throw new Error("abc") }, {message: "abc"}), () => assert.match("abc", /b/), () => assert.notEqual(1, 2)]) try { f(); out.push("ok") } catch (e) { out.push(e.code) } return out; }`, `["ok","ok","ok","ok","ok","ok","ok","ok","ok"]`},
		{"assert fails", `{ const out = []; for (const f of [() => assert(0), () => assert.equal(1, 2), () => assert.strictEqual(1, "1"), () => assert.deepStrictEqual({a: 1}, {a: 2}), () => assert.throws(() => {}), () => assert.fail("m"), () => assert.ok(false, "said"), () => assert.notDeepStrictEqual([1], [1])]) try { f(); out.push("ok") } catch (e) { out.push([e.name, e.code, e.message.split("\n")[0].length > 0]) } return out; }`, `[["AssertionError","ERR_ASSERTION",true],["AssertionError","ERR_ASSERTION",true],["AssertionError","ERR_ASSERTION",true],["AssertionError","ERR_ASSERTION",true],["AssertionError","ERR_ASSERTION",true],["AssertionError","ERR_ASSERTION",true],["AssertionError","ERR_ASSERTION",true],["AssertionError","ERR_ASSERTION",true]]`},
		{"assert rejects", `{ await assert.rejects(Promise.reject(new Error("x")), /x/); try { await assert.rejects(Promise.resolve()) } catch (e) { return e.code } return 0 }`, `ERR_ASSERTION`},
		{"string decoder", `{ const d = new StringDecoder("utf8"); let s = ""; for (const b of Buffer.from("a€😀")) s += d.write(Buffer.from([b])); return s + d.end(Buffer.from([0xe2])); }`, `a€😀�`},
		{"string decoder base64", `{ const d = new StringDecoder("base64"); return d.write(Buffer.from("ab")) + "|" + d.write(Buffer.from("cd")) + "|" + d.end(); }`, `|YWJj|ZA==`},
		{"timers promises", `{ const t = Date.now(); const v = await timersP.setTimeout(3, "v"); const c = new AbortController(); const p = timersP.setTimeout(1e6, 0, {signal: c.signal}); c.abort(); let e; try { await p } catch (x) { e = x.name } return [v, e]; }`, `["v","AbortError"]`},
		{"stream pipe", `{ const out = []; const up = new stream.Transform({transform(c, e, cb) { cb(null, String(c).toUpperCase()) }}); await streamP.pipeline(stream.Readable.from(["a", "b"]), up, new stream.Writable({write(c, e, cb) { out.push(String(c)); cb() }})); return out.join(""); }`, `AB`},
		{"stream iterate", `{ const r = new stream.Readable({read() {}}); r.push("a"); r.push("b"); r.push(null); let s = ""; for await (const c of r) s += c; return s; }`, `ab`},
		{"stream events", `new Promise((resolve) => { const log = []; const p = new stream.PassThrough(); p.on("data", (c) => log.push(String(c))); p.on("end", () => log.push("end")); p.on("close", () => resolve(log)); p.write("x"); p.end("y"); })`, `["x","y","end"]`},
		{"stream subclass", `{ class Up extends stream.Transform { _transform(c, e, cb) { this.push(String(c) + "!"); cb() } _flush(cb) { this.push("."); cb() } } const u = new Up(); u.end("a"); return consumers.text(u); }`, `a!.`},
		{"stream error", `{ const r = new stream.Readable({read() { this.destroy(new Error("bad")) }}); try { for await (const c of r); } catch (e) { return e.message } return 0 }`, `bad`},
		{"stream old style", `{ function W(o) { stream.Writable.call(this, o); this.got = [] } util.inherits(W, stream.Writable); W.prototype._write = function (c, e, cb) { this.got.push(String(c)); cb() }; const w = new W(); w.write("a"); await new Promise((r) => w.end("b", r)); return [w.got, w instanceof stream.Writable, new stream.Duplex() instanceof stream.Writable]; }`, `[["a","b"],true,true]`},
		{"stream finished", `{ const r = stream.Readable.from([1]); r.resume(); await streamP.finished(r); return r.destroyed; }`, `true`},
		{"storage", `{ const s = new AsyncLocalStorage(); return [s.getStore(), s.run({a: 1}, () => s.getStore().a), await s.run("x", async () => { await null; await new Promise((r) => setTimeout(r, 1)); return s.getStore() }), s.run(1, () => s.exit(() => s.getStore())), s.getStore()]; }`, `[null,1,"x",null,null]`},
		{"storage callbacks", `{ const s = new AsyncLocalStorage(); const all = [1, 2].map((n) => s.run(n, () => new Promise((r) => setTimeout(() => Promise.resolve().then(() => r(s.getStore())), 1)))); return Promise.all(all); }`, `[1,2]`},
		{"buffer module", `[nodeBuffer.Buffer === Buffer, nodeBuffer.isUtf8(Buffer.from("é")), nodeBuffer.isAscii(Buffer.from("é")), nodeBuffer.constants.MAX_LENGTH > 0]`, `[true,true,false,true]`},
	})
}

// Two calls that wait at the same time must not see each other's store.
func TestHostStorageKeepsCallsApart(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{}, `import { AsyncLocalStorage } from "node:async_hooks"; const store = new AsyncLocalStorage(); let both = Promise.withResolvers(), waiting = 0;`, `
		return store.run(params, async () => {
			const before = store.getStore();
			if (++waiting === 2) both.resolve();
			await both.promise;
			return [before, store.getStore() ?? "unknown"].join();
		});`)
	answers := make(chan error, 2)
	for _, name := range []string{"a", "b"} {
		go func() {
			got, err := s.run(t.Context(), name)
			if err == nil && got != name+","+name && got != name+",unknown" {
				err = fmt.Errorf("%s sees %s", name, got)
			}
			answers <- err
		}()
	}
	for range 2 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

package host

import (
	"strings"
	"testing"
)

const zlibImports = `import zlib from "node:zlib";
import { promisify } from "node:util";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { text as textOf, buffer as bufferOf } from "node:stream/consumers";
const says = async (f) => { try { const v = await f(); return Buffer.isBuffer(v) ? v.toString("latin1") : v } catch (e) { return [e.name, e.message, e.code, e.errno] } };
const long = "the quick brown fox ".repeat(5000);
const made = "H4sIAAAAAAAAA0tMSk4BAFSGZ+gEAAAA";
const kinds = [["gzip", "gunzip"], ["deflate", "inflate"], ["deflateRaw", "inflateRaw"], ["gzip", "unzip"], ["deflate", "unzip"]];
const capital = (s) => s[0].toUpperCase() + s.slice(1);
`

func TestZlibAsNode(t *testing.T) {
	t.Parallel()
	compareWithNode(t, zlibImports,
		`kinds.map(([a, b]) => String(zlib[b + "Sync"](zlib[a + "Sync"]("grüße"))))`,
		`kinds.map(([a, b]) => { const packed = zlib[a + "Sync"](long, { level: 9 }); return [packed.length < 2000, String(zlib[b + "Sync"](packed)) === long] })`,
		`await Promise.all(kinds.map(async ([a, b]) => String(await promisify(zlib[b])(await promisify(zlib[a])(new Uint8Array([104, 105]), { level: 1 })))))`,
		`await new Promise((done) => zlib.gunzip(zlib.gzipSync("cb"), (e, v) => done([e, String(v), Buffer.isBuffer(v)])))`,
		`[zlib.gzipSync("").subarray(0, 4).toString("hex"), zlib.deflateSync("").subarray(0, 2).toString("hex"), zlib.deflateSync("a", { dictionary: Buffer.from("b") }).subarray(0, 6).toString("hex")]`,
		`String(zlib.gunzipSync(Buffer.concat([zlib.gzipSync("a"), zlib.gzipSync("b"), Buffer.alloc(10)])))`,
		`String(zlib.inflateSync(Buffer.concat([zlib.deflateSync("abc"), Buffer.from("rest")])))`,
		`String(zlib.inflateSync(zlib.deflateSync("hello hello", { dictionary: Buffer.from("hello") }), { dictionary: Buffer.from("hello") }))`,
		`String(zlib.brotliDecompressSync(Buffer.from("CwWAaGVsbG8gaGVsbG8D", "base64")))`,
		`{ const packed = zlib.gzipSync(long); const part = zlib.gunzipSync(packed.subarray(0, packed.length - 12), { finishFlush: zlib.constants.Z_SYNC_FLUSH }); return [part.length > 1000, long.startsWith(String(part))]; }`,
		`[zlib.crc32?.("hello"), zlib.crc32?.(Buffer.from("lo"), zlib.crc32("hel"))]`,
		`[zlib.constants, Object.entries(zlib.codes).sort()]`,
		`Object.keys(zlib).sort()`,
		// Streams.
		`await Promise.all(kinds.map(async ([a, b]) => await textOf(Readable.from([Buffer.from(long), Buffer.from("end")]).pipe(zlib["create" + capital(a)]()).pipe(zlib["create" + capital(b)]())) === long + "end"))`,
		`{ const packed = zlib.gzipSync(long + Math.random()); const bytes = [...packed].map((b) => Buffer.from([b])); return (await textOf(Readable.from(bytes).pipe(zlib.createGunzip()))).slice(0, 20); }`,
		`{ const gzip = zlib.createGzip(), gunzip = zlib.createGunzip(), got = []; gzip.pipe(gunzip); gzip.write("first"); gzip.flush(); await new Promise((done) => gunzip.on("data", (d) => done(got.push(String(d))))); gzip.end("second"); await new Promise((done) => gunzip.on("end", done)); return got; }`,
		`{ const inflate = zlib.createInflate(), out = textOf(inflate); await pipeline(Readable.from([zlib.deflateSync("a b")]), inflate); return out; }`,
		`{ const g = new zlib.Gunzip(); g.end(Buffer.from(made, "base64")); const v = await textOf(g); return [v, g.bytesWritten, g instanceof zlib.Gunzip]; }`,
		`await new Promise((done) => { const g = zlib.createGzip(); g.close(() => done(g.destroyed)); })`,
		`{ const b = await bufferOf(Readable.from([zlib.gzipSync("one"), zlib.gzipSync("two")]).pipe(zlib.createUnzip())); return String(b); }`,
		// Streams of the web.
		`await Promise.all(["gzip", "deflate", "deflate-raw"].map((f) => new Response(new Blob([long]).stream().pipeThrough(new CompressionStream(f)).pipeThrough(new DecompressionStream(f))).text().then((v) => v === long)))`,
		`String(zlib.gunzipSync(Buffer.from(await new Response(new Blob(["web"]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer())))`,
		`await says(() => new CompressionStream("br")).then((e) => [e[0], e[2]])`,
		`await new Response(new Blob(["not compressed"]).stream().pipeThrough(new DecompressionStream("gzip"))).text().catch((e) => e instanceof Error)`,
	)
}

func TestZlibRefusesAsNode(t *testing.T) {
	t.Parallel()
	compareWithNode(t, zlibImports,
		`await Promise.all(["gunzip", "inflate", "unzip", "brotliDecompress"].map((n) => says(() => zlib[n + "Sync"]("zzzzzzzz"))))`,
		`await Promise.all(["gunzip", "inflate", "unzip", "inflateRaw", "brotliDecompress"].map((n) => says(() => zlib[n + "Sync"](Buffer.alloc(0)))))`,
		`await says(() => zlib.gunzipSync(zlib.gzipSync(long).subarray(0, 100)))`,
		`await says(() => zlib.gunzipSync(Buffer.concat([zlib.gzipSync("a"), Buffer.from("xx")])))`,
		`{ const b = zlib.gzipSync("abc"); b[b.length - 6] ^= 1; return says(() => zlib.gunzipSync(b)); }`,
		`{ const b = zlib.deflateSync("abc"); b[b.length - 1] ^= 1; return says(() => zlib.inflateSync(b)); }`,
		`(await says(() => zlib.inflateRawSync(Buffer.from("ffffffff", "hex")))).slice(2)`,
		`{ const b = zlib.deflateSync("hello", { dictionary: Buffer.from("hello") }); return [await says(() => zlib.inflateSync(b)), await says(() => zlib.inflateSync(b, { dictionary: Buffer.from("other") }))]; }`,
		`await says(() => zlib.gunzipSync(zlib.gzipSync(long), { maxOutputLength: 100 }))`,
		`await says(() => promisify(zlib.gunzip)(zlib.gzipSync(long), { maxOutputLength: 100 }))`,
		`await Promise.all([1, null, undefined, {}].map((v) => says(() => zlib.gzipSync(v))))`,
		`await Promise.all([says(() => zlib.gzipSync("a", { level: 99 })), says(() => zlib.createGzip({ level: -2 })), says(() => zlib.gzip("a"))])`,
		`await says(() => promisify(zlib.gunzip)("nope"))`,
		`await says(() => textOf(Readable.from([Buffer.from("zzzz")]).pipe(zlib.createGunzip())))`,
		`await new Promise((done) => { const g = zlib.createGunzip(); g.on("error", (e) => done([e.code, e.errno])); g.end(zlib.gzipSync(long).subarray(0, 60)); g.resume(); })`,
	)
}

func TestZlibBounds(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, zlibImports, []snippet{
		{"a bomb", `let bomb = Buffer.alloc(40 << 20); bomb = zlib.gzipSync(bomb); return [bomb.length < 1e5, await says(() => zlib.gunzipSync(bomb)), await says(() => zlib.gunzipSync(bomb, { maxOutputLength: 1e12 }))]`, `[true,["RangeError","Cannot create a Buffer larger than 33554432 bytes","ERR_BUFFER_TOO_LARGE",null],["RangeError","Cannot create a Buffer larger than 33554432 bytes","ERR_BUFFER_TOO_LARGE",null]]`},
		{"a bomb as a stream", `let n = 0; for await (const chunk of Readable.from([zlib.gzipSync(Buffer.alloc(8 << 20))]).pipe(zlib.createGunzip())) n += chunk.length; return n`, "8388608"},
		{"too many streams", `const all = Array.from({ length: 65 }, () => zlib.createGzip());
			const failed = await Promise.all(all.map((g) => new Promise((done) => { g.on("error", (e) => done(e.code)); g.write("x", (e) => e || done("ok")); })));
			const count = failed.filter((f) => f === "ok").length;
			for (const g of all) g.destroy();
			return [count, failed.find((f) => f !== "ok")]`, `[64,"ERR_OUT_OF_RANGE"]`},
		{"they are free again", `for (;;) { try { return await textOf(Readable.from([zlib.gzipSync("y")]).pipe(zlib.createGunzip())) } catch (e) { if (e.code !== "ERR_OUT_OF_RANGE") throw e; await new Promise(setImmediate) } }`, "y"},
		{"brotli", `await says(() => zlib.brotliCompressSync("a")).then((e) => e[1])`, "brotliCompressSync of node:zlib is not available in this runtime: it decompresses Brotli only; compress with gzip or deflate"},
	})
}

// What is sent to the functions may be anything.
func TestZlibHostileInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]codec{"no format": {}, "unknown": {Format: "x"}, "dictionary": {Format: "gzip", Dictionary: "%"}} {
		if _, err := c.writer(&strings.Builder{}); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	var s zlibStreams
	if out, err := s.write("7 w AAAA"); out != "" || err != nil {
		t.Errorf("a stream that is not there: %q, %v", out, err)
	}
	for _, payload := range []string{"", "x w AAAA", "1 w %"} {
		if _, err := s.write(payload); err == nil {
			t.Errorf("%q was taken", payload)
		}
	}
	id, err := s.add(&zlibInput{pieces: make(chan zlibPiece, 1)})
	if err != nil || id != 1 {
		t.Fatal(id, err)
	}
	if _, err := s.write("1 w AAAA"); err != nil {
		t.Error(err)
	}
	if _, err := s.write("1 w AAAA"); err == nil {
		t.Error("a second piece was taken")
	}
}

func FuzzInflate(f *testing.F) {
	for _, format := range []string{"gzip", "deflate", "deflate-raw", "br", "unzip"} {
		f.Add(format, "H4sIAAAAAAAAA0tMSk4BAFSGZ+gEAAAA", true)
	}
	f.Fuzz(func(_ *testing.T, format, data string, partial bool) {
		var m struct {
			codec
			Data string `json:"data"`
		}
		m.codec, m.Data = codec{Format: format, Partial: partial, Max: 1 << 16}, data
		_, _ = inflate(m)
	})
}

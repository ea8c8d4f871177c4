package host

import "testing"

// The streams of Node.js do what they do in Node.js, in the same order.
func TestNodeStreamsAreThoseOfNode(t *testing.T) {
	t.Parallel()
	compareWithNode(t, `
		import stream, { Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, compose, addAbortSignal } from "node:stream";
		import * as promises from "node:stream/promises";
		import consumers from "node:stream/consumers";
		import { once, EventEmitter } from "node:events";
		import util from "node:util";
		process.on("uncaughtException", () => {}); // errors that no listener gets
		const why = (e) => e && [e.name, e.code, e.message].join(" ");
		const tell = (p) => Promise.resolve(p).then((v) => ["ok", v === undefined ? "undefined" : v], (e) => ["error", why(e)]);
		const attempt = (f) => { try { const v = f(); return ["ok", typeof v]; } catch (e) { return ["throws", why(e)]; } };
		const given = new Error("given");
		const turns = (n = 5) => new Promise((r) => { const next = () => (n-- ? setImmediate(next) : r()); next(); });
		const watch = (s, log = [], names = ["data", "end", "finish", "drain", "error", "close", "pipe", "unpipe", "pause", "resume"]) => { for (const name of names) s.on(name, (v) => log.push(name + (name === "data" ? " " + v : name === "error" ? " " + v.message : ""))); return log; };
		const sink = (out = []) => Object.assign(new Writable({ write(c, e, done) { out.push(String(c)); done() } }), { out });
	`,
		// Readable
		`{ const r = Readable.from(["a", "b"]); const log = watch(r); await once(r, "close"); return log; }`,
		`{ const r = new Readable({ read() {} }); const log = watch(r, [], ["end", "close", "error", "readable"]); r.push("abc"); r.push(null); await turns(); const out = [r.read(2), r.read(), r.read()].map((b) => b && String(b)); await turns(); return [log, out, r.readableEnded, r.destroyed]; }`,
		`{ const r = new Readable({ read() {} }); return [r.readableHighWaterMark, new Readable({ objectMode: true }).readableHighWaterMark, new Writable().writableHighWaterMark, new Duplex({ readableObjectMode: true }).readableHighWaterMark, r.readableFlowing, r.readableLength, r.readableEncoding]; }`,
		`{ const r = new Readable({ encoding: "utf8", read() {} }); for (const b of Buffer.from("a€")) r.push(Buffer.from([b])); r.push(null); return (await r.toArray()).join("|"); }`,
		`{ const log = []; const r = new Readable({ highWaterMark: 3, read(n) { log.push("read" + n); this.push("xx"); } }); r.read(0); await turns(); return [log, r.readableLength, r.push("yy")]; }`,
		`{ const r = new Readable({ read() { this.push("a"); this.push(null); this.push("b"); } }); r.resume(); return why((await once(r, "error"))[0]); }`,
		`{ const r = new Readable({ read() { throw given } }); r.resume(); return why((await once(r, "error"))[0]); }`,
		`[attempt(() => new Readable({ read() {} }).push(5)), attempt(() => Readable.from(5)), attempt(() => Readable.from(null)), attempt(() => new Readable({ highWaterMark: -1 })), attempt(() => new Readable().setEncoding("none"))]`,
		`{ const r = new Readable(); r.on("error", () => {}); r.read(); await turns(); return why(r.errored); }`,
		`{ const r = new Readable({ read() {} }); r.unshift("b"); r.unshift("a"); r.push(null); return String(Buffer.concat(await r.toArray())); }`,
		`{ const log = []; const r = Readable.from(["a", "b", "c"]); r.on("data", (c) => { log.push(c); r.pause(); log.push(r.isPaused()); setImmediate(() => r.resume()); }); await once(r, "end"); return log; }`,
		`{ const r = Readable.from((async function* () { yield 1; throw given })()); const out = []; try { for await (const c of r) out.push(c); } catch (e) { out.push(e.message) } return [out, r.destroyed]; }`,
		`{ let over = false; const r = Readable.from((async function* () { try { yield 1; yield 2 } finally { over = true } })()); for await (const c of r) break; await turns(); return [over, r.destroyed]; }`,
		`{ const r = Readable.from([1, 2, 3]); for await (const c of r.iterator({ destroyOnReturn: false })) break; return [r.destroyed, await r.toArray()]; }`,
		`{ const r = new Readable({ read() {} }); const log = watch(r); r.destroy(given); log.push(r.destroyed, r.readable); await once(r, "close").catch(() => {}); return [log, r.errored?.message, r.closed, attempt(() => r.push("x"))]; }`,
		`{ const log = []; const r = new Readable({ read() {}, destroy(e, done) { log.push(why(e)); done(new Error("other")) } }); r.on("error", (e) => log.push(e.message)); r.destroy(given); await turns(); return log; }`,
		`{ const log = []; const r = new Readable({ construct(done) { log.push("construct"); setImmediate(() => { log.push("ready"); done() }) }, read() { log.push("read"); this.push(null) } }); r.resume(); await once(r, "close"); return log; }`,
		`{ const stop = new AbortController(); const r = new Readable({ read() {}, signal: stop.signal }); stop.abort(given); return tell(once(r, "data")); }`,
		`{ const r = addAbortSignal(AbortSignal.abort(given), new Readable({ read() {} })); const [e] = await once(r, "error").catch((e) => [e]); return [why(e), e.cause?.message]; }`,
		// operators
		`Readable.from([1, 2, 3, 4]).filter((x) => x % 2).map(async (x) => x * 10).toArray()`,
		`[await Readable.from([1, 2]).reduce((a, b) => a + b, 5), await Readable.from([1, 2]).some((x) => x > 1), await Readable.from([1, 2]).every((x) => x > 1), await Readable.from([1, 2]).find((x) => x > 1), await Readable.from([1, 2, 3]).take(2).toArray(), await Readable.from([1, 2, 3]).drop(2).toArray(), await Readable.from([1, 2]).flatMap((x) => [x, x]).toArray()]`,
		`{ const out = []; await Readable.from([1, 2]).forEach((x) => out.push(x)); return out; }`,
		`tell(Readable.from([1, 2]).map(() => { throw given }).toArray())`,
		`{ let most = 0, now = 0; await Readable.from([1, 2, 3, 4, 5]).map(async (x) => { most = Math.max(most, ++now); await turns(2); now--; return x }, { concurrency: 2 }).toArray(); return most; }`,
		`Readable.from([1, 2]).asIndexedPairs().toArray()`,
		`{ const s = Readable.from(["a", "b"]).compose(async function* (source) { for await (const c of source) yield String(c).toUpperCase(); }); return (await s.toArray()).map(String); }`,
		// Writable
		`{ const w = sink(); const log = watch(w); w.write("a"); w.end("b"); await once(w, "close"); return [w.out, log, w.writableFinished, w.writableEnded, w.destroyed]; }`,
		`{ const w = new Writable({ highWaterMark: 3, write(c, e, done) { setImmediate(done) } }); const log = watch(w); log.push(w.write("ab"), w.writableNeedDrain, w.write("cd"), w.writableNeedDrain, w.writableLength); await once(w, "drain"); log.push(w.writableLength); return log; }`,
		`{ const out = []; const w = new Writable({ writev(all, done) { out.push(all.map((x) => String(x.chunk))); done() } }); w.cork(); w.write("a"); w.write("b"); w.uncork(); w.write("c"); w.end(); await once(w, "finish"); return out; }`,
		`{ const out = []; const w = new Writable({ decodeStrings: false, write(c, e, done) { out.push(typeof c, e); done() } }); w.setDefaultEncoding("latin1"); w.write("a"); w.write("b", "hex"); await turns(); return out; }`,
		`{ const w = sink(); w.on("error", () => {}); w.end(); const results = []; w.write("x", (e) => results.push(why(e))); await turns(); return [results, why(w.errored)]; }`,
		`{ const w = sink(); w.destroy(); const results = []; w.write("x", (e) => results.push(why(e))); w.end((e) => results.push(why(e))); await turns(); return results; }`,
		`[attempt(() => sink().write(null)), attempt(() => sink().write(5))[1].slice(0, 30), attempt(() => sink().write("a", "none")), attempt(() => new Writable({ objectMode: true, write(c, e, d) { d() } }).write({}))]`,
		`{ const log = []; const w = new Writable({ write(c, e, done) { done(given) } }); w.on("error", (e) => log.push("error " + e.message)); w.on("close", () => log.push("close")); w.write("a", (e) => log.push("cb " + e.message)); w.write("b", (e) => log.push("cb2 " + e.message)); await turns(); return log; }`,
		`{ const log = []; const w = new Writable({ write(c, e, done) { done() }, final(done) { log.push("final"); setImmediate(done) }, destroy(e, done) { log.push("destroy"); done(e) } }); w.on("finish", () => log.push("finish")).on("close", () => log.push("close")).on("prefinish", () => log.push("prefinish")); w.end("x"); await once(w, "close"); return log; }`,
		`{ const w = new Writable(); w.on("error", () => {}); w.write("x"); await turns(); return why(w.errored); }`,
		`{ const w = new Writable({ write(c, e, done) { done(); done() } }); w.write("x"); const [e] = await once(w, "error"); return why(e); }`,
		`{ const w = sink(); return [w.end() === w, await new Promise((r) => w.end((e) => r(why(e))))]; }`,
		// Duplex, Transform, PassThrough
		`{ const t = new Transform({ transform(c, e, done) { this.push(c); done(null, "!") }, flush(done) { done(null, "end") } }); t.write("a"); t.end("b"); return (await t.toArray()).map(String); }`,
		`{ const t = new Transform({ transform(c, e, done) { done(given) } }); t.write("a"); return tell(t.toArray()); }`,
		`{ const t = new Transform({ objectMode: true, transform(c, e, done) { done(null, c * 2) } }); [1, 2].forEach((x) => t.write(x)); t.end(); return t.toArray(); }`,
		`{ const d = Duplex.from(async function* (source) { for await (const c of source) yield String(c) + "!"; }); d.end("a"); return (await d.toArray()).map(String); }`,
		`{ const d = Duplex.from({ readable: Readable.from(["r"]), writable: sink() }); d.end("x"); return (await d.toArray()).map(String); }`,
		`{ const d = Duplex.from(Promise.resolve("x")); return (await d.toArray()).map(String); }`,
		`{ const d = new Duplex({ allowHalfOpen: false, read() { this.push(null) }, write(c, e, done) { done() } }); const log = watch(d); d.resume(); await once(d, "close"); return log; }`,
		`[new Duplex() instanceof Writable, new Duplex() instanceof Readable, new PassThrough() instanceof Transform, sink() instanceof Readable, new Readable() instanceof stream, stream.Stream === stream, Readable() instanceof Readable]`,
		// pipe and pipeline
		`{ const w = sink(); const r = Readable.from(["a", "b"]); const log = watch(w, [], ["pipe", "unpipe", "finish", "close"]); r.pipe(w); await once(w, "finish"); return [w.out, log]; }`,
		`{ const w = sink(); const r = Readable.from(["a"]); r.pipe(w, { end: false }); await once(r, "end"); return [w.writableEnded, w.out]; }`,
		`{ const r = new PassThrough(), w = sink(); r.pipe(w); r.write("a"); await turns(); r.unpipe(w); r.write("b"); await turns(); return [w.out, r.listenerCount("data"), r.readableFlowing]; }`,
		`{ const a = sink(), b = sink(); const r = Readable.from(["x"]); r.pipe(a); r.pipe(b); await once(b, "finish"); await turns(); return [a.out, b.out]; }`,
		`{ const w = sink(); await promises.pipeline(["a", "b"], async function* (source) { for await (const c of source) yield c + c; }, w); return w.out; }`,
		`promises.pipeline(["a", "b"], async function* (source) { for await (const c of source) yield c; }, async (source) => { let all = ""; for await (const c of source) all += c; return all; })`,
		`tell(promises.pipeline(Readable.from(["a"]), new Transform({ transform(c, e, d) { d(given) } }), sink()))`,
		`{ const r = new Readable({ read() {} }), w = sink(); const p = promises.pipeline(r, w); r.destroy(); return [await tell(p), w.destroyed]; }`,
		`{ const r = new Readable({ read() {} }), w = sink(); const p = promises.pipeline(r, w); w.destroy(given); return [await tell(p), r.destroyed]; }`,
		`{ const stop = new AbortController(); const r = new Readable({ read() {} }); const p = promises.pipeline(r, sink(), { signal: stop.signal }); stop.abort(); return [await tell(p), r.destroyed]; }`,
		`{ const w = sink(); await promises.pipeline(Readable.from(["a"]), w, { end: false }); return w.writableEnded; }`,
		`[attempt(() => pipeline(Readable.from([]))), attempt(() => pipeline()), attempt(() => pipeline(Readable.from([]), 5, () => {})), await tell(promises.pipeline(5, sink()))]`,
		`new Promise((r) => pipeline(Readable.from(["a"]), new PassThrough(), sink(), (e) => r(e === undefined)))`,
		`util.promisify(pipeline)(Readable.from(["a"]), sink()).then((x) => "done " + x)`,
		`{ const s = compose(new Transform({ transform(c, e, d) { d(null, String(c).toUpperCase()) } }), async function* (source) { for await (const c of source) yield c + "!"; }); s.end("a"); return (await s.toArray()).map(String); }`,
		// finished and the rest
		`{ const r = Readable.from([1]); r.resume(); return [await tell(promises.finished(r)), r.destroyed]; }`,
		`{ const r = new Readable({ read() {} }); const p = promises.finished(r); r.destroy(); return tell(p); }`,
		`{ const w = sink(); const p = promises.finished(w); w.destroy(given); return tell(p); }`,
		`{ const d = new PassThrough(); const p = promises.finished(d, { readable: false }); d.end(); return tell(p); }`,
		`{ const r = Readable.from([]); const log = []; const off = finished(r, (e) => log.push("done")); off(); r.resume(); await turns(); return log; }`,
		`{ const r = Readable.from([1]); r.resume(); await once(r, "close"); return tell(promises.finished(r)); }`,
		`[stream.isReadable(new Readable()), stream.isReadable(sink()), stream.isErrored(new Readable()), stream.isDisturbed(new Readable()), stream.getDefaultHighWaterMark(false), stream.getDefaultHighWaterMark(true)]`,
		`{ const r = Readable.from(["a", "b"]); return [await consumers.text(r), await consumers.json(Readable.from(["[1,", "2]"])), (await consumers.buffer(Readable.from([Buffer.from("x")]))).length]; }`,
		`{ const w = Readable.toWeb(Readable.from([Buffer.from("a"), Buffer.from("b")])); const out = []; for await (const c of w) out.push([c.constructor.name, ...c]); return out; }`,
		`{ const r = Readable.fromWeb(new Blob(["abc"]).stream()); return String(Buffer.concat(await r.toArray())); }`,
		`{ const out = []; const w = Writable.fromWeb(new WritableStream({ write(c) { out.push(String(c)) }, close() { out.push("close") } })); w.end("a"); await promises.finished(w); return out; }`,
		`{ const w = sink(); const x = Writable.toWeb(w).getWriter(); await x.write("a"); await x.close(); return w.out; }`,
		`{ const r = Readable.fromWeb(new ReadableStream({ pull() { throw given } })); return tell(r.toArray()); }`,
		`{ const log = []; const r = Readable.fromWeb(new ReadableStream({ cancel(e) { log.push(why(e) ?? "nothing") } })); r.on("error", () => {}); r.destroy(given); await turns(); return log; }`,
		`Object.keys(stream).filter((name) => name !== "_isArrayBufferView").sort()`,
		`Object.keys(Readable.prototype).concat(Object.keys(Writable.prototype)).sort()`,
		`{ class Up extends Transform { constructor(o) { super(o); this.n = 0 } _transform(c, e, done) { this.n++; done(null, String(c).toUpperCase()) } } const u = new Up(); u.end("a"); return [(await u.toArray()).map(String), u.n, u.constructor.name, util.inspect(u, { depth: -1 })]; }`,
		`{ function Old() { Readable.call(this); this.left = 2 } util.inherits(Old, Readable); Old.prototype._read = function () { this.push(this.left-- ? "x" : null) }; return (await new Old().toArray()).map(String); }`,
		`{ const old = new EventEmitter(); old.pause = () => {}; const r = new Readable().wrap(old); setImmediate(() => { old.emit("data", Buffer.from("w")); old.emit("end") }); return (await r.toArray()).map(String); }`,
	)
}

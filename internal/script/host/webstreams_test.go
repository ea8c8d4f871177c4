package host

import "testing"

// What streams of the web do, and in which order, is what they do in Node.js.
func TestWebStreamsAreThoseOfNode(t *testing.T) {
	t.Parallel()
	compareWithNode(t, `
		const why = (e) => (e?.name ?? typeof e) + (e instanceof Error && e.message === "given" ? " given" : "");
		const tell = (p) => Promise.resolve(p).then((v) => ["ok", v === undefined ? "undefined" : v], (e) => ["error", why(e)]);
		const attempt = (f) => { try { const v = f(); return ["ok", v === undefined ? "undefined" : typeof v]; } catch (e) { return ["throws", why(e)]; } };
		const given = new Error("given");
		const collect = async (s) => { const out = []; for await (const c of s) out.push(c); return out; };
		const numbers = (n, log = []) => { let i = 0; return new ReadableStream({ start() { log.push("start") }, pull(c) { log.push("pull" + i); if (i < n) c.enqueue(i++); else c.close(); }, cancel(r) { log.push("cancel " + r); } }); };
		const later = (n = 10) => { let p = Promise.resolve(); while (n--) p = p.then(() => {}); return p; };
		const bytes = (...all) => new Uint8Array(all);
	`,
		// ReadableStream
		`{ const log = []; const s = numbers(2, log); log.push("made"); await later(); const out = await collect(s); return [log, out, s.locked]; }`,
		`{ const log = []; const s = new ReadableStream({ start(c) { log.push(c.desiredSize); c.enqueue(1); log.push(c.desiredSize); c.enqueue(2); log.push(c.desiredSize); c.close(); log.push(c.desiredSize); } }); log.push(await collect(s)); return log; }`,
		`{ const log = []; const s = new ReadableStream({ start(c) { log.push(c.desiredSize); c.enqueue("abc"); log.push(c.desiredSize); } }, { highWaterMark: 10, size: (c) => c.length }); return log; }`,
		`{ let c; const s = new ReadableStream({ start(x) { c = x } }); c.close(); return [attempt(() => c.close()), attempt(() => c.enqueue(1)), c.desiredSize, attempt(() => c.error(given))]; }`,
		`{ let c; const s = new ReadableStream({ start(x) { c = x } }); c.error(given); const r = s.getReader(); return [await tell(r.read()), await tell(r.closed), c.desiredSize, attempt(() => c.enqueue(1)), attempt(() => c.close())]; }`,
		`{ const s = new ReadableStream({ start() { throw given } }); return 0; }`,
		`{ const s = new ReadableStream({ start: async () => { throw given } }); return [await tell(s.getReader().read())]; }`,
		`{ const s = new ReadableStream({ pull() { throw given } }); return [await tell(s.getReader().read())]; }`,
		`{ const s = new ReadableStream(); const r = s.getReader(); return [s.locked, attempt(() => s.getReader()), await tell(s.cancel()), attempt(() => s.tee()), await tell(s.pipeTo(new WritableStream())), attempt(() => s.pipeThrough(new TransformStream()))]; }`,
		`{ const s = new ReadableStream(); const r = s.getReader(); const p = r.read(); r.releaseLock(); return [s.locked, await tell(p), await tell(r.closed), await tell(r.read()), await tell(r.cancel()), attempt(() => r.releaseLock())]; }`,
		`{ const log = []; const s = numbers(5, log); const r = s.getReader(); await r.read(); log.push(await tell(r.cancel("why"))); log.push(await tell(r.read()), await tell(r.closed)); return log; }`,
		`{ const log = []; const s = new ReadableStream({ cancel() { throw given } }); return [await tell(s.cancel()), await tell(s.cancel())]; }`,
		`{ const log = []; const s = numbers(5, log); for await (const c of s) { if (c === 1) break; } return [log, s.locked, await tell(s.getReader().read())]; }`,
		`{ const log = []; const s = numbers(5, log); for await (const c of s.values({ preventCancel: true })) { if (c === 1) break; } return [log, s.locked, await tell(s.getReader().read())]; }`,
		`{ const it = numbers(1)[Symbol.asyncIterator](); return [await it.next(), await it.next(), await it.next(), (await it.return(7)).value]; }`,
		`{ const it = numbers(3).values(); const all = await Promise.all([it.next(), it.next(), it.next(), it.next()]); return all; }`,
		`[attempt(() => new ReadableStream({ type: "none" })), attempt(() => new ReadableStream({}, { highWaterMark: -1 })), attempt(() => new ReadableStream({}, { highWaterMark: NaN })), attempt(() => new ReadableStream({ start: 1 })), attempt(() => new ReadableStream(1)), attempt(() => new ReadableStream(null)), attempt(() => new ReadableStream({ type: "bytes" }, { size() { return 1 } }))]`,
		`[attempt(() => ReadableStream()), attempt(() => new ReadableStreamDefaultReader({})), attempt(() => new ReadableStreamDefaultController()), attempt(() => ReadableStream.prototype.locked), Object.prototype.toString.call(new ReadableStream())]`,
		`[ReadableStream.length, ReadableStream.prototype.getReader.length, WritableStream.length, TransformStream.length, Object.keys(ReadableStream.prototype), Object.keys(WritableStream.prototype), Object.keys(TransformStream.prototype)]`,
		`{ let n = 0; const s = new ReadableStream({ pull(c) { n++; c.enqueue(n); } }, { highWaterMark: 3 }); await later(20); return n; }`,
		`{ let n = 0; const s = new ReadableStream({ pull(c) { n++; c.enqueue(n); } }, new CountQueuingStrategy({ highWaterMark: 2 })); await later(20); await s.getReader().read(); await later(20); return n; }`,
		`{ const q = [new CountQueuingStrategy({ highWaterMark: 2 }), new ByteLengthQueuingStrategy({ highWaterMark: 3 })]; return [q.map((x) => x.highWaterMark), q[0].size("abc"), q[1].size(bytes(1, 2)), attempt(() => new CountQueuingStrategy()), attempt(() => new CountQueuingStrategy({}))]; }`,
		`{ const s = new ReadableStream({ start(c) { c.enqueue(1) } }, { size() { throw given } }); return 0; }`,
		`{ const s = new ReadableStream({ start(c) { try { c.enqueue(1) } catch {} } }, { size() { return -1 } }); return tell(s.getReader().read()); }`,
		// ReadableStream.from
		`collect(ReadableStream.from([1, Promise.resolve(2), 3]))`,
		`collect(ReadableStream.from((async function* () { yield 1; yield 2 })()))`,
		`{ const log = []; const s = ReadableStream.from({ async *[Symbol.asyncIterator]() { try { yield 1; yield 2 } finally { log.push("over") } } }); for await (const c of s) break; return log; }`,
		`[attempt(() => ReadableStream.from(5)), attempt(() => ReadableStream.from({})), attempt(() => ReadableStream.from(null))]`,
		`{ const s = ReadableStream.from((function* () { throw given })()); return tell(s.getReader().read()); }`,
		// tee
		`{ const [a, b] = numbers(3).tee(); return [await collect(a), await collect(b)]; }`,
		`{ const log = []; const s = numbers(3, log); const [a, b] = s.tee(); const one = a.cancel("a"); const two = b.cancel("b"); return [await tell(one), await tell(two), log, s.locked]; }`,
		`{ let c; const s = new ReadableStream({ start(x) { c = x } }); const [a, b] = s.tee(); c.enqueue(1); const r = a.getReader(), q = b.getReader(); const x = await r.read(); c.error(given); return [x, await q.read(), await tell(r.read()), await tell(q.read())]; }`,
		`{ const chunk = {}; const [a, b] = new ReadableStream({ start(c) { c.enqueue(chunk); c.close() } }).tee(); return [(await collect(a))[0] === chunk, (await collect(b))[0] === chunk]; }`,
		// byte streams
		`{ const s = new ReadableStream({ type: "bytes", start(c) { c.enqueue(bytes(1, 2, 3)); c.close() } }); const out = await collect(s); return out.map((x) => [x.constructor.name, [...x]]); }`,
		`{ const s = new ReadableStream({ type: "bytes", start(c) { c.enqueue(bytes(1, 2, 3, 4, 5)) } }); const r = s.getReader({ mode: "byob" }); const one = await r.read(new Uint8Array(2)); const two = await r.read(new Uint8Array(10)); return [[...one.value], one.done, [...two.value], two.value.buffer.byteLength]; }`,
		`{ const s = new ReadableStream({ type: "bytes", pull(c) { const v = c.byobRequest.view; v[0] = 7; c.byobRequest.respond(1); } }); const r = s.getReader({ mode: "byob" }); const one = await r.read(new Uint8Array(4)); return [[...one.value], one.done]; }`,
		`{ const s = new ReadableStream({ type: "bytes", autoAllocateChunkSize: 8, pull(c) { const v = c.byobRequest.view; v.set([1, 2]); c.byobRequest.respond(2); c.close() } }); return (await collect(s)).map((x) => [...x]); }`,
		`{ const s = new ReadableStream({ type: "bytes", start(c) { c.close() } }); const r = s.getReader({ mode: "byob" }); const { done, value } = await r.read(new Uint8Array(3)); return [done, value.length, value.buffer.byteLength]; }`,
		`{ const view = new Uint8Array(4); const s = new ReadableStream({ type: "bytes", start(c) { c.enqueue(bytes(9)) } }); await s.getReader({ mode: "byob" }).read(view); return [view.byteLength, view.buffer.byteLength]; }`,
		`{ const s = new ReadableStream({ type: "bytes", start(c) { c.enqueue(bytes(1, 2, 3)); c.close() } }); const r = s.getReader({ mode: "byob" }); const one = await r.read(new Uint16Array(1)); return [one.value.constructor.name, one.value.length, await tell(r.read(new Uint16Array(1)).then((x) => x.done))]; }`,
		`{ let c; const s = new ReadableStream({ type: "bytes", start(x) { c = x } }); return [attempt(() => c.enqueue("text")), attempt(() => c.enqueue(new Uint8Array(0))), c.desiredSize, c.byobRequest, attempt(() => s.getReader({ mode: "other" }))]; }`,
		`[attempt(() => new ReadableStream().getReader({ mode: "byob" })), attempt(() => new ReadableStreamBYOBReader(new ReadableStream())), typeof ReadableByteStreamController, typeof ReadableStreamBYOBRequest]`,
		`{ const [a, b] = new ReadableStream({ type: "bytes", start(c) { c.enqueue(bytes(1, 2)); c.close() } }).tee(); return [(await collect(a)).map((x) => [...x]), (await collect(b)).map((x) => [...x])]; }`,
		`{ const r = new Response("hello").body.getReader({ mode: "byob" }); const { value } = await r.read(new Uint8Array(3)); return new TextDecoder().decode(value); }`,
		`{ const r = new Blob(["hello"]).stream().getReader({ mode: "byob" }); const { value } = await r.read(new Uint8Array(3)); return new TextDecoder().decode(value); }`,
		// WritableStream
		`{ const log = []; const w = new WritableStream({ start() { log.push("start") }, write(c) { log.push("write" + c) }, close() { log.push("close") } }); const x = w.getWriter(); x.write(1); x.write(2); log.push(x.desiredSize); await x.close(); log.push(x.desiredSize, await tell(x.closed)); return log; }`,
		`{ const w = new WritableStream({ write() { throw given } }); const x = w.getWriter(); return [await tell(x.write(1)), await tell(x.write(2)), await tell(x.closed), await tell(x.ready), await tell(x.close())]; }`,
		`{ const log = []; const w = new WritableStream({ write: () => new Promise(() => {}), abort(r) { log.push("abort " + r) } }); const x = w.getWriter(); const p = x.write(1); await later(); void x.abort("why"); await later(); return [log, x.desiredSize]; }`,
		`{ const log = []; let c; const w = new WritableStream({ start(k) { c = k }, abort(r) { log.push("abort " + r) } }); await later(); const p = w.abort("why"); log.push(c.signal.aborted, c.signal.reason); return [await tell(p), log, await tell(w.getWriter().closed.catch((e) => "closed " + e)), await tell(w.abort("again"))]; }`,
		`{ let go; const w = new WritableStream({ write: () => new Promise((r) => (go = r)) }, { highWaterMark: 2 }); const x = w.getWriter(); const log = [x.desiredSize]; x.write(1); log.push(x.desiredSize); x.write(2); log.push(x.desiredSize); let ready = false; x.ready.then(() => (ready = true)); await later(); log.push(ready); go(); await later(); log.push(ready, x.desiredSize); return log; }`,
		`{ const w = new WritableStream(); const x = w.getWriter(); return [w.locked, attempt(() => w.getWriter()), await tell(w.close()), await tell(w.abort()), (x.releaseLock(), w.locked), await tell(x.write(1)), attempt(() => x.desiredSize), await tell(x.closed), await tell(w.close()), await tell(w.close())]; }`,
		`{ let c; const w = new WritableStream({ start(k) { c = k } }); c.error(given); const x = w.getWriter(); return [await tell(x.write(1)), await tell(x.ready), x.desiredSize, await tell(x.abort())]; }`,
		`{ const w = new WritableStream({ start: async () => { throw given } }); return tell(w.getWriter().ready); }`,
		`{ const w = new WritableStream({ close() { throw given } }); const x = w.getWriter(); return [await tell(x.close()), await tell(x.closed)]; }`,
		`[attempt(() => new WritableStream({ type: "x" })), attempt(() => new WritableStream({}, { highWaterMark: -1 })), attempt(() => new WritableStream(1)), attempt(() => WritableStream()), Object.prototype.toString.call(new WritableStream()), typeof WritableStreamDefaultWriter, typeof WritableStreamDefaultController]`,
		`{ const sizes = []; const w = new WritableStream({ write: () => new Promise(() => {}) }, { highWaterMark: 10, size: (c) => c.length }); const x = w.getWriter(); x.write("abc"); return x.desiredSize; }`,
		// pipes
		`{ const out = []; await numbers(3).pipeTo(new WritableStream({ write(c) { out.push(c) }, close() { out.push("close") } })); return out; }`,
		`{ const log = []; const w = new WritableStream({ close() { log.push("close") } }); await numbers(1).pipeTo(w, { preventClose: true }); return [log, w.locked, await tell(w.getWriter().close())]; }`,
		`{ const log = []; const s = numbers(9, log); const w = new WritableStream({ write() { throw given } }); return [await tell(s.pipeTo(w)), log.at(-1), s.locked, w.locked]; }`,
		`{ const log = []; const s = numbers(9, log); const w = new WritableStream({ write() { throw given } }); return [await tell(s.pipeTo(w, { preventCancel: true })), log.includes("cancel Error: given")]; }`,
		`{ const log = []; const s = new ReadableStream({ pull() { throw given } }); const w = new WritableStream({ abort(r) { log.push(why(r)) } }); return [await tell(s.pipeTo(w)), log]; }`,
		`{ const log = []; const s = new ReadableStream({ pull() { throw given } }); const w = new WritableStream({ abort(r) { log.push(why(r)) } }); return [await tell(s.pipeTo(w, { preventAbort: true })), log, await tell(w.getWriter().write(1))]; }`,
		`{ const log = []; const stop = new AbortController(); const s = new ReadableStream({ cancel(r) { log.push("cancel " + why(r)) } }); const w = new WritableStream({ abort(r) { log.push("abort " + why(r)) } }); const p = s.pipeTo(w, { signal: stop.signal }); await later(); stop.abort(given); return [await tell(p), log]; }`,
		`{ const s = new ReadableStream(); return [await tell(s.pipeTo(new WritableStream(), { signal: AbortSignal.abort(given) })), await tell(s.pipeTo(5)), await tell(s.pipeTo(new WritableStream(), { signal: 5 }))]; }`,
		`{ const log = []; const slow = new WritableStream({ write: (c) => { log.push("w" + c); return later(30) } }); await numbers(3, log).pipeTo(slow); return log; }`,
		`{ const w = new WritableStream(); const x = w.getWriter(); await x.close(); x.releaseLock(); const log = []; return [await tell(numbers(2, log).pipeTo(w)), log.at(-1).startsWith("cancel")]; }`,
		// TransformStream
		`collect(numbers(3).pipeThrough(new TransformStream({ transform(c, k) { k.enqueue(c * 2); k.enqueue("x") }, flush(k) { k.enqueue("end") } })))`,
		`collect(numbers(2).pipeThrough(new TransformStream()))`,
		`{ const t = new TransformStream({ transform() { throw given } }); const w = t.writable.getWriter(), r = t.readable.getReader(); const p = w.write(1); return [await tell(r.read()), await tell(p), await tell(w.closed)]; }`,
		`{ const t = new TransformStream({ transform(c, k) { k.enqueue(c); k.terminate() } }); const w = t.writable.getWriter(), r = t.readable.getReader(); const p = w.write(1); return [await r.read(), await r.read(), await tell(w.write(2))]; }`,
		`{ const log = []; const t = new TransformStream({ start(k) { log.push(k.desiredSize); k.enqueue("s") }, transform(c, k) { log.push(c) } }); const w = t.writable.getWriter(); log.push(w.desiredSize); const p = w.write(1); await later(); log.push(w.desiredSize); log.push((await t.readable.getReader().read()).value); await later(); log.push(w.desiredSize); return log; }`,
		`{ const log = []; const t = new TransformStream({ transform() { log.push("t") }, flush() { log.push("f") } }); const w = t.writable.getWriter(); await later(); void w.write(1); await later(); log.push(w.desiredSize); return log; }`,
		`{ const t = new TransformStream(); const r = t.readable.getReader(); const p = r.cancel(given); return [await tell(p), await tell(t.writable.getWriter().write(1))]; }`,
		`{ const t = new TransformStream(); const p = t.writable.abort(given); return [await tell(p), await tell(t.readable.getReader().read())]; }`,
		`{ const t = new TransformStream({ flush() { throw given } }); const w = t.writable.getWriter(); const r = t.readable.getReader(); return [await tell(w.close()), await tell(r.read())]; }`,
		`[attempt(() => new TransformStream({ readableType: "x" })), attempt(() => new TransformStream(1)), attempt(() => TransformStream()), Object.prototype.toString.call(new TransformStream()), typeof TransformStreamDefaultController]`,
		`{ let k; const t = new TransformStream({ start(x) { k = x } }); k.error(given); return [await tell(t.readable.getReader().read()), await tell(t.writable.getWriter().write(1)), k.desiredSize]; }`,
		`{ const t = new TransformStream({ transform: async (c, k) => { await later(); k.enqueue(c) } }); const out = collect(t.readable); const w = t.writable.getWriter(); for (const c of [1, 2, 3]) { await w.ready; void w.write(c) } await w.close(); return out; }`,
		// text and compression
		`collect(ReadableStream.from([bytes(0xe2, 0x82), bytes(0xac, 0x61)]).pipeThrough(new TextDecoderStream()))`,
		`collect(ReadableStream.from([bytes(0xff)]).pipeThrough(new TextDecoderStream("utf-8", { fatal: true }))).then(() => "none", why)`,
		`{ const d = new TextDecoderStream("utf-16le", { fatal: true, ignoreBOM: true }); return [d.encoding, d.fatal, d.ignoreBOM, d.readable instanceof ReadableStream, d.writable instanceof WritableStream, d instanceof TransformStream]; }`,
		`collect(ReadableStream.from(["a\ud83d", "\ude00b"]).pipeThrough(new TextEncoderStream())).then((all) => all.map((x) => [...x]))`,
		`{ const s = new Blob(["abcabcabc"]).stream().pipeThrough(new CompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip")); return new Response(s).text(); }`,
		`{ const r = new Response("abc"); const s = r.body; const [a, b] = [s.locked, r.bodyUsed]; const text = await r.text(); return [a, b, text, r.bodyUsed, await tell(r.text())]; }`,
		`{ const r = new Response(numbers(0)); const c = r.clone(); return [await r.text(), await c.text()]; }`,
		`{ const r = new Response(ReadableStream.from([bytes(97), bytes(98)])); return r.text(); }`,
		`{ const r = new Response(ReadableStream.from(["a"])); return tell(r.text()); }`,
		`{ const s = ReadableStream.from([bytes(97)]); s.getReader(); return [attempt(() => new Response(s))]; }`,
	)
}

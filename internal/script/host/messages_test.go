package host

import "testing"

func TestMessagesAsNode(t *testing.T) {
	t.Parallel()
	compareWithNode(t, `import { receiveMessageOnPort, MessageChannel as Channel } from "node:worker_threads";
		const says = (f) => { try { return f() } catch (e) { return [e.name, e.code] } };`,
		`{ const { port1, port2 } = new MessageChannel(); const log = []; const over = new Promise((done) => { port2.onmessage = (e) => { log.push(e.data, e instanceof MessageEvent); if (e.data.n === 2) done() } }); const value = { n: 1, m: new Map([[1, new Date(0)]]) }; port1.postMessage(value); value.n = 9; port1.postMessage({ n: 2 }); log.push("first"); await over; port1.close(); return log; }`,
		`{ const { port1, port2 } = new Channel(); const got = []; port1.postMessage("early"); await new Promise((done) => { port2.on("message", (v) => { got.push(v); if (got.length === 2) done() }); port1.postMessage("late") }); port2.close(); return got; }`,
		`{ const { port1, port2 } = new MessageChannel(); port1.postMessage(1); port1.postMessage({ a: 2 }); const out = [receiveMessageOnPort(port2), receiveMessageOnPort(port2), receiveMessageOnPort(port2) ?? null]; port1.close(); return out; }`,
		`{ const { port1, port2 } = new MessageChannel(); port2.on("message", () => {}); const closed = new Promise((done) => port2.on("close", () => done("closed"))); port1.close(); return closed; }`,
		`{ const { port1, port2 } = new MessageChannel(); const buffer = new ArrayBuffer(4); const got = new Promise((done) => port2.once("message", done)); port1.postMessage(buffer, [buffer]); const size = (await got).byteLength; port1.close(); return [size, buffer.byteLength]; }`,
		`{ const { port1 } = new MessageChannel(); const out = says(() => port1.postMessage(() => 1)); port1.close(); return out[0]; }`,
		`[says(() => new MessagePort())[0], says(() => new BroadcastChannel())[0]]`,
		`{ const [a, b, c] = ["x", "x", "y"].map((n) => new BroadcastChannel(n)); const log = []; c.onmessage = () => log.push("c"); a.onmessage = () => log.push("a"); const got = new Promise((done) => { b.onmessage = (e) => { log.push(e.data); done() } }); a.postMessage({ hi: 1 }); await got; for (const one of [a, b, c]) one.close(); log.push(says(() => a.postMessage(1))[0], a.name); return log; }`,
	)
}

func TestSmallModulesAsNode(t *testing.T) {
	t.Parallel()
	compareWithNode(t, `import punycode from "node:punycode"; import v8 from "node:v8";
		const says = (f) => { try { return f() } catch (e) { return [e.name, e.message] } };`,
		`["mañana", "bücher", "☃-⌘", "", "abc", "他们为什么不说中文", "😀a"].map((t) => [punycode.encode(t), punycode.decode(punycode.encode(t))])`,
		`["mañana.com", "джумла@джpумлатест.bрфa", "a。b", "xn--maana-pta.com"].map((d) => [punycode.toASCII(d), punycode.toUnicode(punycode.toASCII(d))])`,
		`["é-a", "a-!", "99999999", "zzzzzzzzzzzz", "b"].map((t) => says(() => punycode.decode(t)))`,
		`[punycode.ucs2.decode("a😀"), punycode.ucs2.encode([97, 0x1f600]), punycode.version]`,
		`Object.keys(v8.getHeapStatistics())`,
		`Object.values(v8.getHeapStatistics()).every((n) => Number.isSafeInteger(n) && n >= 0)`,
		`{ const { header } = process.report.getReport(); return [header.platform === process.platform, header.arch === process.arch, header.nodejsVersion === process.version, typeof header.glibcVersionRuntime === (process.platform === "linux" ? "string" : "undefined")]; }`,
	)
}

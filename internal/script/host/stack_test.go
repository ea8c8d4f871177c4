package host

import "testing"

// As the package depd does, by which express finds out who uses what is deprecated.
func TestCallSites(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, `
		function sites() {
			const { prepareStackTrace, stackTraceLimit } = Error;
			const object = {};
			Error.prepareStackTrace = (_, stack) => stack;
			Error.stackTraceLimit = Math.max(10, stackTraceLimit);
			Error.captureStackTrace(object);
			const stack = object.stack.slice(1);
			Error.prepareStackTrace = prepareStackTrace;
			Error.stackTraceLimit = stackTraceLimit;
			return stack;
		}
		function caller() { return sites()[0]; }`, []snippet{
		{"the caller", `const site = caller(); return [site.getFunctionName(), typeof site.getFileName(), site.getLineNumber() > 0, site.getColumnNumber() > 0, site.isEval(), site.isNative(), site.toString().startsWith("caller (")]`, `["caller","string",true,true,false,false,true]`},
		{"what it leaves", `typeof new Error("x").stack + typeof Error.prepareStackTrace`, "stringundefined"},
		{"native", `[1].map(() => sites())[0].some((site) => site.isNative() && site.getFileName() === null)`, "true"},
		{"the library", `let site; Error.prepareStackTrace = (_, stack) => stack[0]; try { Buffer.alloc("1"); } catch (e) { site = e.stack; } Error.prepareStackTrace = undefined; return [typeof site.getFunctionName(), site.getFileName(), site.getLineNumber(), site.isNative()]`, `["string","<eval>",null,false]`},
		{"a text with the library", `try { Buffer.alloc("1"); } catch (e) { return e.stack.split("\n").slice(1).every((line) => /^ {4}at .+ \((native|<eval>|[^()]+:\d+:\d+)\)$/.test(line)) + e.stack.match(/<eval>/)?.[0]; }`, "true<eval>"},
		{"a text without it", `const o = {}; Error.captureStackTrace(o); return typeof o.stack`, "string"},
	})
}

// The stack begins with the name and the message, as they are when it is read for
// the first time.
func TestTitleOfStacks(t *testing.T) {
	t.Parallel()
	compareWithNode(t, `
		const title = (error) => String(error.stack).split("\n    at ")[0];
		const thrown = (fn) => { try { fn(); } catch (error) { return error; } };
		class Getter extends Error { get name() { return "Getter"; } }
		class Late extends Error { constructor(message) { super(message); this.name = "Late"; } }
		class Plain extends TypeError {}
		class Captured extends Error { constructor() { super("m"); Error.captureStackTrace(this, Captured); this.name = "Captured"; } }`,
		`title(new Error("a"))`,
		`title(new Error())`,
		`title(Error("without new"))`,
		`title(new TypeError("two\nlines"))`,
		`[EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((type) => title(new type("x"))).join()`,
		`title(new AggregateError([new Error("in it")], "all"))`,
		`title(new Error("a", { cause: new Error("b") }))`,
		`title(new DOMException("gone", "AbortError"))`,
		`[title(new Getter("m")), title(new Late("m")), title(new Plain("m")), title(new Captured())].join()`,
		`title(thrown(() => { throw new Late("thrown"); }))`,
		`title(thrown(() => { missing; })).split(":")[0]`,
		`title(thrown(() => { missing(); })).split(":")[0]`,
		`title(thrown(() => { new Array(-1); })).split(":")[0]`,
		`title(thrown(() => { decodeURIComponent("%"); })).split(":")[0]`,
		`title(thrown(() => { undefined(); })).split(":")[0]`,
		`title(thrown(() => { null.x; })).split(":")[0]`,
		`title(thrown(() => { JSON.parse("{"); })).split(":")[0]`,
		`title(thrown(() => { new Function("a b"); })).split(":")[0]`,
		`const e = thrown(() => { null.x; }); return title(e) === e.toString()`,
		`const e = thrown(() => { (function f() { f(); })(); }); return title(e) === e.toString()`,
		`title(await Promise.reject(new TypeError("async")).catch((e) => e))`,
		`const e = new Error("a"); e.message = "b"; const first = title(e); e.message = "c"; return first + title(e)`,
		`const e = new Error("a"); e.stack = "mine"; return e.stack + Object.keys(e)`,
		`const e = new Error("a"); delete e.stack; const gone = typeof e.stack; e.stack = "mine"; return gone + e.stack`,
		`const e = Object.freeze(new Error("a")); const t = title(e); try { e.stack = ""; } catch { return t + "frozen"; }`,
		`const e = Object.create(new Error("a")); return title(e) + Object.keys(e)`,
		`const e = new Error("a"); title(e); const d = Object.getOwnPropertyDescriptor(e, "stack"); return [typeof d.value, d.writable, d.enumerable, d.configurable]`,
		`const e = new Error("a"); return [Object.keys(e), Object.getOwnPropertyNames(e).sort(), "stack" in e, e.hasOwnProperty("stack"), { ...e }]`,
		`const e = new Error("a"); return new Error("l").stack.endsWith("\n")`,
		`const o = {}; Error.captureStackTrace(o); return title(o)`,
		`const o = { name: "N", message: "M" }; Error.captureStackTrace(o); return title(o) + Object.keys(o)`,
		`const o = { message: "M" }; Error.captureStackTrace(o); o.stack = "mine"; return o.stack`,
		`function outer() { return inner(); } function inner() { const o = {}; Error.captureStackTrace(o, inner); return o.stack.split("\n")[1].trim().split(" ")[1]; } return outer()`,
		`class T extends Error { get name() { throw new RangeError("no name"); } } return thrown(() => new T("a").stack).message`,
		`title(structuredClone(new TypeError("copied")))`,
		`function Old(message) { this.message = message; this.stack = new Error(message).stack; } Old.prototype = Object.create(Error.prototype); return title(new Old("old"))`,
		`Error.prepareStackTrace = (error, sites) => [String(error), typeof error.stack, sites.length > 0, typeof sites[0].getLineNumber()]; const { stack } = new TypeError("prepared"); Error.prepareStackTrace = undefined; return stack`,
		`Error.prepareStackTrace = () => { throw new Error("unprepared"); }; const e = thrown(() => new Error("a").stack); Error.prepareStackTrace = undefined; return e.message`,
	)
}

package host

import "testing"

// The expected values are those of Node.js 20.
func TestHostInspect(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, `import { inspect, format } from "node:util";`, []snippet{
		{"primitives", `inspect(["a", 1, -0, 2n, true, null, undefined, Symbol("s")])`, `[ 'a', 1, -0, 2n, true, null, undefined, Symbol(s) ]`},
		{"strings", `[inspect("it's"), inspect('a"b\'c'), inspect("a\nb\u001b"), inspect("a\\b")]`, "[\"\\\"it's\\\"\",\"`a\\\"b'c`\",\"'a\\\\nb\\\\x1B'\",\"'a\\\\\\\\b'\"]"},
		{"object", `inspect({a: 1, "b-c": {d: {e: {f: 1}}}, [Symbol("k")]: 2})`, `{ a: 1, 'b-c': { d: { e: [Object] } }, [Symbol(k)]: 2 }`},
		{"array", `[inspect([]), inspect([1, [2, [3, [4, [5]]]]]), inspect([1, , 3]), inspect([,,,])]`, `["[]","[ 1, [ 2, [ 3, [Array] ] ] ]","[ 1, <1 empty item>, 3 ]","[ <3 empty items> ]"]`},
		{"long array", `inspect(Array(102).fill("ab")).split("\n").at(-2).trim()`, `... 2 more items`},
		{"long line", `inspect({aaaaaaaaaaaaaaaaaaaa: "bbbbbbbbbbbbbbbbbbbbbbbb", cccccccccccccccccccc: "dddddddddddddddddddddddddddd", e: {f: 1}})`, "{\n  aaaaaaaaaaaaaaaaaaaa: 'bbbbbbbbbbbbbbbbbbbbbbbb',\n  cccccccccccccccccccc: 'dddddddddddddddddddddddddddd',\n  e: { f: 1 }\n}"},
		{"nested long", `inspect({list: [{name: "some name here", description: "a longer description of it"}, {name: "other name here", description: "another description"}], ok: true})`, "{\n  list: [\n    {\n      name: 'some name here',\n      description: 'a longer description of it'\n    },\n    { name: 'other name here', description: 'another description' }\n  ],\n  ok: true\n}"},
		{"class", `{ class Foo { constructor() { this.a = 1 } } class Bar extends Foo {} return [inspect(new Bar()), inspect(Foo), inspect(Bar), inspect(class {})]; }`, `["Bar { a: 1 }","[class Foo]","[class Bar extends Foo]","[class (anonymous)]"]`},
		{"functions", `[inspect(function foo() {}), inspect(() => {}), inspect(async () => {}), inspect(function* g() {}), inspect(Object.assign(function f() {}, {a: 1}))]`, `["[Function: foo]","[Function (anonymous)]","[AsyncFunction (anonymous)]","[GeneratorFunction: g]","[Function: f] { a: 1 }"]`},
		{"null prototype", `inspect(Object.assign(Object.create(null), {a: 1}))`, `[Object: null prototype] { a: 1 }`},
		{"map and set", `[inspect(new Map([["a", {b: 1}], [{c: 1}, 2]])), inspect(new Set([1, "x"])), inspect(new Map()), inspect(new Set())]`, `["Map(2) { 'a' => { b: 1 }, { c: 1 } => 2 }","Set(2) { 1, 'x' }","Map(0) {}","Set(0) {}"]`},
		{"date and regexp", `[inspect(new Date(0)), inspect(new Date(NaN)), inspect(/a\/b/g)]`, `["1970-01-01T00:00:00.000Z","Invalid Date","/a\\/b/g"]`},
		{"circular", `{ const a = {x: 1}; a.self = a; a.list = [a, {a}]; return inspect(a); }`, "<ref *1> {\n  x: 1,\n  self: [Circular *1],\n  list: [ [Circular *1], { a: [Circular *1] } ]\n}"},
		{"typed arrays", `[inspect(Uint8Array.of(1, 2)), inspect(new Float64Array(1)), inspect(Buffer.from("hi")), inspect(new ArrayBuffer(2))]`, `["Uint8Array(2) [ 1, 2 ]","Float64Array(1) [ 0 ]","<Buffer 68 69>","ArrayBuffer { [Uint8Contents]: <00 00>, byteLength: 2 }"]`},
		{"boxed", `[inspect(new Number(3)), inspect(new String("abc")), inspect(Object(1n)), inspect(new Boolean(false))]`, `["[Number: 3]","[String: 'abc']","[BigInt: 1n]","[Boolean: false]"]`},
		{"getters", `inspect({get a() { return 1 }, set b(x) {}, get c() { return 1 }, set c(x) {}})`, `undefined`},
		{"weak", `[inspect(new WeakMap()), inspect(new WeakSet())]`, `["WeakMap { <items unknown> }","WeakSet { <items unknown> }"]`},
		{"tag", `inspect({[Symbol.toStringTag]: "T", a: 1})`, `{ a: 1, [Symbol(Symbol.toStringTag)]: 'T' }`},
		{"custom", `inspect({[inspect.custom](depth, options) { return "<mine " + depth + ">" }})`, `undefined`},
		{"custom nested", `inspect({a: {[inspect.custom]: () => "line1\nline2"}})`, "{\n  a: line1\n  line2\n}"},
		{"depth", `[inspect({a: {b: {c: {}}}}, {depth: 0}), inspect({a: {b: {c: {d: 1}}}}, {depth: null}), inspect({a: {b: {}}}, false, 0)]`, `["{ a: [Object] }","{\n  a: { b: { c: { d: 1 } } }\n}","{ a: [Object] }"]`},
		{"limits", `[inspect("x".repeat(20), {maxStringLength: 5}), inspect([1, 2, 3], {maxArrayLength: 1}), inspect(new Set([1, 2, 3]), {maxArrayLength: 2})]`, `["'xxxxx'... 15 more characters","[ 1, ... 2 more items ]","Set(3) { 1, 2, ... 1 more item }"]`},
		{"sorted", `inspect({b: 1, a: 2}, {sorted: true})`, `{ a: 2, b: 1 }`},
		{"one line", `inspect({a: "x".repeat(60), b: "y".repeat(60)}, {breakLength: Infinity})`, `{ a: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', b: 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy' }`},
		{"error without stack", `{ const e = new RangeError("bad"); e.stack = undefined; return inspect(e); }`, `[RangeError: bad]`},
		{"error with code", `{ const e = new Error("bad"); e.stack = "Error: bad\n    at x (y:1:2)"; e.code = "E1"; return inspect(e); }`, "Error: bad\n    at x (y:1:2) {\n  code: 'E1'\n}"},
		{"error cause", `{ const e = new Error("outer", {cause: {a: 1}}); e.stack = "Error: outer\n    at x (y:1:2)"; return inspect(e); }`, "Error: outer\n    at x (y:1:2) {\n  [cause]: { a: 1 }\n}"},
		{"error in object", `{ const e = new Error("bad"); e.stack = "Error: bad\n    at x (y:1:2)"; return inspect({e}); }`, "{\n  e: Error: bad\n      at x (y:1:2)\n}"},
		{"proxy", `inspect(new Proxy({a: 1}, {}))`, `{ a: 1 }`},
		{"url", `inspect({u: new URLSearchParams("a=1&b=2")})`, `{ u: URLSearchParams { 'a' => '1', 'b' => '2' } }`},
		{"arguments", `(function () { return inspect(arguments) })(1, "a")`, `undefined`},
		{"symbol key", `inspect({[Symbol.iterator]: 1, "": 2, "1a": 3, 5: 4})`, `{ '5': 4, '': 2, '1a': 3, [Symbol(Symbol.iterator)]: 1 }`},
		{"format", `[format("%s %d %i %f %j %% %c.", "a", "42", "42.9", "1.5", {x: 1}, "css"), format("%s"), format("a", "b", {c: 1}), format(1, "a"), format("%d%%", 5), format("%s", null, undefined)]`, `["a 42 42 1.5 {\"x\":1} % .","%s","a b { c: 1 }","1 a","5%","null undefined"]`},
		{"format %s", `[format("%s", {a: {b: 1}}), format("%s", [1, [2]]), format("%s", -0), format("%s", 5n), format("%s", Symbol("x")), format("%s", {toString: () => "T"}), format("%s", () => 1)]`, `["{ a: [Object] }","[ 1, [Array] ]","-0","5n","Symbol(x)","T","() => 1"]`},
		{"format %o", `[format("%O", {a: {b: {c: {d: 1}}}}), format("%d", "x"), format("%i", "12px"), format("%d", {})]`, `["{ a: { b: { c: [Object] } } }","NaN","12","NaN"]`},
		{"format strange", `[format("%j", {toJSON: () => "J"}), format("%", 1), format("%x", 1), format("100%", "a")]`, `["\"J\"","% 1","%x 1","100% a"]`},
	})
}

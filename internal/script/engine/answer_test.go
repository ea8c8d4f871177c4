package engine

import (
	"encoding/json"
	"fmt"
	"testing"
)

// What is sent without text is what JSON.stringify makes of it, and what has code of
// its own, may not end or is large is left to it.
func TestAnswersAreThoseOfStringify(t *testing.T) {
	t.Parallel()
	const deep = `(() => { let v = 1; for (let i = 0; i < 30; i++) v = [v]; return v; })()`
	cases := []struct {
		value string
		plain bool
	}{
		{`undefined`, true},
		{`null`, true},
		{`true`, true},
		{`[false, 0, -0, -1, 2147483648, 1.5, 1e21, 5e-324, NaN, Infinity, -Infinity]`, true},
		{`""`, true},
		{`"a \"quoted\" \\ text / with \u0000\b\f\n\r\t\u001f\u007f, ä, €, 😀, \u2028 and <b>"`, true},
		{`"half of a pair: " + "😀"[0]`, false},
		{`"한국"`, false}, // begins like one
		{`"long ".repeat(3000) + "rope"`, true},
		{`"x".repeat(70000)`, false},
		{`[]`, true},
		{`[undefined, null, [], [[1]], {}]`, true},
		{`[1, , 3]`, false},
		{`Object.assign([1, 2], {more: 3})`, false},
		{`new Array(5)`, false},
		{`new Array(2000).fill(1)`, false},
		{`({})`, true},
		{`({b: 1, a: "2", 10: 3, 9: 4, "": 5, ä: 6, none: undefined, [Symbol("s")]: 7})`, true},
		{`Object.defineProperty({a: 1}, "hidden", {value: 2})`, true},
		{`({a: {b: [{c: [1, {d: "e"}]}]}})`, true},
		{`({a: () => 1, b: 2})`, false},
		{`({a: Symbol("s")})`, false},
		{`({get a() { return 1; }})`, false},
		{`[{toJSON() { return 1; }}]`, false},
		{`Object.defineProperty({}, "toJSON", {value: () => "hidden"})`, false},
		{`new Date(0)`, false},
		{`new Map([[1, 2]])`, false},
		{`new String("text")`, false},
		{`new Proxy({a: 1}, {})`, false},
		{`Object.create({inherited: 1})`, false},
		{`Object.create(null)`, false},
		{`new (class { x = 1; })()`, false},
		{deep, false},
	}
	for _, prelude := range []string{"", `Array.prototype.toJSON = () => "replaced";`, `Object.prototype.toJSON = function () { return typeof this; };`} {
		code := prelude + `const values = [`
		for _, c := range cases {
			code += `() => ` + c.value + `, `
		}
		engine := start(t, generous, `(() => { `+code+`];
			return (p) => {
				if (!p) return null;
				const value = values[p.number]();
				if (p.how === "plain") return __send(-1, value) ? "yes" : "no";
				return p.how === "text" ? { text: JSON.stringify(value) ?? "null" } : value;
			};
		})()`)
		for i, c := range cases {
			ask := func(how string) string {
				r, err := engine.Call(t.Context(), Call{Params: fmt.Sprintf(`{"number":%d,"how":%q}`, i, how)})
				if err != nil {
					t.Fatalf("%s: %v", c.value, err)
				}
				return string(r.Value)
			}
			if prelude == "" {
				if got, want := ask("plain"), map[bool]string{true: `"yes"`, false: `"no"`}[c.plain]; got != want {
					t.Errorf("%s: plain: %s, want %s", c.value, got, want)
				}
				var want struct{ Text string }
				if err := json.Unmarshal([]byte(ask("text")), &want); err != nil {
					t.Fatal(err)
				}
				if got := ask("value"); got != want.Text {
					t.Errorf("%s: %s, want %s", c.value, got, want.Text)
				}
			} else if got := ask("value"); c.value == `[]` && prelude[0] == 'A' && got != `"replaced"` || c.value == `({})` && prelude[0] == 'O' && got != `"object"` {
				t.Errorf("%s with %s: %s", c.value, prelude, got)
			}
		}
	}
}

// An exception of code that is asked for a member of a value does not outlive the answer.
func TestAnswerAfterAnException(t *testing.T) {
	t.Parallel()
	engine := start(t, generous, `(() => {
		let asked = 0;
		const list = [1];
		Object.setPrototypeOf(Array.prototype, new Proxy(Object.prototype, {has() { asked++; throw new Error("has"); }}));
		return (p) => p ? asked > 0 : list;
	})()`)
	for range 2 {
		if r, err := engine.Call(t.Context(), Call{}); err != nil || string(r.Value) != `[1]` {
			t.Errorf("%s, %v", r.Value, err)
		}
	}
	if r, err := engine.Call(t.Context(), Call{Params: `1`}); err != nil || string(r.Value) != `true` {
		t.Errorf("the member was not asked for: %s, %v", r.Value, err)
	}
}

// The value of a promise is sent at once only if nothing else would run before.
func TestMicrotasksRunBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fn, want string }{
		{`async () => ({now: 1})`, `{"now":1}`},
		{`() => Promise.resolve([1])`, `[1]`},
		{`async () => { const out = {order: []}; Promise.resolve().then(() => out.order.push("first")); return out; }`, `{"order":["first"]}`},
		{`() => { const p = Promise.resolve(1); p.then = (done) => done("its own"); return p; }`, `"its own"`},
		{`() => new (class extends Promise { then(done) { return super.then(() => done("of the class")); } })((ok) => ok(1))`, `"of the class"`},
		{`async () => { await null; return "late"; }`, `"late"`},
	} {
		engine := start(t, generous, c.fn)
		if r, err := engine.Call(t.Context(), Call{}); err != nil || string(r.Value) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.fn, r.Value, err, c.want)
		}
	}
	engine := start(t, generous, `(() => { let loaded; return async () => { if (!loaded) return loaded = true; throw new RangeError("no"); }; })()`)
	if _, err := engine.Call(t.Context(), Call{}); err == nil || err.Error() != "RangeError: no" {
		t.Errorf("a promise that is rejected: %v", err)
	}
}

// Code that calls the functions by itself gets nothing by that.
func TestNativeFunctionsAreSafe(t *testing.T) {
	t.Parallel()
	engine := start(t, generous, `() => [__send(), __send("1", {}), __send({}, {}), __send(2 ** 53, {}), __settled() === undefined, __settled(1, 2), __settled({}, 3), __settled(new Promise(() => {}), 4)]`)
	const want = `[0,0,0,1,true,2,3,4]` // an answer that nothing waits for is ignored
	if r, err := engine.Call(t.Context(), Call{}); err != nil || string(r.Value) != want {
		t.Errorf("got %s, %v; want %s", r.Value, err, want)
	}
}

package javascript_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
	"github.com/parley-run/parley/tool/code/javascript"
)

func TestMain(m *testing.M) { leak.Main(m) }

// generous is for code that ends by itself, also on a busy machine.
var generous = javascript.Config{Timeout: 2 * time.Minute}

func run(t *testing.T, cfg javascript.Config, req *code.Request) (*code.Result, error) {
	t.Helper()
	return javascript.New(cfg).Execute(&tool.Context{Context: t.Context()}, req)
}

func TestExecute(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`console.log(6*7)`: "42\n",
		`total = [1,2,3].reduce((a, b) => a + b); console.log("sum", total)`:                                                 "sum 6\n",
		`console.log({a: 1, "b c": [1, "x"], d: null, e: new Map([[1, {}]])}, undefined, 2n)`:                                "{ a: 1, 'b c': [ 1, 'x' ], d: null, e: Map(1) { 1 => {} } } undefined 2n\n",
		`console.log("%s is %d%%", "it", 5, new Set([1]), new Uint8Array([1, 2]))`:                                           "it is 5% Set(1) { 1 } Uint8Array(2) [ 1, 2 ]\n",
		`const a = {}; a.a = a; console.log(a, new Date(0), /x/, () => 1)`:                                                   "{ a: [Circular] } 1970-01-01T00:00:00.000Z /x/ [Function: anonymous]\n",
		`console.error("warned"); process.stdout.write("no line")`:                                                           "warned\nno line",
		`const x = await new Promise((r) => setTimeout(() => r(1), 1)); console.log(x)`:                                      "1\n",
		`setTimeout(() => console.log("later"), 1); console.log("now")`:                                                      "now\nlater\n",
		`console.log("done"); process.exit(0); console.log("unseen")`:                                                        "done\n",
		`console.log(process.argv.slice(2).join(" "))`:                                                                       "--room hall x\n",
		`console.log(require("./lib/twice.js")(21), require("./data.json").n, files["data.json"].length, files["b.bin"][1])`: "42 7 7 255\n",
		`return console.log("returned")`:                                                                                     "returned\n",
	} {
		got, err := run(t, generous, &code.Request{
			Code: source, Language: "javascript", Args: []code.Arg{{Name: "room", Value: "hall"}, {Value: "x"}},
			Files: []code.File{
				{Name: "lib/twice.js", Data: []byte(`module.exports = (x) => require("./two") * x;`)},
				{Name: "lib/two.js", Data: []byte("module.exports = 2")},
				{Name: "data.json", Data: []byte(`{"n":7}`)},
				{Name: "b.bin", Data: []byte{0xfe, 0xff}},
			},
		})
		if err != nil || got.Stderr != "" || got.Stdout != want {
			t.Errorf("%s\n%+v %v, want %q", source, got, err, want)
		}
	}
}

func TestExecuteFailures(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`console.log("before"); missing()`:                          "ReferenceError: 'missing' is not defined",
		`let let = 1`:                                               "SyntaxError: ",
		`throw new TypeError("bad")`:                                "TypeError: bad",
		"\nfunction f() { throw new Error('placed'); }\nf()":        "Error: placed\n    at f (code.js:2:",
		`throw {a: 1}`:                                              "Uncaught { a: 1 }",
		`await new Promise(() => {})`:                               "waits for something that never happens",
		`setTimeout(() => { throw new Error("late") })`:             "Error: late",
		`Promise.reject(new Error("alone"))`:                        "Error: alone",
		`process.exit(3)`:                                           "Exit code 3",
		`const f = () => f(); f()`:                                  "stack",
		`fetch("http://localhost")`:                                 "'fetch' is not defined",
		`require("node:fs").readFileSync("/etc/passwd")`:            "Cannot find module 'node:fs'",
		`require("../../../etc/passwd")`:                            "Cannot find module",
		`import("node:fs")`:                                         "is not part of the bundle",
		`await (await import("std")).loadFile("/x")`:                "is not part of the bundle",
		`__host("request", JSON.stringify({ id: 1, op: "fetch" }))`: `there is no host operation "fetch"`,
		`writeFile("x", {})`:                                        "TypeError: writeFile takes a text or a Uint8Array",
	} {
		got, err := run(t, generous, &code.Request{Code: source})
		if err != nil || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s\n%+v %v, want the failure %q", source, got, err, want)
		}
	}
}

func TestExecuteLimits(t *testing.T) {
	t.Parallel()
	small := javascript.Config{Memory: 16 << 20, Timeout: 2 * time.Minute}
	got, err := run(t, small, &code.Request{Code: `const a = []; for (;;) a.push(new Array(1000).fill(1.5))`})
	if err != nil || got.Stderr != "the code ran out of memory (16 MB), and was stopped" {
		t.Errorf("memory: %+v %v", got, err)
	}
	for _, source := range []string{`for (;;) {}`, `await new Promise((r) => setTimeout(r, 1e9))`, `setInterval(() => {}, 1)`, `Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)`} {
		if _, err := run(t, javascript.Config{Timeout: 50 * time.Millisecond}, &code.Request{Code: source}); !errors.Is(err, code.ErrTimeout) {
			t.Errorf("%s: %v, want that it did not end in its time", source, err)
		}
	}
	got, err = run(t, generous, &code.Request{Code: `for (let i = 0; i < 100; i++) console.log("x".repeat(10000))`})
	if err != nil || len(got.Stdout) != code.MaxOutput+1 {
		t.Errorf("output: %d bytes, %v", len(got.Stdout), err)
	}
	got, err = run(t, generous, &code.Request{Code: `for (let i = 0; i < 101; i++) writeFile("f" + i, "")`})
	if err != nil || !strings.Contains(got.Stderr, "no more than 100 files") {
		t.Errorf("files: %+v %v", got, err)
	}
	if got, err := run(t, generous, &code.Request{Code: "print(1)", Language: "python"}); err != nil || got.Stderr != "Code in python cannot be run here. Write JavaScript." {
		t.Errorf("language: %+v %v", got, err)
	}
}

// Nothing of an execution is left for the next one.
func TestExecuteIsFresh(t *testing.T) {
	t.Parallel()
	e := javascript.New(generous)
	ctx := &tool.Context{Context: t.Context()}
	if _, err := e.Execute(ctx, &code.Request{Code: `globalThis.left = 1; Array.prototype.map = 1`}); err != nil {
		t.Fatal(err)
	}
	got, err := e.Execute(ctx, &code.Request{Code: `console.log(typeof left, [1].map((x) => x))`})
	if err != nil || got.Stdout != "undefined [ 1 ]\n" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestExecuteWritesFiles(t *testing.T) {
	t.Parallel()
	got, err := run(t, generous, &code.Request{Code: `writeFile("a.txt", "é"); writeFile("b.bin", new Uint8Array([0, 255])); writeFile("a.txt", "b")`})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]code.File{{Name: "a.txt", Data: []byte("b")}, {Name: "b.bin", Data: []byte{0, 255}}}, got.Files); diff != "" {
		t.Error(diff)
	}
}

func TestExecuteIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := javascript.New(generous).Execute(&tool.Context{Context: ctx}, &code.Request{Code: `for (;;) {}`}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

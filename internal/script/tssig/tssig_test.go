package tssig

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

// declarations are what the types of TestTypes refer to.
const declarations = `
enum Color { Red = 'red', Green = "green" }
const enum Level { Low, Mid = 5, High }
enum Computed { A = 1 << 2, B = 'x'.length }
interface City { name: string; population?: number }
interface Capital extends City { country: string; name: 'Paris' | 'Rome' }
interface Both extends City, Pick<Order, 'id'> {}
interface Order {
  id: bigint
  lines: Line[]; // what was ordered
  /** When it is due. */
  due?: Date
  send(): void;
  onChange: (x: string) => void
}
interface Line { sku: string, order?: Order }
interface Line { count: number }
type Unit = "c" | 'f';
type Maybe<T> = T | null | undefined;
type Page<T, U = string> = { items: T[]; next?: U };
type Tree = { value: number; children: Tree[] };
type Json = string | number | Json[] | { [key: string]: Json };
type Shape = { kind: 'circle'; r: number } | { kind: 'square'; a: number };
type Big = { a: Bigger; b: Bigger }; type Bigger = { a: Biggest; b: Biggest }; type Biggest = { a: City; b: City };
const units = ['km', 'mi'] as const;
const names = ['a', 'b'];
const table = { paris: 'Europe/Paris', "new york": { zone: 1 } } as const;
`

func TestTypes(t *testing.T) {
	object := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}},"required":["a"]}`
	city := `{"type":"object","properties":{"name":{"type":"string"},"population":{"type":"number"}},"required":["name"]}`
	for _, c := range []struct{ typ, want string }{
		{`string`, `{"type":"string"}`},
		{`number`, `{"type":"number"}`},
		{`boolean`, `{"type":"boolean"}`},
		{`bigint`, `{"type":"integer","format":"int64"}`},
		{`Date`, `{"type":"string","format":"date-time"}`},
		{`any`, `{}`},
		{`unknown`, `{}`},
		{`object`, `{"type":"object"}`},
		{`{}`, `{"type":"object"}`},
		{`null`, `{"type":"null"}`},
		{`string[]`, `{"type":"array","items":{"type":"string"}}`},
		{`string[][]`, `{"type":"array","items":{"type":"array","items":{"type":"string"}}}`},
		{`(string | null)[]`, `{"type":"array","items":{"type":["string","null"]}}`},
		{`(number | undefined)[]`, `{"type":"array","items":{"type":["number","null"]}}`},
		{`Array<number>`, `{"type":"array","items":{"type":"number"}}`},
		{`Array<Array<number>>`, `{"type":"array","items":{"type":"array","items":{"type":"number"}}}`},
		{`readonly boolean[]`, `{"type":"array","items":{"type":"boolean"}}`},
		{`ReadonlyArray<'a' | 'b'>`, `{"type":"array","items":{"type":"string","enum":["a","b"]}}`},
		{`[number, number]`, `{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2}`},
		{`[name: string, age?: number]`, `{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"minItems":1,"maxItems":2}`},
		{`[string, ...number[]]`, `{"type":"array","items":{"type":"number"},"prefixItems":[{"type":"string"}],"minItems":1}`},
		{`[]`, `{"type":"array","items":{}}`},
		{`'c' | "f"`, `{"type":"string","enum":["c","f"]}`},
		{"\n | 'it\\'s'\n | `plain` // why\n", `{"type":"string","enum":["it's","plain"]}`},
		{`1 | 2 | -3`, `{"type":"number","enum":[1,2,-3]}`},
		{`'auto' | 0`, `{"type":["string","number"],"enum":["auto",0]}`},
		{`true | false`, `{"type":"boolean"}`},
		{`true`, `{"type":"boolean","enum":[true]}`},
		{`'a' | (string & {})`, `{"type":"string"}`},
		{`'a' | 'b' | null`, `{"type":["string","null"],"enum":["a","b",null]}`},
		{`string | undefined`, `optional {"type":"string"}`},
		{`string | null | undefined`, `optional {"type":["string","null"]}`},
		{`Maybe<number>`, `optional {"type":["number","null"]}`},
		{`undefined`, `optional {}`},
		{`string | number`, `{"anyOf":[{"type":"string"},{"type":"number"}]}`},
		{`string | string[] | null`, `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}},{"type":"null"}]}`},
		{`string | any`, `{}`},
		{`Shape`, `{"anyOf":[{"type":"object","properties":{"kind":{"type":"string","enum":["circle"]},"r":{"type":"number"}},"required":["kind","r"]},` +
			`{"type":"object","properties":{"kind":{"type":"string","enum":["square"]},"a":{"type":"number"}},"required":["kind","a"]}]}`},
		{`{ a: string; b?: number }`, object},
		{`{ a: string, b?: number }`, object},
		{"{\n  a: string\n  b?: number\n}", object},
		{"{\n  readonly a: string\n  'b': number | undefined\n}", object},
		{"{ a: string /** The a. */; b?: number // the b\n }", `{"type":"object","properties":{"a":{"type":"string","description":"The a."},"b":{"type":"number","description":"the b"}},"required":["a"]}`},
		{"{\n  // first line\n  // and second\n  a: string;\n\n  // far away\n\n  b?: number; /* behind */\n}", `{"type":"object","properties":{"a":{"type":"string","description":"first line and second"},"b":{"type":"number","description":"behind"}},"required":["a"]}`},
		{"{ // of the object\n  /** The a\n   * of it.\n   * @default 1 */\n  a: string; // eslint-disable-line\n  b?: number; }", `{"type":"object","properties":{"a":{"type":"string","description":"The a of it."},"b":{"type":"number"}},"required":["a"]}`},
		{`{ a: { b: { c: string } } }`, `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"string"}},"required":["c"]}},"required":["b"]}},"required":["a"]}`},
		{`{ [key: string]: number }`, `{"type":"object","additionalProperties":{"type":"number"}}`},
		{`{ a: string; [key: string]: unknown }`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":{}}`},
		{`{ a(): string; get b(): number; new (): X; (x: string): void; c?: () => void; __proto__: string }`, `{"type":"object","properties":{"b":{"type":"number"}},"required":["b"]}`},
		{`Record<string, number>`, `{"type":"object","additionalProperties":{"type":"number"}}`},
		{`Record<string, any>`, `{"type":"object","additionalProperties":{}}`},
		{`Record<Unit, boolean>`, `{"type":"object","properties":{"c":{"type":"boolean"},"f":{"type":"boolean"}},"required":["c","f"]}`},
		{`{ [K in Unit]?: K }`, `{"type":"object","properties":{"c":{"type":"string","enum":["c"]},"f":{"type":"string","enum":["f"]}}}`},
		{`{ readonly [K in string]: number }`, `{"type":"object","additionalProperties":{"type":"number"}}`},
		{`City`, city},
		{`Readonly<City>`, city},
		{`Promise<City>`, city},
		{`Partial<City>`, `{"type":"object","properties":{"name":{"type":"string"},"population":{"type":"number"}}}`},
		{`Required<City>`, `{"type":"object","properties":{"name":{"type":"string"},"population":{"type":"number"}},"required":["name","population"]}`},
		{`Pick<City, 'name'>`, `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`},
		{`Omit<City, "name">`, `{"type":"object","properties":{"population":{"type":"number"}}}`},
		{`NonNullable<Maybe<string>>`, `{"type":"string"}`},
		{`Exclude<Unit | 'k', 'k'>`, `{"type":"string","enum":["c","f"]}`},
		{`Extract<Unit, 'c'>`, `{"type":"string","enum":["c"]}`},
		{`Capital`, `{"type":"object","properties":{"name":{"type":"string","enum":["Paris","Rome"]},"population":{"type":"number"},"country":{"type":"string"}},"required":["name","country"]}`},
		{`Both`, `{"type":"object","properties":{"name":{"type":"string"},"population":{"type":"number"},"id":{"type":"integer","format":"int64"}},"required":["name","id"]}`},
		{`City & { zip: string }`, `{"type":"object","properties":{"name":{"type":"string"},"population":{"type":"number"},"zip":{"type":"string"}},"required":["name","zip"]}`},
		{`{ id: string } & ({ a: 1 } | { b: 2 })`, `{"anyOf":[{"type":"object","properties":{"id":{"type":"string"},"a":{"type":"number","enum":[1]}},"required":["id","a"]},{"type":"object","properties":{"id":{"type":"string"},"b":{"type":"number","enum":[2]}},"required":["id","b"]}]}`},
		{`Order`, `{"type":"object","properties":{"id":{"type":"integer","format":"int64"},"lines":{"type":"array","description":"what was ordered","items":{"type":"object","properties":{"sku":{"type":"string"},"order":{"type":"object"},"count":{"type":"number"}},"required":["sku","count"]}},"due":{"type":"string","format":"date-time","description":"When it is due."}},"required":["id","lines"]}`},
		{`Tree`, `{"type":"object","properties":{"value":{"type":"number"},"children":{"type":"array","items":{"type":"object"}}},"required":["value","children"]}`},
		{`Page<Page<number>>`, `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"items":{"type":"array","items":{"type":"number"}},"next":{"type":"string"}},"required":["items"]}},"next":{"type":"string"}},"required":["items"]}`},
		{`Color`, `{"type":"string","enum":["red","green"]}`},
		{`Color.Red`, `{"type":"string","enum":["red"]}`},
		{`Level`, `{"type":"number","enum":[0,5,6]}`},
		{`Computed`, `{}`},
		{`keyof City`, `{"type":"string","enum":["name","population"]}`},
		{`keyof typeof table`, `{"type":"string","enum":["paris","new york"]}`},
		{`(typeof units)[number]`, `{"type":"string","enum":["km","mi"]}`},
		{`typeof names[number]`, `{"type":"string"}`},
		{`typeof table.paris`, `{"type":"string","enum":["Europe/Paris"]}`},
		{`Capital['name']`, `{"type":"string","enum":["Paris","Rome"]}`},
		{"`user-${string}`", `{"type":"string"}`},
		{`Imported`, `{}`},
		{`z.infer<typeof schema>`, `{}`},
		{`import('./x').Y<string>`, `{}`},
		{`T extends string ? number : (a: { b: string }) => void`, `{}`},
		{`Json`, `{"anyOf":[{"type":"string"},{"type":"number"},{"type":"array","items":{}},{"type":"object","additionalProperties":{}}]}`},
	} {
		t.Run(c.typ, func(t *testing.T) {
			list := signatures(declarations + "function f(x: " + c.typ + ", last: 'end') {}")
			if len(list) != 1 || len(list[0].Params) != 2 || list[0].Params[1].Schema.keys() == nil {
				t.Fatalf("%+v", list)
			}
			p := list[0].Params[0]
			got := jsonOf(t, p.Schema)
			if p.Optional {
				got = "optional " + got
			}
			if got != c.want {
				t.Errorf(" got %s\nwant %s", got, c.want)
			}
		})
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSignatures reads testdata/signatures.txt: sources, and below each what
// was found in it.
func TestSignatures(t *testing.T) {
	text, err := os.ReadFile("testdata/signatures.txt")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n=== ") {
		title, rest, _ := strings.Cut(strings.TrimPrefix(part, "=== "), "\n")
		source, want, _ := strings.Cut(rest, "\n---")
		t.Run(title, func(t *testing.T) {
			var got strings.Builder
			for _, s := range signatures(source) {
				if s.local {
					got.WriteString("local ")
				}
				got.WriteString(jsonOf(t, s) + "\n")
			}
			if strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
				t.Errorf(" got\n%s\nwant\n%s", got.String(), strings.TrimSpace(want))
			}
		})
	}
}

// Types that use each other twice have a schema that doubles with each.
func TestSignaturesOfHugeTypes(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "type T%d = { a: T%d; b: T%d & T%d; c: [T%d, T%d] };\n", i, i+1, i+1, i+1, i+1, i+1)
	}
	for i := range 300 {
		fmt.Fprintf(&b, "export function f%d(x: T0) {}\n", i)
	}
	list := signatures(b.String())
	if len(list) != 300 {
		t.Fatal(len(list))
	}
	total := 0
	for _, s := range list {
		total += len(jsonOf(t, s))
	}
	if total > 4<<20 {
		t.Errorf("%d bytes of schemas", total)
	}
}

// Texts that invite to look at the same place again and again: with them a
// reader that does so would not end.
func TestSignaturesOfOddTexts(t *testing.T) {
	const n = 40_000
	for _, unit := range []string{
		"(", "<", "{", "[", "`${", "const a = <", "const a = (", "const a: (", "type A = (", "type A<", "a?:", "/[", "/*", "function f(a: b<",
		"const f = (a = new M<", "keyof ", "typeof ", "a|", "a&", "type A = B extends C ? ", "interface A extends B, ", "f(){}", "/** @param {", "// x\n",
		"enum A { B = ", "const a = {b: [", "import { a as ", "const a = b, ", "\\", "'", "\"\n", "}", ")", "...", "a.b", "=> ", "extends ", "\u00e9 ",
	} {
		source := strings.Repeat(unit, n/len(unit))
		whole := closeAll(source)
		for _, one := range []string{source, whole, "export function f(" + whole + ") {}", "export function f(a: " + whole + ") {}", "type A = " + whole} {
			if _, err := json.Marshal(signatures(one)); err != nil {
				t.Errorf("%q: %v", unit, err)
			}
		}
	}
}

// closeAll adds the brackets that a text lacks.
func closeAll(source string) string {
	pairs := map[rune]string{'(': ")", '[': "]", '{': "}"}
	var b strings.Builder
	b.WriteString(source)
	for _, r := range slices.Backward([]rune(source)) {
		b.WriteString(pairs[r])
	}
	return b.String()
}

func transform(code string) []api.Message {
	return api.Transform(code, api.TransformOptions{Loader: api.LoaderTS, LogLevel: api.LogLevelSilent, Target: api.ES2023, Format: api.FormatESModule}).Errors
}

func FuzzSignatures(f *testing.F) {
	text, err := os.ReadFile("testdata/signatures.txt")
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n=== ") {
		_, rest, _ := strings.Cut(part, "\n")
		source, _, _ := strings.Cut(rest, "\n---")
		f.Add(source)
	}
	f.Add(declarations + "export function f(a: Order, b: Page<Tree>, ...c: Json[]): a is string {}")
	f.Fuzz(func(t *testing.T, source string) {
		for _, s := range signatures(source) {
			if text := jsonOf(t, s); !json.Valid([]byte(text)) {
				t.Errorf("not JSON: %s", text)
			}
		}
		out := Annotate("/app/index.ts", source)
		if !strings.HasPrefix(out, source) {
			t.Error("the source was changed")
		}
		// What compiles without the signatures compiles with them.
		if out != source && len(transform(source)) == 0 {
			if errs := transform(out); len(errs) > 0 {
				t.Errorf("%v in\n%s", errs, out)
			}
		}
	})
}

package script

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/parley-run/parley/internal/script/bundle"
	"github.com/parley-run/parley/internal/script/engine"
)

// Schemas that are compiled accept and make the same of arguments as safeParse does,
// and those with functions of the author's are not compiled.
func TestCompiledSchemas(t *testing.T) {
	t.Parallel()
	const code = `
const { z } = __builtin("third_party/zod/index.js");
const { INVALID, parse, isCompiled } = __builtin("adk/schema.js");
const safeParse = (schema, value) => {
  const data = parse(schema, value);
  return data === INVALID ? schema.safeParse(value) : { success: true, data };
};
const city = z.object({ city: z.string().describe("The city") });
const schemas = [
  [true, city],
  [true, z.object({ n: z.number().int().min(1).max(10).optional(), on: z.boolean().default(true), unit: z.enum(["C", "F"]).nullable() })],
  [true, z.object({ list: z.array(z.object({ id: z.string().min(2), tags: z.array(z.string()).optional() })).max(2) })],
  [true, z.strictObject({ a: z.literal("x"), b: z.union([z.string(), z.number()]) })],
  [true, z.looseObject({ a: z.email() })],
  [true, z.object({ when: z.iso.datetime(), by: z.record(z.string(), z.number()) }).partial()],
  [true, z.discriminatedUnion("kind", [z.object({ kind: z.literal("a"), a: z.number() }), z.object({ kind: z.literal("b"), b: z.string().nullish() })])],
  [false, z.object({ n: z.coerce.number(), any: z.any(), unknown: z.unknown() })],
  [false, z.object({ city: z.string().transform((s) => s.toUpperCase()) })],
  [false, city.refine((v) => v.city !== "Atlantis", "it sank")],
  [false, z.object({ a: z.string() }).and(z.object({ b: z.string() }))],
  [false, { safeParse: (v) => ({ success: true, data: ["its own", v] }) }],
];
const values = [
  {}, null, undefined, "text", [], { city: "Paris" }, { city: "Paris", more: 1 }, { city: 1 }, { city: "Atlantis" },
  { n: 3, unit: "C" }, { n: 3.5, unit: null }, { n: 11, unit: "K" }, { n: null, on: false, unit: "F" }, { n: "12", any: [1] },
  { list: [] }, { list: [{ id: "ab", x: 1, tags: ["t"] }] }, { list: [{ id: "a" }] }, { list: [{ id: "ab" }, { id: "cd" }, { id: "ef" }] },
  { a: "x", b: 1 }, { a: "x", b: "y", c: 2 }, { a: "x", b: null }, { a: "someone@example.com", b: 1 }, { b: "y", a: "x" },
  { when: "2026-01-02T03:04:05Z", by: { x: 1 } }, { when: "yesterday" }, { by: { x: "1" } },
  { kind: "a", a: 1 }, { kind: "b", b: null }, { kind: "c" }, JSON.parse('{"__proto__": {"city": "x"}, "city": "y"}'),
];
const plain = (r) => JSON.stringify(r.success ? r : { success: false, issues: r.error.issues, message: r.error.message });
__builtin("guest.js").serve(() => {
  const wrong = [];
  schemas.forEach(([compiles, schema], i) => {
    if (isCompiled(schema) !== compiles) wrong.push("schema " + i + " is compiled: " + !compiles);
    for (const value of values) {
      for (let again = 0; again < 2; again++) {
        const [got, want] = [plain(safeParse(schema, value)), plain(schema.safeParse(value))];
        if (got !== want) wrong.push("schema " + i + ": " + JSON.stringify(value) + ": " + got + ", want " + want);
      }
    }
  });
  return wrong;
});`
	library, err := (&bundle.Bundle{Builtin: []string{"guest.js", "adk/schema.js", "third_party/zod/index.js"}}).Library("")
	if err != nil {
		t.Fatal(err)
	}
	answer := func(value string) engine.Function { return func(string) (string, error) { return value, nil } }
	e, err := engine.New(engine.QuickJS, engine.DefaultLimits(), slog.New(slog.DiscardHandler), engine.Host{Functions: map[string]engine.Function{
		"process": answer(`{"value":{"app":"app","cwd":"/","env":{},"pid":1,"platform":"linux","arch":"x64"}}`),
		"console": answer(`{"value":null}`), "locale": answer(`{"value":null}`), "now": answer("0"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	description, err := e.Load(t.Context(), library, bundle.Name, code)
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	if err := json.Unmarshal(description, &wrong); err != nil {
		t.Fatal(err)
	}
	for _, one := range wrong {
		t.Error(one)
	}
}

package script

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/script/engine"
)

// appOf is an application with these tools, as members of an object.
func appOf(before, tools string) string {
	return `import { FunctionTool, LlmAgent } from '@google/adk';
` + before + `
const tools: Record<string, (args: any, context: any) => unknown> = {` + tools + `};
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: Object.entries(tools).map(([name, execute]) => new FunctionTool({ name, description: name, execute })) });
`
}

// An engine whose heap is full of what its code holds on to can do nothing any
// more, not even say so: it is replaced.
func TestOutOfMemory(t *testing.T) { onEngines(t, testOutOfMemory) }

func testOutOfMemory(t *testing.T, on func(*Options)) {
	t.Helper()
	t.Parallel()
	limits, full := generous, "ran out of memory (8 MB)"
	limits.Memory = 8 << 20
	if isNode(on) { // which needs more for itself
		limits.Memory, full = 48<<20, "ran out of memory (48 MB)"
	}
	for name, body := range map[string]string{
		"at once":     `fill: () => { for (;;) head = { next: head }; }`,
		"in promises": `fill: async () => { for (;;) { await null; for (let i = 0; i < 1000; i++) head = { next: head }; } }`,
		"unnoticed":   `fill: () => { try { for (;;) head = { next: head }; } catch { return 'well'; } }`,
		"later":       `fill: () => { setTimeout(() => { for (;;) head = { next: head }; }); return 'well'; }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log journal
			apps := loadApps(t, write(t, map[string]string{"index.ts": appOf("let head: any = null;", body+", fine: () => 'fine'")}), on, func(o *Options) {
				o.Limits, o.Log = &limits, slog.New(slog.NewTextHandler(&log, nil))
			})
			root := rootOf(t, apps, "app")
			for range 2 {
				got := result(t, root, "fill")
				if !strings.Contains(got, full) && !strings.Contains(got, "well") {
					t.Errorf("the tool says %s", got)
				}
				for again := 0; ; again++ { // that its engine is full may show only now
					if got = result(t, root, "fine"); got == `{"result":"fine"}` {
						break
					}
					if again == 2 || !strings.Contains(got, full) {
						t.Fatalf("afterwards, the other tool says %s", got)
					}
				}
				if name != "unnoticed" && name != "later" { // there, some memory may be left
					log.waitFor(t, "restarting the application's engine")
				}
			}
		})
	}
}

// The operator says how much memory the engines of an application may use, and an
// application may have less.
func TestEngineMemory(t *testing.T) {
	t.Parallel()
	const (
		small, large = 32 << 20, 160 << 20
		fits         = `{"result":"fits"}`
		fill         = `fill: () => { kept = new Uint8Array(64 << 20).fill(1); return 'fits'; }`
	)
	in := func(memory string) string { return `{"parley":{"engineMemory":` + memory + `}}` }
	for name, tt := range map[string]struct {
		memory int64
		pkg    string
		want   string // of the tool
		fails  string // the load
		limit  int64
	}{
		"default":              {want: fits, limit: 256 << 20},
		"large":                {memory: large, want: fits, limit: large},
		"small":                {memory: small, want: "ran out of memory (32 MB), and was stopped; the operator of the server can allow more (--engine_memory)", limit: small},
		"less in package.json": {memory: large, pkg: in("33554432"), want: "ran out of memory (32 MB)", limit: small},
		"all in package.json":  {memory: large, pkg: in("167772160"), want: fits, limit: large},
		"more in package.json": {memory: large, pkg: in("167772161"), fails: "parley.engineMemory: the server allows 160 MiB; its operator can allow more (--engine_memory)", limit: large},
		"negative":             {memory: large, pkg: in("-1"), fails: "must not be negative", limit: large},
		"a text":               {memory: large, pkg: in(`"64 MiB"`), fails: "parley.engineMemory must not be a string", limit: large},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"index.ts": appOf("let kept: any = null;", fill)}
			if tt.pkg != "" {
				files["package.json"] = tt.pkg
			}
			apps := loadApps(t, write(t, files), func(o *Options) {
				limits := engine.DefaultLimits()
				limits.Turn = generous.Turn
				o.Limits, o.Memory = &limits, tt.memory
			})
			if got := apps.Engines(); len(got) != 1 || got[0].MemoryLimit != tt.limit {
				t.Errorf("the engines are %+v, want a limit of %d", got, tt.limit)
			}
			if tt.fails != "" {
				if _, _, err := apps.Agent("app"); err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("it is loaded with %v", err)
				}
				return
			}
			if got := result(t, rootOf(t, apps, "app"), "fill"); !strings.Contains(got, tt.want) {
				t.Errorf("the tool says %s", got)
			}
		})
	}
}

// Null is a strange thing to throw, but no reason to take an engine away.
func TestThrownNull(t *testing.T) {
	t.Parallel()
	apps := loadApps(t, write(t, map[string]string{"index.ts": appOf("let n = 0;", "odd: () => { n++; throw null; }, empty: async () => { n++; throw new Error(); }, fine: () => n")}))
	root := rootOf(t, apps, "app")
	for _, name := range []string{"odd", "empty"} {
		if got := result(t, root, name); !strings.Contains(got, "error") || strings.Contains(got, "ran out of memory") {
			t.Errorf("the tool %s says %s", name, got)
		}
	}
	if got := result(t, root, "fine"); got != `{"result":2}` {
		t.Errorf("the variable is %s", got)
	}
}

package script

import (
	"log/slog"
	"strings"
	"testing"
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
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	limits := generous
	limits.Memory = 8 << 20
	for name, body := range map[string]string{
		"at once":     `fill: () => { for (;;) head = { next: head }; }`,
		"in promises": `fill: async () => { for (;;) { await null; for (let i = 0; i < 1000; i++) head = { next: head }; } }`,
		"unnoticed":   `fill: () => { try { for (;;) head = { next: head }; } catch { return 'well'; } }`,
		"later":       `fill: () => { setTimeout(() => { for (;;) head = { next: head }; }); return 'well'; }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log journal
			apps := loadApps(t, write(t, map[string]string{"index.ts": appOf("let head: any = null;", body+", fine: () => 'fine'")}), func(o *Options) {
				o.Limits, o.Log = &limits, slog.New(slog.NewTextHandler(&log, nil))
			})
			root := rootOf(t, apps, "app")
			for range 2 {
				got := result(t, root, "fill")
				if !strings.Contains(got, "ran out of memory (8 MB)") && !strings.Contains(got, "well") {
					t.Errorf("the tool says %s", got)
				}
				for again := 0; ; again++ { // that its engine is full may show only now
					if got = result(t, root, "fine"); got == `{"result":"fine"}` {
						break
					}
					if again == 2 || !strings.Contains(got, "ran out of memory (8 MB)") {
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

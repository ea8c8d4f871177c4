package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The scratch directory of an application outlives its engines. Other applications
// have no access to it, and nothing is left of it in the end.
func TestScratch(t *testing.T) {
	t.Parallel()
	const code = `import { LlmAgent, FunctionTool } from "@google/adk"; import fs from "node:fs"; import os from "node:os"; import path from "node:path";
		const file = path.join(os.tmpdir(), "kept.txt");
		const tool = (name: string, execute: () => unknown) => new FunctionTool({ name, description: name, execute });
		export const rootAgent = new LlmAgent({ name: "root", model: "m", tools: [
			tool("where", () => ({ dir: os.tmpdir() })),
			tool("write", () => { fs.writeFileSync(file, "kept"); return {} }),
			tool("read", () => ({ text: fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "nothing" })),
			tool("fill", () => { const all: string[] = []; for (;;) all.push("x".repeat(1 << 20) + all.length); }),
			tool("steal", () => { try { return { text: fs.readFileSync(fs.readFileSync(path.join(process.cwd(), "other.txt"), "utf8"), "utf8") } } catch (e) { return { code: e.code } } }),
		] });`
	dir := t.TempDir()
	for _, app := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, app), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, app, "agent.ts"), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	apps := loadApps(t, dir, func(o *Options) { o.Scratch, o.Memory = 1<<20, 64<<20 })
	one, two := rootOf(t, apps, "one"), rootOf(t, apps, "two")
	where := func(text string) string {
		_, path, _ := strings.Cut(strings.TrimSuffix(text, `"}`), `{"dir":"`)
		return filepath.FromSlash(path)
	}
	place, other := where(result(t, one, "where")), where(result(t, two, "where"))
	if place == other || !filepath.IsAbs(place) {
		t.Fatalf("the directories are %s and %s", place, other)
	}
	result(t, one, "write")
	if err := os.WriteFile(filepath.Join(dir, "two", "other.txt"), []byte(filepath.Join(place, "kept.txt")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := result(t, two, "steal"); got != `{"code":"EACCES"}` {
		t.Errorf("the other application: %s", got)
	}
	result(t, one, "fill") // which ends the engine
	for root, want := range map[string]string{result(t, one, "read"): `{"text":"kept"}`, result(t, two, "read"): `{"text":"nothing"}`} {
		if root != want {
			t.Errorf("got %s, want %s", root, want)
		}
	}
	apps.Close()
	for _, dir := range []string{place, other} {
		if _, err := os.Stat(filepath.Dir(dir)); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
}

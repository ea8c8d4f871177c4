package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is appended to a file moves no line. It is not about packages, nor about
// functions that cannot be handed to an agent: those the bundler may leave out.
func TestSignaturesInTheBundle(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("index.ts", `import { LlmAgent } from 'adk-typescript';
import { packed } from 'pack';
import { kept } from './more';
function helper(kaiserschmarrn: string) { return kaiserschmarrn; }
function dropped(marillenknoedel: string) { return helper(marillenknoedel); }
export const rootAgent = new LlmAgent({ name: 'root', model: 'm', tools: [kept, packed] }); // the end`)
	write("more.ts", "export function kept(x: number): string { return `${x}` }")
	write("node_modules/pack/package.json", `{"name":"pack","main":"index.ts"}`)
	write("node_modules/pack/index.ts", "export function packed(germknoedel: number) { return germknoedel }")
	entry := filepath.Join(dir, "index.ts")
	b, err := build(QuickJS, entry, NewBounds(filepath.Dir(entry), filepath.Dir(entry)))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"kaiserschmarrn", "marillenknoedel", `"germknoedel"`} {
		if strings.Contains(b.Code, word) {
			t.Errorf("the bundle has %s", word)
		}
	}
	if n := strings.Count(b.Code, "globalThis.__signature?."); n != 1 {
		t.Errorf("%d signatures in the bundle", n)
	}

	// An error is shown where it is, and with the author's own text.
	write("more.ts", "export function kept(x: number): string {\n  return x;\n")
	if _, err = build(QuickJS, entry, NewBounds(filepath.Dir(entry), filepath.Dir(entry))); err == nil || !strings.Contains(err.Error(), "more.ts:3:1") || strings.Contains(err.Error(), "signature") {
		t.Errorf("error %v", err)
	}
	write("more.ts", "export function kept(x: number) { return x }\nconst y =")
	if _, err = build(QuickJS, entry, NewBounds(filepath.Dir(entry), filepath.Dir(entry))); err == nil || !strings.Contains(err.Error(), "more.ts:2:10") || strings.Contains(err.Error(), "signature") {
		t.Errorf("error %v", err)
	}
}

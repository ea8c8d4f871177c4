package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"
)

// Classes have the names of their sources, also if the bundler renames them. Only these
// have a block for it, and no line has another number than before.
func TestNames(t *testing.T) {
	t.Parallel()
	dir := resolveLinks(t.TempDir())
	for name, text := range map[string]string{
		"one.ts": "export class Same { static x = Same.name }\nexport const Assigned = class extends Same { field = 1 };",
		"two.ts": "export class Same { #private = 1; static static() {} }\nexport default class extends Same {}\nexport const late = () => class Inner extends (class Outer {}) {};",
		"three.ts": "class Own { static name = 'other' }\nexport const list = [class Named {}, Own, class {}];\n" +
			"export const text = `\nclass Same {\n  static {\n  }\n}\n`;",
		"index.ts": `import { Same, Assigned } from "./one"; import Default, { Same as Two, late } from "./two"; import { list, text } from "./three";
const Inner = late();
globalThis.names = [Same, Same.x, Assigned, Two, Default, Inner, Object.getPrototypeOf(Inner), ...list].map((c) => c.name ?? c).join() + text;`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	result := run(QuickJS, dir, Bounds{dir}, `import "./index.ts"`, &sources{}, nil)
	if len(result.Errors) > 0 {
		t.Fatal(result.Errors)
	}
	var before string
	for _, f := range result.OutputFiles {
		if !strings.HasSuffix(f.Path, ".map") {
			before = string(f.Contents)
		}
	}
	after := dropNames(before)
	minified := string(api.Transform(before, api.TransformOptions{MinifyWhitespace: true}).Code)
	const want = "Same,Same,Assigned,Same,default,Inner,Outer,Named,other,\nclass Same {\n  static {\n  }\n}\n"
	for what, code := range map[string]string{"with all blocks": before, "without some": after, "minified": dropNames(minified)} {
		vm, err := quickjs.NewVM()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := vm.Eval(code, quickjs.EvalModule); err != nil {
			t.Errorf("%s: %v\n%s", what, err, code)
		}
		if got, err := vm.Eval("names", quickjs.EvalGlobal); err != nil || got != want {
			t.Errorf("%s: the names are %v (%v), want %s", what, got, err, want)
		}
		if err := vm.Close(); err != nil {
			t.Error(err)
		}
	}
	lines, left := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(lines) != len(left) {
		t.Fatalf("%d lines became %d", len(lines), len(left))
	}
	for i, line := range left {
		if strings.TrimSpace(line) != "" && line != lines[i] {
			t.Errorf("line %d was %q and is %q", i, lines[i], line)
		}
	}
	for what, code := range map[string]string{"the bundle": after, "the minified one": dropNames(minified)} {
		if got := strings.Count(code, "__name(this"); got != 4 {
			t.Errorf("%s has %d blocks for names: %s", what, got, code)
		}
	}
}

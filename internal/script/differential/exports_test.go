package differential

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// Every export of @google/adk is there, or is refused with a reason that
// docs/from-adk.md lists.
func TestExports(t *testing.T) {
	installPackages(t)
	var theirs []string
	text := nodejs.Run(t, "testdata", nodejs.Node(t), "--input-type=module", "--eval",
		`import * as adk from "@google/adk"; console.log(JSON.stringify(Object.keys(adk)))`)
	if err := json.Unmarshal([]byte(text), &theirs); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(theirs) < 200 {
		t.Fatalf("@google/adk exports %d names only", len(theirs))
	}
	slices.Sort(theirs)
	if read := exportsIn(t, filepath.Join("testdata", "node_modules", "@google", "adk")); !slices.Equal(read, theirs) {
		t.Errorf("the exports as esbuild reads them are %v, and as Node.js has them %v", read, theirs)
	}
	ours := exports(t)
	refused := map[string][]string{} // by reason
	for _, name := range theirs {
		advice, ok := ours[name]
		if !ok {
			t.Errorf("@google/adk exports %s, which is neither provided nor in internal/script/js/adk/missing.js", name)
		}
		if advice != "" {
			refused[advice] = append(refused[advice], name)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "from-adk.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range documentedRefusals(t, string(page)) {
		if advice, ok := ours[name]; !ok || advice == "" {
			t.Errorf("docs/from-adk.md says that %s is refused, which it is not", name)
		}
	}
	for _, advice := range slices.Sorted(maps.Keys(refused)) {
		for line := range strings.Lines(string(page)) {
			if strings.HasSuffix(line, "| "+advice+" |\n") {
				refused[advice] = slices.DeleteFunc(refused[advice], func(name string) bool { return strings.Contains(line, "`"+name+"`") })
			}
		}
		if names := refused[advice]; len(names) > 0 {
			t.Errorf("docs/from-adk.md lacks the line\n| `%s` | %s |", strings.Join(names, "`, `"), advice)
		}
	}
}

// documentedRefusals returns the exports that docs/from-adk.md says are refused.
func documentedRefusals(t *testing.T, page string) (names []string) {
	t.Helper()
	_, table, _ := strings.Cut(page, "| Export | Instead |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		row := strings.Split(line, "|")
		for i, name := range strings.Split(row[1], "`") {
			if i%2 == 1 {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		t.Fatal("docs/from-adk.md has no table of what is refused")
	}
	return names
}

var newest = flag.String("newest", "", "the version of @google/adk that TestNewestExports compares with")

// TestNewestExports names what a version of @google/adk exports beyond what is
// provided or refused here. It does not fail: a version that is published must
// not break a build. make verify runs it when there is one after that which
// TestExports compares with.
func TestNewestExports(t *testing.T) {
	if *newest == "" {
		t.Skip("make verify gives it a version, with -newest")
	}
	dir := filepath.Join(t.TempDir(), "adk")
	nodejs.Archive(t, "@google/adk@"+*newest, "", "package/", dir)
	ours := exports(t)
	theirs := exportsIn(t, dir)
	unknown := slices.DeleteFunc(slices.Clone(theirs), func(name string) bool { _, ok := ours[name]; return ok })
	t.Logf("@google/adk %s exports %d names, of which %d are neither provided nor refused:", *newest, len(theirs), len(unknown))
	for _, name := range unknown {
		t.Log("NEW EXPORT " + name)
	}
}

// exportsIn returns what a package in a directory exports, without running it.
func exportsIn(t *testing.T, dir string) []string {
	t.Helper()
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Module string `json:"module"`
	}
	doc, err := os.ReadFile(filepath.Join(abs, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(doc, &manifest); err != nil || manifest.Module == "" {
		t.Fatalf("package.json names no module: %v", err)
	}
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(abs, manifest.Module)}, AbsWorkingDir: abs, Outdir: "out", LogLevel: api.LogLevelSilent,
		Bundle: true, Packages: api.PackagesExternal, Format: api.FormatESModule, Platform: api.PlatformNode, Metafile: true,
	})
	if len(built.Errors) > 0 {
		t.Fatalf("bundle %s: %s", dir, built.Errors[0].Text)
	}
	var meta struct {
		Outputs map[string]struct {
			EntryPoint string   `json:"entryPoint"`
			Exports    []string `json:"exports"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(built.Metafile), &meta); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, out := range meta.Outputs {
		if out.EntryPoint != "" {
			names = append(names, out.Exports...)
		}
	}
	slices.Sort(names)
	return names
}

// exports returns the names that agents can import from @google/adk. Those
// that are refused have the advice.
func exports(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	const agent = `
import * as adk from "@google/adk";
const names = {};
for (const [name, value] of Object.entries(adk)) {
  try {
    names[name] = typeof value === "function" && value.anything ? "" : "";
  } catch (error) {
    names[name] = error.message.split(": ").slice(1).join(": ");
  }
}
console.log("REQUEST " + JSON.stringify(names));
export const rootAgent = new adk.SequentialAgent({ name: "a", subAgents: [] });
`
	if err := os.WriteFile(filepath.Join(dir, "agent.ts"), []byte(agent), 0o600); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, all := range programUnderParley(t, dir) {
		for name, advice := range all.(map[string]any) {
			names[name] = advice.(string)
		}
	}
	return names
}

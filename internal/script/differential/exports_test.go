package differential

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// Every export of @google/adk is there, or is refused with a reason that
// docs/from-adk.md lists.
func TestExports(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs packages")
	}
	nodejs.Install(t, "testdata")
	var theirs []string
	text := nodejs.Run(t, "testdata", nodejs.Node(t), "--input-type=module", "--eval",
		`import * as adk from "@google/adk"; console.log(JSON.stringify(Object.keys(adk)))`)
	if err := json.Unmarshal([]byte(text), &theirs); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(theirs) < 200 {
		t.Fatalf("@google/adk exports %d names only", len(theirs))
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

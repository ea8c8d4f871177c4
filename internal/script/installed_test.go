package script

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// A package that is installed is used, also where the binary carries a part of it.
func TestInstalledPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs packages")
	}
	dir := filepath.Join("testdata", "installed")
	nodejs.Install(t, dir)
	root := rootOf(t, loadApps(t, dir, func(o *Options) { o.Limits = &generous }), "installed")
	want := `{"results":["33838e93-63bc-3732-bf9e-b68d970b79c2","e1407479-3136-56c0-9908-bb02fb0339e2",{"A":"1"}]}`
	if got := result(t, root, "fine"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// A schema of zod 3 that contains itself has a reference to itself.
	const category = `{"type":"object","properties":{"name":{"type":"string"},"children":{"$ref":"#/$defs/schema1"}},"required":["name"]`
	info, _ := agentrt.InfoOf(root)
	for _, tool := range info.Tools {
		want := map[string]string{
			"tree": `{"type":"object","properties":{"root":` + category + `},"other":` + category + `},` +
				`"leaf":{"type":"object","properties":{"size":{"type":"number"}},"required":["size"]},"fresh":{"$ref":"#/$defs/schema3"}},"required":["root"],` +
				`"$defs":{"schema1":{"type":"array","items":` + category + `}},"schema3":{"type":"object","properties":{"next":{"$ref":"#/$defs/schema3"}}}}}`,
			"whole": category + `,"$defs":{"schema1":{"type":"array","items":` + category + `}}}}`,
		}[tool.Name]
		if got := string(tool.Parameters); want != "" && got != want {
			t.Errorf("%s has the parameters\n%s\nwant\n%s", tool.Name, got, want)
		}
		if tool.Name == "deep" && !strings.Contains(string(tool.Parameters), `"next":{}`) {
			t.Error("the schema without an end does not end")
		}
	}
}

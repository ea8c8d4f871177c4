package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes files to a directory of the name app.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "app")
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		app   string
		want  string // names and entries, or a part of the error
	}{
		"one application":        {[]string{"index.ts", "agent.ts"}, "", "app index.ts"},
		"with a name":            {[]string{"index.ts"}, "mine", "mine index.ts"},
		"app before agent":       {[]string{"agent.ts", "app.mjs"}, "", "app app.mjs"},
		"ts before js":           {[]string{"index.js", "index.ts"}, "", "app index.ts"},
		"under src":              {[]string{"src/agent.ts", "readme.md"}, "", "app src/agent.ts"},
		"yaml last":              {[]string{"root_agent.yaml", "src/index.cjs"}, "", "app src/index.cjs"},
		"yaml":                   {[]string{"root_agent.yaml"}, "", "app root_agent.yaml"},
		"several":                {[]string{"b/index.ts", "a/agent.ts", ".c/index.ts", "node_modules/index.ts", "d/other.ts"}, "", "a a/agent.ts, b b/index.ts"},
		"several with one name":  {[]string{"b/index.ts", "a/agent.ts"}, "x", "cannot all be called x"},
		"one in a sub-directory": {[]string{"b/index.ts"}, "x", "x b/index.ts"},
		"nothing":                {[]string{"main.py"}, "", "make one with parley create my_agent"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for _, f := range tc.files {
				files[f] = ""
			}
			dir := write(t, files)
			_, apps, err := Find(dir, tc.app)
			var got []string
			for _, app := range apps {
				entry, _ := filepath.Rel(dir, app.Entry)
				got = append(got, app.Name+" "+filepath.ToSlash(entry))
			}
			if text := strings.Join(got, ", ") + fmt.Sprint(err); !strings.Contains(text, tc.want) || err == nil && strings.Join(got, ", ") != tc.want {
				t.Errorf("found %s, want %s", text, tc.want)
			}
		})
	}
	if _, _, err := Find("testdata/none", ""); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// Every file that exports a root agent is an application, if there is no entry
// file.
func TestFindLooseFiles(t *testing.T) {
	files := map[string]string{
		"plain.ts":       "export const rootAgent = 1;",
		"renamed.mts":    "const a = 1; export { a as rootAgent };",
		"again.js":       "export { rootAgent } from './plain.js';",
		"snake.ts":       "export let root_agent: number = 1;",
		"common.cjs":     "exports.rootAgent = 1;",
		"object.js":      "module.exports = { a: 1, rootAgent: 2 };",
		"broken.ts":      "export const rootAgent = ;",
		"both.ts":        "export const rootAgent = 1;",
		"both.js":        "export const rootAgent = 1;",
		"sub.ts":         "export const rootAgent = 1;",
		"sub/agent.ts":   "",
		"comment.ts":     "// export const rootAgent = 1;\nexport const other = 1;",
		"uses.ts":        "import { rootAgent } from './plain'; export const x = rootAgent;",
		"types.d.ts":     "export const rootAgent: number;",
		"plain.test.ts":  "export const rootAgent = 1;",
		"text.md":        "export const rootAgent = 1;",
		".hidden/app.ts": "",
	}
	dir := write(t, files)
	root, apps, err := Find(dir, "")
	var got []string
	for _, app := range apps {
		entry, _ := filepath.Rel(dir, app.Entry)
		got = append(got, app.Name+" "+filepath.ToSlash(entry))
	}
	want := "again again.js, both both.ts, broken broken.ts, common common.cjs, object object.js, plain plain.ts, renamed renamed.mts, snake snake.ts, sub sub/agent.ts"
	if text := strings.Join(got, ", "); text != want || err != nil || root != dir {
		t.Errorf("found %s in %s, %v\nwant  %s", text, root, err, want)
	}
	for file, want := range map[string]string{
		"plain.ts":     "plain app <nil>",
		"uses.ts":      "uses app <nil>", // its export may have any name
		"sub/agent.ts": "sub sub <nil>",
		"text.md":      "is not an agent: an application is a directory with an index.ts",
	} {
		root, apps, err := Find(filepath.Join(dir, file), "")
		text := fmt.Sprint(err)
		if len(apps) == 1 {
			text = fmt.Sprint(apps[0].Name, " ", filepath.Base(root), " ", err)
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", file, text, want)
		}
	}
	if _, apps, err := Find(filepath.Join(write(t, map[string]string{"src/index.ts": ""}), "src", "index.ts"), "mine"); err != nil || apps[0].Name != "mine" || filepath.Base(apps[0].Dir) != "app" {
		t.Errorf("the entry file below src: %v, %v", apps, err)
	}
}

package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// compareWithNode runs statements with a return, or expressions, in Node.js and
// here, and compares what they return.
func compareWithNode(t *testing.T, imports string, codes ...string) {
	t.Helper()
	var program strings.Builder
	program.WriteString(imports + "\nconst all = [\n")
	for _, code := range codes {
		if !strings.Contains(code, "return ") {
			code = "return (" + code + ");"
		}
		fmt.Fprintf(&program, "async () => {%s},\n", code)
	}
	program.WriteString(`]; const out = [];
		for (const one of all) {
			try { const v = await one(); out.push(typeof v === "string" ? v : v === undefined ? "undefined" : JSON.stringify(v)); }
			catch (e) { out.push("throws " + (e?.name ?? typeof e) + ": " + e?.message); }
		}
		console.log(JSON.stringify(out));`)
	file := filepath.Join(t.TempDir(), "program.mjs")
	if err := os.WriteFile(file, []byte(program.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var want []string
	if err := json.Unmarshal([]byte(nodejs.Run(t, filepath.Dir(file), nodejs.Node(t), "--no-warnings", "--experimental-websocket", file)), &want); err != nil {
		t.Fatal(err)
	}
	all := make([]snippet, len(codes))
	for i, code := range codes {
		all[i] = snippet{fmt.Sprint(i), code, want[i]}
	}
	scratch := NewScratch(64 << 20)
	t.Cleanup(func() { _ = scratch.Close() })
	checkSnippets(t, Options{Scratch: scratch}, imports, all)
}
